// SPDX-License-Identifier: BSD-3-Clause
// The networks and interfaces (NIs) of this node as every shard sees them. The coordinator makes
// and retires them; the path of a message only reads.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "lib/base/cache_line.hpp"
#include "lib/base/clock.hpp"
#include "lib/base/relaxed.hpp"
#include "lib/lnet/api/shard_id.hpp"
#include "lib/lnet/names/nid.hpp"
#include "lib/lnet/peers/health.hpp"
#include "lib/lnet/peers/lnd_tunable.hpp"
#include "lib/lnet/wire/ping_buffer.hpp"

namespace plnet::lnet {

inline constexpr unsigned kNisMax = kInterfacesMax;

// UDSP priorities: 0 is the highest, this is what everything has that no rule names.
inline constexpr std::uint32_t kPriorityLowest = 0xffffffff;

// `tunables` of `lnetctl net show`; defaults are socklnd's.
struct NiTunables {
  std::int32_t peer_timeout_s = 180;
  std::int32_t peer_credits = 8;
  std::int32_t peer_buffer_credits = 0;
  std::int32_t credits = 256;
  // Beyond peer_credits a peer borrows of these. Not where both sides count on the number, nor
  // where somebody has set it.
  bool lends_credits = false;

  friend bool operator==(const NiTunables&, const NiTunables&) = default;
};

struct alignas(kNoSharing) Ni {
  // Constant while the NI exists.
  Nid nid;
  NetId net = 0;
  std::uint16_t number = 0;         // dense over the node; index of tables beside this one
  std::vector<std::uint16_t> cpts;  // restricted to these; empty: all
  std::uint16_t device_cpt = 0;     // near which the device is
  NiTunables tunables;
  std::vector<std::string> interfaces;
  ShardSet shards;                       // which have an Lnd for it
  Relaxed<Duration> lnd_timeout;         // of its LND; 0: it has none of its own
  std::vector<LndTunable> lnd_tunables;  // as its LND has them; the coordinator's to change
  std::uint64_t incarnation = 0;         // of this life of the NI, for LNDs that tell peers

  // Views.
  HealthValue health;
  Relaxed<bool> plugged{false};          // every shard that shall serve it does
  Relaxed<bool> fatal{false};            // the device says so
  Relaxed<bool> lnd_down{false};         // its LND does, of a device that may work
  Relaxed<std::uint32_t> status{kNiUp};  // what peers are told: the coordinator's word
  Relaxed<std::uint32_t> priority{kPriorityLowest};
  // Of a node that routes: when somebody else's ping last came in here, whoever it was for. Its
  // network was alive when the latest of its NIs was. Who receives it.
  Relaxed<std::int64_t> pinged_ns{INT64_MIN};
  // When a message last came in here, to the second. Who receives it.
  Relaxed<std::int64_t> heard_ns{INT64_MIN};
  Relaxed<bool> revived{false};  // such a ping found it down: the coordinator's to tell
  // What each shard that serves it has left; written by that shard.
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
  std::vector<Ni*> nis;   // net by net; the first is the primary one
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

// Where a peer NI's connections through an NI are: on its home, if that serves the NI, else always
// on the same one of those that do.
[[nodiscard]] inline ShardId lane_shard(const ShardSet& serving, ShardId home, std::uint32_t number,
                                        unsigned shards) {
  if (serving[home]) return home;
  auto lane = static_cast<ShardId>(number % shards);
  while (!serving[lane])
    lane = static_cast<ShardId>((lane + 1U) % shards);
  return lane;
}

inline std::int32_t Ni::tx_credits_of_all() const {
  static_assert(kShardsMax <= 64);
  std::int32_t sum = 0;
  for (std::uint64_t rest = shards.to_ullong(); rest != 0; rest &= rest - 1) {
    sum += tx_credits[static_cast<unsigned>(std::countr_zero(rest))].tx_credits.get();
  }
  return sum;
}

}  // namespace plnet::lnet
