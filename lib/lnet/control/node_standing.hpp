// SPDX-License-Identifier: BSD-3-Clause
// The standing of this node with its peers: whether it routes, which of its NIs are up, and the
// announcement of each change. Used by the coordinator; nothing here blocks or allocates after
// start.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "lib/base/link_hold.hpp"
#include "lib/base/ring.hpp"
#include "lib/lnet/api/parameters.hpp"
#include "lib/lnet/control/discovery.hpp"
#include "lib/lnet/control/local_networks.hpp"
#include "lib/lnet/control/ni_standing.hpp"
#include "lib/lnet/control/ping_target.hpp"
#include "lib/lnet/control/routing_state.hpp"
#include "lib/lnet/peers/peer_directory.hpp"

namespace plnet::lnet {

// An event that an operator reads once: about an NI, or about routing.
struct StandingNote {
  Nid nid;          // 0@lo: about routing
  NiCause cause{};  // kNone: up
  RoutingState state{};
  DrainPhase phase{};
  std::uint32_t number = 0;  // for an NI: changes so far; for routing: messages that were cut off
};

// `lnetctl routing show` and `routing drain`.
struct StandingReport {
  RoutingState state{};
  DrainPhase phase{};
  PeersTold told;  // of a drain
  RoutedLoad load;
  bool unsent_known = false;       // transports were asked since the last message left
  std::int64_t seconds_least = 0;  // of a stop: the time to its end if no message is held
  std::int64_t seconds_left = 0;   // the time to the end of a stop or drain in any case
  std::size_t cut_off = 0;

  [[nodiscard]] bool is_drain() const { return phase != DrainPhase::kNone; }
  // Its phase, in a word or two.
  [[nodiscard]] std::string_view text() const {
    return is_drain() ? text_of(phase) : text_of(state);
  }
};

class NodeStanding {
 public:
  struct Parts {
    Parameters& parameters;
    const LocalNetworks& networks;
    PeerDirectory& directory;
    PingTarget& ping_target;
    Discovery& discovery;
    // Room for unread notes; more are lost, but views have the state.
    std::size_t notes;
  };
  // The interval of looks at states and NIs, as in the kernel's monitor.
  static constexpr Duration kLook = std::chrono::seconds(1);
  // The same during a drain, which a user waits for.
  static constexpr Duration kLookDraining = std::chrono::milliseconds(100);
  static_assert(kLookDraining < kLook, "a drain is watched more closely");
  // Numbers of peers in one look, so that a turn stays short.
  static constexpr std::uint32_t kPeersAtOnce = 4096;

  explicit NodeStanding(const Parts& parts) : parts_(parts), notes_(parts.notes) {}

  // See RoutingStateMachine.
  void set_routing(bool on, bool push, Instant now);
  [[nodiscard]] Result<void> enable(Instant now);
  void disable(Instant now);
  [[nodiscard]] Result<void> drain(Instant now, Duration bound, bool full_notice = false);
  [[nodiscard]] Result<void> leave(Instant now, Duration bound, bool full_notice);
  [[nodiscard]] Result<void> undrain(Instant now);

  // Sets the status in the ping buffer; `push`: and sends it to all peers.
  void set_status(Ni& ni, std::uint32_t status, bool push);
  // An NI is new.
  void welcome(Ni& ni, Instant now);
  // The state of some NI has changed.
  void look_at_nis(Instant now);

  unsigned step(Instant now, const RoutedLoad& load);
  [[nodiscard]] Instant next_deadline() const { return watching() ? next_look_ : Instant::max(); }

  // See RoutingStateMachine.
  [[nodiscard]] Instant quiet_since() const { return routing_.quiet_since(); }
  [[nodiscard]] StandingReport report(Instant now) const;
  [[nodiscard]] NiCause cause_of(const Ni& ni) const { return nis_[ni.number].cause; }
  [[nodiscard]] std::uint32_t changes_of(const Ni& ni) const { return nis_[ni.number].changes; }
  // One reader, any thread. False: there is no note.
  [[nodiscard]] bool pop_note(StandingNote& note) { return notes_.pop(note); }

 private:
  struct NiRecord {
    NiCause cause{};
    NiCause judged{};  // the same without the hold
    std::uint32_t changes = 0;
    LinkHold health_hold;  // keeps peers from seeing each fall of an NI whose health bounces
  };

  [[nodiscard]] Duration notice() const;
  [[nodiscard]] bool watching() const {
    return routing_.state() != RoutingState::kDisabled || some_ill_;
  }
  void publish(Instant now);
  void announce(bool advertised_before);
  void begin_asking(RoutingState before, Instant now);
  void post_end_note();
  void count_peers(Instant now);
  [[nodiscard]] bool is_silent(const Net& net, Instant now) const;
  void heal(Instant now);
  [[nodiscard]] Duration remedy_interval() const;
  [[nodiscard]] static bool may_heal(NiCause cause, const Ni& ni);
  // True: the status has changed.
  bool judge(Ni& ni, bool silent, Instant now);

  const Parts parts_;
  RoutingStateMachine routing_;
  RoutedLoad load_;
  bool unsent_known_ = false;
  PeersTold told_;
  PeersTold counting_;
  std::uint32_t count_at_ = 0;
  std::uint32_t end_sequence_ = 0;  // of the buffer that announces a stop or drain
  Instant next_look_{};
  bool some_ill_ = false;  // an NI lacks health, and may regain it
  Instant next_remedy_{};
  std::array<NiRecord, kNisMax + 1> nis_{};
  SpscRing<StandingNote> notes_;
};

}  // namespace plnet::lnet
