// SPDX-License-Identifier: BSD-3-Clause
// The networks and interfaces (NIs) of this node, in the view of all shards. The coordinator makes
// and retires them; messages only read.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "lib/base/cache_line.hpp"
#include "lib/base/check.hpp"
#include "lib/base/clock.hpp"
#include "lib/base/relaxed.hpp"
#include "lib/lnet/api/shard_id.hpp"
#include "lib/lnet/names/nid.hpp"
#include "lib/lnet/peers/health.hpp"
#include "lib/lnet/peers/lnd_tunable.hpp"
#include "lib/lnet/wire/ping_buffer.hpp"

namespace plnet::lnet {

inline constexpr unsigned kNisMax = kInterfacesMax;

// UDSP priorities: 0 is the highest; this is the default without a rule.
inline constexpr std::uint32_t kPriorityLowest = 0xffffffff;

// `tunables` of `lnetctl net show`; the defaults are socklnd's.
struct NiTunables {
  std::int32_t peer_timeout_s = 180;
  std::int32_t peer_credits = 8;
  std::int32_t peer_buffer_credits = 0;
  std::int32_t credits = 256;
  // A peer NI borrows NI credits beyond its peer_credits. Off where both sides count on the number,
  // and where the configuration sets it.
  bool lends_credits = false;

  friend bool operator==(const NiTunables&, const NiTunables&) = default;
};

struct alignas(kNoSharing) Ni {
  // Constant while the NI exists.
  Nid nid;
  NetId net = 0;
  std::uint16_t number = 0;         // dense over the node; index of further tables
  std::vector<std::uint16_t> cpts;  // restricted to these; empty: all
  std::uint16_t device_cpt = 0;     // the CPT near the device
  NiTunables tunables;
  std::vector<std::string> interfaces;
  ShardSet shards;                       // the shards with an Lnd for this NI
  Relaxed<Duration> lnd_timeout;         // of its LND; 0: the LND has none of its own
  std::vector<LndTunable> lnd_tunables;  // in the LND's order; the coordinator changes them
  std::uint64_t incarnation = 0;         // of this life of the NI, for LNDs that send it to peers

  // Views.
  HealthValue health;
  Relaxed<bool> plugged{false};          // all shards that serve it have their port
  Relaxed<bool> fatal{false};            // by the report of the device
  Relaxed<bool> lnd_down{false};         // by the report of the LND; the device may work
  Relaxed<std::uint32_t> status{kNiUp};  // as peers are told; the coordinator writes it
  Relaxed<std::uint32_t> priority{kPriorityLowest};
  // On a node that routes: when a ping of another node last arrived here, for any destination. A
  // network was alive at the latest time of its NIs. Written by the shard that receives the ping.
  Relaxed<std::int64_t> pinged_ns{INT64_MIN};
  // When a message last arrived here, with the precision of a second. Written by the shard that
  // receives it.
  Relaxed<std::int64_t> heard_ns{INT64_MIN};
  Relaxed<bool> revived{false};  // such a ping found the NI down: the coordinator announces it
  // Free credits on each shard that serves the NI; written by that shard.
  struct alignas(kCacheLine) CreditView {
    Relaxed<std::int32_t> tx_credits;
  };
  CreditView* tx_credits = nullptr;  // by shard

  [[nodiscard]] std::int32_t tx_credits_of_all() const;
};

struct Net {
  NetId id = 0;
  std::uint16_t number = 0;  // dense over the node
  std::span<Ni* const> nis;  // in the order of configuration; never empty
  Relaxed<std::uint32_t>* priority = nullptr;
};

// Immutable once published; a change publishes a new one and retires the old one through QSBR.
struct LocalView {
  std::vector<Net> nets;  // without lo
  std::vector<Ni*> nis;   // net by net; the first is the primary NI
  Ni* loopback = nullptr;

  [[nodiscard]] const Net* net(NetId id) const {
    for (const Net& candidate : nets) {
      if (candidate.id == id) return &candidate;
    }
    return nullptr;
  }
  [[nodiscard]] Ni* ni(const Nid& nid) const {
    for (Ni* candidate : nis) {
      if (candidate->nid == nid) return candidate;
    }
    return loopback != nullptr && loopback->nid == nid ? loopback : nullptr;
  }
};

// The shard of a peer NI's connections through an NI: its home, if that serves the NI, else a fixed
// one of the shards that do.
[[nodiscard]] inline ShardId lane_shard(const ShardSet& serving, ShardId home, std::uint32_t number,
                                        unsigned shards) {
  PLNET_DEBUG_CHECK(serving.any() && home < kShardsMax && shards > 0, "some shard serves each NI");
  if (serving[home]) return home;
  auto lane = static_cast<ShardId>(number % shards);
  while (!serving[lane])
    lane = static_cast<ShardId>((lane + 1U) % shards);
  return lane;
}

inline std::int32_t Ni::tx_credits_of_all() const {
  static_assert(kShardsMax <= 64);
  PLNET_DEBUG_CHECK(tx_credits != nullptr, "an NI has a view of its credits");
  std::int32_t sum = 0;
  for (std::uint64_t rest = shards.to_ullong(); rest != 0; rest &= rest - 1) {
    sum += tx_credits[static_cast<unsigned>(std::countr_zero(rest))].tx_credits.get();
  }
  return sum;
}

}  // namespace plnet::lnet
