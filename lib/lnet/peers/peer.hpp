// SPDX-License-Identifier: BSD-3-Clause
// Remote nodes in the view of all shards: a peer, and its interfaces (peer NIs) by network. Only
// the coordinator makes, merges, renames and retires them; a change is published as a new PeerView.
// Credits and queues of a peer NI belong to its home shard (move/peer_port.hpp).
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <optional>
#include <span>

#include "lib/base/cache_line.hpp"
#include "lib/base/check.hpp"
#include "lib/base/clock.hpp"
#include "lib/base/relaxed.hpp"
#include "lib/lnet/names/nid.hpp"
#include "lib/lnet/peers/health.hpp"
#include "lib/lnet/peers/net_interface.hpp"
#include "lib/lnet/peers/peer_state.hpp"
#include "lib/lnet/peers/reachability.hpp"

namespace plnet::lnet {

struct Peer;
class Preferences;  // paths/preferences.hpp

struct alignas(kCacheLine) PeerNi {
  // Constant while it is published.
  Nid nid;
  std::uint32_t number = 0;  // dense over the node; index of further tables
  NetId net = 0;
  ShardId home = 0;  // stored, never recomputed
  std::uint16_t cpt = 0;
  // As its network says; 0 on networks that are not ours. The coordinator sets it when a network
  // is added.
  Relaxed<std::int32_t> tx_credits_max{0};
  // Lookups no longer find it. On the first line, since every lookup reads it.
  Relaxed<bool> leaving{false};
  // The last known facts about its peer (PeerTrait), so that most messages need not read the peer.
  Relaxed<std::uint8_t> traits{0};
  // The lower bits of the second in which some shard last requested recovery pings. 0: none since
  // it last recovered.
  Relaxed<std::uint16_t> recovery_requested_s{0};
  // Discovery may move it to another peer.
  std::atomic<Peer*> peer{nullptr};
  // The NI that sends to a peer which is not multi-rail, recorded with the first request. On the
  // first line, which is all that the common path selection reads.
  Relaxed<const Ni*> preferred_ni{nullptr};

  // Views, written by the named shard, relaxed.
  HealthValue health;
  Relaxed<std::uint32_t> status{kNiUp};              // coordinator, home
  Relaxed<std::uint32_t> priority{kPriorityLowest};  // coordinator: UDSP
  Relaxed<std::int32_t> tx_credits{0};               // home
  Relaxed<std::uint64_t> queued_bytes{0};            // home: tx_q_num_of_buf
  Relaxed<std::int64_t> last_alive_ns{INT64_MIN};    // the shard that receives from it
  // The preferences of UDSP rules for it: coordinator. Null: none. QSBR frees old ones.
  std::atomic<const Preferences*> preferences{nullptr};
  Relaxed<std::uint16_t> losses{0};  // home: times that its connections have all ended, modulo 2^16
  // Home: the NIs of this node with an open connection to it, one bit each: connection_bit().
  Relaxed<std::uint16_t> connected_by{0};
  Reachability reach;

  // Absent: no message has arrived from it.
  [[nodiscard]] std::optional<Duration> since_heard(Instant now) const {
    const std::int64_t heard = last_alive_ns.get();
    if (heard == INT64_MIN) return std::nullopt;
    return std::max(now.time_since_epoch() - std::chrono::nanoseconds(heard), Duration::zero());
  }
};

// The bit of an NI in PeerNi::connected_by. Two NIs of a network may share one; then the peer
// counts as connected until it is lost by either.
[[nodiscard]] constexpr std::uint16_t connection_bit(const Ni& ni) {
  return static_cast<std::uint16_t>(1U << (ni.number % 16U));
}

// The interfaces of a peer on one network.
struct PeerNetView {
  NetId net = 0;
  std::uint32_t number = 0;  // dense over the node; index of further tables
  std::uint32_t priority = kPriorityLowest;
  std::uint16_t first = 0;  // in PeerView::nis
  std::uint16_t count = 0;
};

// Immutable once published. Lies in a block of the coordinator with room for its arrays.
struct PeerView {
  Nid primary;
  std::span<const PeerNetView> nets;  // the net of the primary NID first
  std::span<PeerNi* const> nis;       // net by net, the primary first in its net

  [[nodiscard]] std::span<PeerNi* const> on(const PeerNetView& net) const {
    PLNET_CHECK(std::size_t{net.first} + net.count <= nis.size(),
                "the NIs of a network are in the view");
    return nis.subspan(net.first, net.count);
  }
  [[nodiscard]] const PeerNetView* net(NetId id) const {
    for (const PeerNetView& candidate : nets) {
      if (candidate.net == id) return &candidate;
    }
    return nullptr;
  }
};

struct alignas(kCacheLine) Peer {
  std::uint32_t number = 0;  // dense over the node; index of further tables
  std::atomic<const PeerView*> view{nullptr};
  Relaxed<std::uint32_t> state{0};  // PeerState
  Relaxed<bool> single{false};      // its view lists one NI
  // For a gateway: its last check did not fail, or a message has come through it since.
  Relaxed<bool> alive{true};

  void publish(const PeerView& fresh) {
    PLNET_CHECK(!fresh.nis.empty() && !fresh.nets.empty(), "a published peer has an interface");
    view.store(&fresh, std::memory_order_release);
    single.set(fresh.nis.size() == 1);
    publish_to_nis();
  }
  void set_state(std::uint32_t bits) {
    state.set(bits);
    publish_to_nis();
  }

  [[nodiscard]] const PeerView& seen() const {
    const PeerView* const seen_now = view.load(std::memory_order_acquire);
    PLNET_DEBUG_CHECK(seen_now != nullptr, "a peer has a view before any reader finds it");
    return *seen_now;
  }
  [[nodiscard]] bool is(PeerState bit) const { return (state.get() & bit) != 0; }
  [[nodiscard]] bool multi_rail() const { return is(kPeerMultiRail); }

 private:
  void publish_to_nis() const {
    const PeerView* const seen_now = view.load(std::memory_order_relaxed);
    if (seen_now == nullptr) return;
    const std::uint8_t traits = peer_traits(state.get(), seen_now->nis.size());
    for (PeerNi* const ni : seen_now->nis)
      ni->traits.set(traits);
  }
};

}  // namespace plnet::lnet
