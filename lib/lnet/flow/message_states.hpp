// SPDX-License-Identifier: BSD-3-Clause
// The states of a message on this node. ReceiveState: a message that arrived, from its header until
// it has given back all that it holds. SendState: a message that leaves. A forwarded message has
// both: its Receive is kLeaving once the payload is whole, then its Message has the state.
// Names that end in Wait are waits: Waits (lib/lnet/move) counts and times them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string_view>

namespace plnet::lnet {

// X(state, name, description)
#define PLNET_RECEIVE_STATES(X)                                                                 \
  X(kFree, "free", "in the pool")                                                               \
  X(kArrived, "arrived", "its header is judged")                                                \
  X(kSenderWait, "sender", "its sender becomes a peer")                                         \
  X(kRuleWait, "rule", "a delay rule holds it")                                                 \
  X(kShareWait, "share", "its sender holds its whole share of receive records")                 \
  X(kMatchWait, "match", "another shard looks for its match")                                   \
  X(kLazyWait, "lazy_portal", "no match entry on its lazy portal yet")                          \
  X(kCreditWait, "client_credit", "to be forwarded: its sender has no peer-router credit left") \
  X(kDestinationWait, "destination", "to be forwarded: its destination becomes a peer")         \
  X(kBufferWait, "buffer", "to be forwarded: no router buffer is free for its next hop")        \
  X(kResumed, "resumed", "its wait is over, the shard judges it again")                         \
  X(kDecided, "decided", "its LND gets the decision at the end of the turn")                    \
  X(kPayload, "payload", "its payload arrives")                                                 \
  X(kEnding, "ending", "another shard ends the grant of its descriptor")                        \
  X(kMessageWait, "message", "its ACK or REPLY: no message is free")                            \
  X(kLeaving, "leaving", "its ACK or REPLY, or the forwarded message, leaves")

#define PLNET_SEND_STATES(X)                                                   \
  X(kFree, "free", "in the pool")                                              \
  X(kMade, "made", "leaves at the end of the turn")                            \
  X(kTargetWait, "target", "its target becomes a peer")                        \
  X(kDiscoveryWait, "discovery", "its target is discovered")                   \
  X(kToHome, "to_home", "crosses to the home shard of its next hop")           \
  X(kHopCreditWait, "hop_credit", "its next hop has no credit left")           \
  X(kToLane, "to_lane", "crosses to the shard that posts it")                  \
  X(kNiCreditWait, "ni_credit", "the NI has no credit left on this shard")     \
  X(kRuleWait, "rule", "a fault rule holds it")                                \
  X(kResumed, "resumed", "its wait is over")                                   \
  X(kWithLnd, "with_lnd", "handed to the LND")                                 \
  X(kComesBack, "comes_back", "ended, crosses back to the shard that made it") \
  X(kQuarantine, "quarantine", "failed: its peer may still write to its memory")

#define PLNET_STATE_ID(state, name, description) state,
#define PLNET_STATE_NAME(state, name, description) std::string_view{name},
enum class ReceiveState : std::uint8_t { PLNET_RECEIVE_STATES(PLNET_STATE_ID) };
enum class SendState : std::uint8_t { PLNET_SEND_STATES(PLNET_STATE_ID) };
inline constexpr auto kReceiveStateNames =
    std::to_array<std::string_view>({PLNET_RECEIVE_STATES(PLNET_STATE_NAME)});
inline constexpr auto kSendStateNames =
    std::to_array<std::string_view>({PLNET_SEND_STATES(PLNET_STATE_NAME)});
#undef PLNET_STATE_ID
#undef PLNET_STATE_NAME

[[nodiscard]] constexpr std::string_view name_of(ReceiveState state) {
  return kReceiveStateNames[static_cast<std::size_t>(state)];
}
[[nodiscard]] constexpr std::string_view name_of(SendState state) {
  return kSendStateNames[static_cast<std::size_t>(state)];
}

// The states that may follow each state.
template <class State, std::size_t kStates>
class Transitions {
 public:
  static_assert(kStates <= 32, "a word has a bit for each state");
  struct Row {
    State from;
    std::initializer_list<State> to;
  };

  constexpr Transitions(std::initializer_list<Row> rows) {
    for (const Row& row : rows) {
      for (const State to : row.to)
        follows_[index(row.from)] |= bit(to);
    }
  }
  [[nodiscard]] constexpr bool allow(State from, State to) const {
    return (follows_[index(from)] & bit(to)) != 0;
  }
  // `to` is the only state that may follow.
  [[nodiscard]] constexpr bool allow_only(State from, State to) const {
    return follows_[index(from)] == bit(to);
  }
  // Each state can be entered and left.
  [[nodiscard]] constexpr bool are_complete() const {
    std::uint32_t entered = 0;
    for (const std::uint32_t follow : follows_) {
      if (follow == 0) return false;
      entered |= follow;
    }
    return entered == (std::uint64_t{1} << kStates) - 1;
  }

