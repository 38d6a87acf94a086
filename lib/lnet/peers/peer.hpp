// SPDX-License-Identifier: BSD-3-Clause
// Remote nodes as every shard sees them: a peer, and its interfaces (peer NIs) by network. The
// coordinator alone makes, merges, renames and retires them; what changes is published as a new
// PeerView. Credits and queues of a peer NI belong to its home shard (flow/peer_port.hpp).
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <optional>
#include <span>

#include "lib/base/cache_line.hpp"
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
  std::uint32_t number = 0;  // dense over the node; index of tables beside this one
  NetId net = 0;
  ShardId home = 0;  // stored, never recomputed
  std::uint16_t cpt = 0;
  // Of its net; none on networks not ours. The coordinator's, when a network comes.
  Relaxed<std::int32_t> tx_credits_max{0};
  // Not to be found any more. On the first line, since every look-up asks.
  Relaxed<bool> leaving{false};
  // What its peer last said of itself; PeerTrait. Spares most messages the look at it.
  Relaxed<std::uint8_t> traits{0};
  // The second, without its upper bits, in which the coordinator was last told that it is to be
  // found out when it is well again: any shard. 0: since it last was, never.
  Relaxed<std::uint16_t> recovery_requested_s{0};
  // Discovery may hand it to another peer.
  std::atomic<Peer*> peer{nullptr};
  // A peer that is not multi-rail is always sent to from one NI: recorded with the first request.
  // Lies on the first line, which is all that the common selection of a path reads.
  Relaxed<const Ni*> preferred_ni{nullptr};

  // Views, written by whoever the name says, relaxed.
  HealthValue health;
  Relaxed<std::uint32_t> status{kNiUp};              // coordinator, home
  Relaxed<std::uint32_t> priority{kPriorityLowest};  // coordinator: UDSP
  Relaxed<std::int32_t> tx_credits{0};               // home
  Relaxed<std::uint64_t> queued_bytes{0};            // home: tx_q_num_of_buf
  Relaxed<std::int64_t> last_alive_ns{INT64_MIN};    // who receives from it
  // What UDSP rules prefer for it: coordinator. Null: nothing. An old one goes through QSBR.
  std::atomic<const Preferences*> preferences{nullptr};
  Relaxed<std::uint16_t> losses{0};  // home: its connections have all ended so often, modulo 2^16
  // Home: local NIs with an open connection to it, a bit each: see connection_bit().
  Relaxed<std::uint16_t> connected_by{0};
  Reachability reach;

  // Absent: it never was.
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
  std::uint32_t number = 0;  // dense over the node; index of tables beside this one
  std::uint32_t priority = kPriorityLowest;
  std::uint16_t first = 0;  // in PeerView::nis
  std::uint16_t count = 0;
};

// Immutable once published. Lies in a block of the coordinator's that has room for what it lists.
struct PeerView {
  Nid primary;
  std::span<const PeerNetView> nets;  // the primary's first
  std::span<PeerNi* const> nis;       // net by net, the primary first in its net

  [[nodiscard]] std::span<PeerNi* const> on(const PeerNetView& net) const {
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
  std::uint32_t number = 0;  // dense over the node; index of tables beside this one
  std::atomic<const PeerView*> view{nullptr};
  Relaxed<std::uint32_t> state{0};  // PeerState
  Relaxed<bool> single{false};      // its view lists one NI
  // As a gateway: its last check did not fail, or a message has come through it since.
  Relaxed<bool> alive{true};

  void publish(const PeerView& fresh) {
    view.store(&fresh, std::memory_order_release);
    single.set(fresh.nis.size() == 1);
    publish_to_nis();
  }
  void set_state(std::uint32_t bits) {
    state.set(bits);
    publish_to_nis();
  }

  [[nodiscard]] const PeerView& seen() const { return *view.load(std::memory_order_acquire); }
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
