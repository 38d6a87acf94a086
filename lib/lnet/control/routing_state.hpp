// SPDX-License-Identifier: BSD-3-Clause
// Whether this node forwards messages, and the announcement to its peers: the four states of
// lnetctl and the transitions between them, and a stop without loss (drain). Pure: time and the
// state of the node come in with each call. Checked against lustre-release lnet/lnet/router.c at
// v2_17_0: lnet_rtrpools_enable(), lnet_rtrpools_disable(), lnet_check_routers().
//
// Departures from the kernel: a change of the intervals does not change a wait that has begun; a
// stop can be cancelled (-EBUSY in the kernel), and a start does not wait for
// alive_router_check_interval + router_ping_timeout before it is announced. The kernel waits so
// that peers connect before they send; here a connection of a new peer waits for its turn anyway.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "lib/base/clock.hpp"
#include "lib/base/result.hpp"
#include "lib/lnet/api/parameters.hpp"

namespace plnet::lnet {

// The forwarded messages of the node.
struct RoutedLoad {
  std::size_t held = 0;     // messages here now, in a buffer or waiting for a resource
  std::uint64_t taken = 0;  // messages that ever arrived
  // Bytes of sent messages that transports still had, of all that they were given by `since`.
  std::uint64_t unsent = 0;
  Instant unsent_since = Instant::max();  // not counted: transports keep nothing back
};

// The peers that may send through this node.
struct PeersTold {
  std::uint32_t pushed = 0;        // peers that can be pushed to
  std::uint32_t acknowledged = 0;  // of these, peers that have acknowledged the stop
  std::uint32_t by_ping = 0;       // peers that learn of it only by their own pings
  bool counted = false;            // these numbers are of the current drain

  [[nodiscard]] bool all() const { return counted && by_ping == 0 && acknowledged == pushed; }
};

enum class DrainPhase : std::uint8_t {
  kNone,
  kNoticing,  // peers are being told; forwarding goes on
  kEmptying,  // peers know; held messages leave
  kDrained,   // the node forwards nothing any more
};

// "disabled", "enabled", "stopping", "starting".
[[nodiscard]] std::string_view text_of(RoutingState state);
// "none", "peers notice", "emptying", "drained".
[[nodiscard]] std::string_view text_of(DrainPhase phase);

class RoutingStateMachine {
 public:
  // The bound of a drain without its own.
  [[nodiscard]] static constexpr Duration patience(Duration notice) {
    return kStopPatience * notice;
  }
  // A drain ends after this time without a new message, once peers know. A peer acknowledges before
  // it stops, and its earlier messages are still on their way.
  static constexpr Duration kQuiet = std::chrono::seconds(1);
  // The factor of a stop's wait for buffers to its wait for peers, as in the kernel.
  static constexpr int kStopPatience = 3;
  static_assert(kStopPatience > 1, "a stop waits for messages after peers have noticed");

  [[nodiscard]] RoutingState state() const { return state_; }
  // Peers are told that they may send through this node.
  [[nodiscard]] bool advertised() const { return state_ == RoutingState::kEnabled; }
  [[nodiscard]] DrainPhase phase() const { return phase_; }
  // The last start of forwarding.
  [[nodiscard]] Instant began() const { return began_; }
  // The end of a stop if no message is held.
  [[nodiscard]] Instant earliest() const { return noticed_; }
  // The end of a stop or a drain even if messages are held.
  [[nodiscard]] Instant latest() const { return latest_; }
  // Messages held when a stop or drain ended by time; 0: none.
  [[nodiscard]] std::size_t cut_off() const { return cut_off_; }
  // For a drain that empties: the time at which the last forwarded message left. Bytes that
  // transports had then must leave, too; Instant::max(): not needed now.
  [[nodiscard]] Instant quiet_since() const {
    return phase_ == DrainPhase::kEmptying ? quiet_since_ : Instant::max();
  }
  // step() needs PeersTold.
  [[nodiscard]] bool notifies_peers() const { return phase_ == DrainPhase::kNoticing; }

  // Without delay: the state that the node was started with.
  void set(bool on, Instant now);
  // Cancels a stop or a drain, otherwise starts: the next step announces it, after all shards have
  // seen the state. kBusy: the process ends.
  [[nodiscard]] Result<void> enable(Instant now);
  // `notice`: the time in which peers learn of it by themselves. A drain ends like a stop that
  // begins now, unless its own end is earlier.
  void disable(Instant now, Duration notice);
  // Ends after `bound` at the latest; another call may change it. `full_notice`: the node waits for
  // all of `notice`, even if all peers have acknowledged. A stop becomes a drain that ends no later
  // than the stop. kInvalid: the node does not route.
  [[nodiscard]] Result<void> drain(Instant now, Duration notice, Duration bound,
                                   bool full_notice = false);
  // drain() before the end of the process: it can neither become a stop nor be cancelled.
  [[nodiscard]] Result<void> leave(Instant now, Duration notice, Duration bound, bool full_notice);
  // enable() of a node that stops, drains or is drained. kInvalid: none of these.
  [[nodiscard]] Result<void> undrain(Instant now);

  // True: the state has changed.
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
  Instant noticed_{};  // the time by which all peers know
  Instant latest_{};
  Instant quiet_since_{};
  std::uint64_t taken_ = 0;
  std::size_t cut_off_ = 0;
};

}  // namespace plnet::lnet
