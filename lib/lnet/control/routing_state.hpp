// SPDX-License-Identifier: BSD-3-Clause
// Whether this node forwards messages of others, and what it tells them of that: the four states of
// lnetctl and the way from one to the next, and a way out that loses nothing (drain). Pure: time,
// and what the rest of the node knows, come in with each call.
// Checked against lustre-release lnet/lnet/router.c at v2_17_0: lnet_rtrpools_enable(),
// lnet_rtrpools_disable(), lnet_check_routers().
//
// Where it departs from the kernel: a change of the intervals does not move a wait that has begun;
// a stop can be cancelled (-EBUSY in the kernel), and a start does not wait for
// alive_router_check_interval + router_ping_timeout before peers are told. The kernel waits so that
// peers connect before they send; here a connection of a new peer waits for its turn anyway.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "lib/base/clock.hpp"
#include "lib/base/result.hpp"
#include "lib/lnet/api/parameters.hpp"

namespace plnet::lnet {

// Messages of others.
struct RoutedLoad {
  std::size_t held = 0;     // that are here now, in a buffer or waiting for whatever they need
  std::uint64_t taken = 0;  // that ever came
  // Bytes that were sent and that transports still had, of all that they were given by `since`.
  std::uint64_t unsent = 0;
  Instant unsent_since = Instant::max();  // nobody counts: transports keep nothing back
};

// Of the peers that may be sending through this node.
struct PeersTold {
  std::uint32_t pushed = 0;        // that can be pushed to
  std::uint32_t acknowledged = 0;  // of them, that have acknowledged that it stops
  std::uint32_t by_ping = 0;       // that hear of it only when they ask
  bool counted = false;            // the above is of this drain

  [[nodiscard]] bool all() const { return counted && by_ping == 0 && acknowledged == pushed; }
};

enum class DrainPhase : std::uint8_t {
  kNone,
  kNoticing,  // peers are told; all goes on as before
  kEmptying,  // they know: what is here and on its way leaves
  kDrained,   // nothing is forwarded any more
};

// "disabled", "enabled", "stopping", "starting".
[[nodiscard]] std::string_view text_of(RoutingState state);
// "none", "peers notice", "emptying", "drained".
[[nodiscard]] std::string_view text_of(DrainPhase phase);

class RoutingStateMachine {
 public:
  // The bound of a drain that has none of its own.
  [[nodiscard]] static constexpr Duration patience(Duration notice) {
    return kStopPatience * notice;
  }
  // Of a drain, once peers know: so long nothing more may come. A peer acknowledges before it has
  // looked, and what it had sent by then is on its way.
  static constexpr Duration kQuiet = std::chrono::seconds(1);
  // A stop waits for buffers for at most so many times as long as for peers, as in the kernel.
  static constexpr int kStopPatience = 3;

  [[nodiscard]] RoutingState state() const { return state_; }
  // Peers are told that they may send through this node.
  [[nodiscard]] bool advertised() const { return state_ == RoutingState::kEnabled; }
  [[nodiscard]] DrainPhase phase() const { return phase_; }
  // When it last began to forward.
  [[nodiscard]] Instant began() const { return began_; }
  // The end of a stop if no message is held.
  [[nodiscard]] Instant earliest() const { return noticed_; }
  // The end of a stop or a drain even if messages are held.
  [[nodiscard]] Instant latest() const { return latest_; }
  // What was here when a stop or drain ended by time; 0: nothing.
  [[nodiscard]] std::size_t cut_off() const { return cut_off_; }
  // Of a drain that empties: when the last message of others left. What transports had then has to
  // leave, too; Instant::max(): it does not matter now.
  [[nodiscard]] Instant quiet_since() const {
    return phase_ == DrainPhase::kEmptying ? quiet_since_ : Instant::max();
  }
  // The PeersTold of step() matter.
  [[nodiscard]] bool notifies_peers() const { return phase_ == DrainPhase::kNoticing; }

  // At once: what the node was started with.
  void set(bool on, Instant now);
  // Cancels a stop or a drain, otherwise starts: peers are told at the next step, when all shards
  // have seen the state. kBusy: the process ends.
  [[nodiscard]] Result<void> enable(Instant now);
  // `notice`: how long peers need to find out by themselves. Of a drain: it ends as a stop would
  // that begins now, unless its own end comes before that.
  void disable(Instant now, Duration notice);
  // Ends after `bound` at the latest, which may be set anew meanwhile. `full_notice`: no peer is
  // believed to know before `notice` is over, acknowledgements or not. A stop becomes a drain that
  // ends no later than the stop. kInvalid: it does not route.
  [[nodiscard]] Result<void> drain(Instant now, Duration notice, Duration bound,
                                   bool full_notice = false);
  // drain() before the process ends: from then on it can neither become a stop nor be cancelled.
  [[nodiscard]] Result<void> leave(Instant now, Duration notice, Duration bound, bool full_notice);
  // enable() of a node that stops, drains or is drained. kInvalid: it does neither.
  [[nodiscard]] Result<void> undrain(Instant now);

  // Whether the state has changed.
  bool step(Instant now, const RoutedLoad& load, const PeersTold& told);

 private:
  void go(RoutingState state, Instant now);
  void begin_stop(Instant now, Duration notice);
  [[nodiscard]] bool has_emptied(Instant now, const RoutedLoad& load, const PeersTold& told);

  RoutingState state_ = RoutingState::kDisabled;
  DrainPhase phase_ = DrainPhase::kNone;
  bool full_notice_ = false;
  bool leaves_ = false;
  Instant began_{};
  Instant noticed_{};  // by then all peers know
  Instant latest_{};
  Instant quiet_since_{};
  std::uint64_t taken_ = 0;
  std::size_t cut_off_ = 0;
};

}  // namespace plnet::lnet