 private:
  static constexpr std::size_t index(State state) { return static_cast<std::size_t>(state); }
  static constexpr std::uint32_t bit(State state) { return std::uint32_t{1} << index(state); }

  std::array<std::uint32_t, kStates> follows_{};
};

inline constexpr Transitions<ReceiveState, kReceiveStateNames.size()> kReceiveTransitions = [] {
  using enum ReceiveState;
  return Transitions<ReceiveState, kReceiveStateNames.size()>{
      {kFree, {kArrived}},
      // A message decided within the upcall is dropped or received at once; else its LND parks it.
      {kArrived,
       {kSenderWait, kRuleWait, kShareWait, kMatchWait, kLazyWait, kCreditWait, kDestinationWait,
        kBufferWait, kPayload, kFree}},
      {kSenderWait, {kResumed}},
      {kRuleWait, {kResumed}},
      {kShareWait, {kResumed}},
      {kMatchWait, {kResumed}},
      {kLazyWait, {kResumed}},
      {kCreditWait, {kResumed}},
      {kDestinationWait, {kResumed}},
      {kBufferWait, {kResumed}},
      // A message whose connection is gone ends here, after the owner has ended its grant.
      {kResumed,
       {kSenderWait, kRuleWait, kShareWait, kMatchWait, kLazyWait, kCreditWait, kDestinationWait,
        kBufferWait, kDecided, kEnding, kLeaving, kFree}},
      {kDecided, {kPayload, kEnding, kFree}},
      {kPayload, {kEnding, kMessageWait, kLeaving, kFree}},
      {kEnding, {kMessageWait, kLeaving, kFree}},
      {kMessageWait, {kResumed}},
      // The owner of a GET's descriptor is told when the REPLY has left.
      {kLeaving, {kEnding, kFree}}};
}();

inline constexpr Transitions<SendState, kSendStateNames.size()> kSendTransitions = [] {
  using enum SendState;
  return Transitions<SendState, kSendStateNames.size()>{
      {kFree, {kMade}},
      {kMade,
       {kTargetWait, kDiscoveryWait, kToHome, kHopCreditWait, kToLane, kNiCreditWait, kRuleWait,
        kWithLnd, kComesBack, kMade, kFree}},
      {kTargetWait, {kResumed}},
      {kDiscoveryWait, {kResumed}},
      {kToHome,
       {kHopCreditWait, kToLane, kNiCreditWait, kRuleWait, kWithLnd, kComesBack, kMade, kFree}},
      {kHopCreditWait, {kResumed}},
      // kToLane repeats if a new NI has no port yet, or if a bulk lane is on another shard.
      {kToLane, {kToLane, kNiCreditWait, kRuleWait, kWithLnd, kComesBack, kMade, kFree}},
      {kNiCreditWait, {kResumed}},
      {kRuleWait, {kResumed}},
      {kResumed,
       {kTargetWait, kDiscoveryWait, kToHome, kHopCreditWait, kToLane, kNiCreditWait, kRuleWait,
        kWithLnd, kComesBack, kMade, kQuarantine, kFree}},
      // A message that is sent again returns to kMade.
      {kWithLnd, {kComesBack, kMade, kQuarantine, kFree}},
      {kComesBack, {kComesBack, kMade, kQuarantine, kFree}},
      {kQuarantine, {kResumed}}};
}();
static_assert(kReceiveTransitions.are_complete() && kSendTransitions.are_complete(),
              "no state is unused and none is final");
static_assert(
    [] {
      using enum ReceiveState;
      for (const ReceiveState wait : {kSenderWait, kRuleWait, kShareWait, kMatchWait, kLazyWait,
                                      kCreditWait, kDestinationWait, kBufferWait, kMessageWait}) {
        if (!kReceiveTransitions.allow_only(wait, kResumed)) return false;
      }
      return true;
    }(),
    "a message that arrives leaves each wait through kResumed");
static_assert(
    [] {
      using enum SendState;
      for (const SendState wait :
           {kTargetWait, kDiscoveryWait, kHopCreditWait, kNiCreditWait, kRuleWait, kQuarantine}) {
        if (!kSendTransitions.allow_only(wait, kResumed)) return false;
      }
      return true;
    }(),
    "a message that leaves ends each wait through kResumed");

// The LND of the message waits for a decision.
[[nodiscard]] constexpr bool is_parked(ReceiveState state) {
  return state >= ReceiveState::kSenderWait && state <= ReceiveState::kDecided;
}
static_assert(is_parked(ReceiveState::kBufferWait) && is_parked(ReceiveState::kResumed) &&
                  is_parked(ReceiveState::kDecided) && !is_parked(ReceiveState::kArrived) &&
                  !is_parked(ReceiveState::kPayload) && !is_parked(ReceiveState::kMessageWait),
              "an LND waits from the first wait of its message until the decision");

}  // namespace plnet::lnet
