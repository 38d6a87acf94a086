// SPDX-License-Identifier: BSD-3-Clause
// The waits of messages, and the counters of each wait.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "lib/base/check.hpp"
#include "lib/base/counters.hpp"
#include "lib/lnet/flow/message_states.hpp"

namespace plnet::lnet {

// X(Y, wait, name, description): Y makes the four counters of the wait.
#define PLNET_LNET_WAITS(X, Y)                                                           \
  X(Y, kSender, "sender", "until its sender was a peer")                                 \
  X(Y, kArrivalRule, "arrival_rule", "because of a delay rule on arrival")               \
  X(Y, kShare, "share", "until its sender gave back a receive record")                   \
  X(Y, kMatch, "match", "until another shard had looked for its match")                  \
  X(Y, kLazyPortal, "lazy_portal", "until a match entry came to its lazy portal")        \
  X(Y, kClientCredit, "client_credit", "until its sender had a peer-router credit")      \
  X(Y, kDestination, "destination", "to be forwarded, until its destination was a peer") \
  X(Y, kBuffer, "buffer", "until a router buffer was free for its next hop")             \
  X(Y, kMessage, "message", "until a message was free for its ACK or REPLY")             \
  X(Y, kTarget, "target", "until its target was a peer")                                 \
  X(Y, kDiscovery, "discovery", "until its target was discovered")                       \
  X(Y, kHopCredit, "hop_credit", "until its next hop had a credit")                      \
  X(Y, kNiCredit, "ni_credit", "until the NI had a credit on this shard")                \
  X(Y, kSendingRule, "sending_rule", "because of a fault rule on sending")               \
  X(Y, kQuarantine, "quarantine", "until its peer could no longer write to its memory")

#define PLNET_LNET_WAIT_COUNTERS(Y, wait, name, description)                                    \
  Y(wait##Waiting, name "_waiting", "messages", kGauge, "that wait " description)               \
  Y(wait##Waited, name "_waited", "messages", kCount, "that have waited " description)          \
  Y(wait##Time, name "_waited_us", "us", kCount, "for which messages have waited " description) \
  Y(wait##Longest, name "_waited_max_us", "us", kHighWater,                                     \
    "for which one message has waited " description)
#define PLNET_LNET_ALL_WAIT_COUNTERS(Y) PLNET_LNET_WAITS(PLNET_LNET_WAIT_COUNTERS, Y)
PLNET_COUNTERS(LnetWaits, PLNET_LNET_ALL_WAIT_COUNTERS);

#define PLNET_LNET_WAIT_ID(Y, wait, name, description) wait,
#define PLNET_LNET_WAIT_NAME(Y, wait, name, description) std::string_view{name},
enum class Wait : std::uint8_t { PLNET_LNET_WAITS(PLNET_LNET_WAIT_ID, ) };
inline constexpr auto kWaitNames =
    std::to_array<std::string_view>({PLNET_LNET_WAITS(PLNET_LNET_WAIT_NAME, )});
#undef PLNET_LNET_WAIT_ID
#undef PLNET_LNET_WAIT_NAME

enum class WaitMark : std::uint8_t { kWaiting, kWaited, kTime, kLongest };
inline constexpr std::size_t kWaitMarks = 4;
[[nodiscard]] constexpr LnetWaits::Id counter_of(Wait wait, WaitMark mark) {
  return static_cast<LnetWaits::Id>(static_cast<std::size_t>(wait) * kWaitMarks +
                                    static_cast<std::size_t>(mark));
}
static_assert(counter_of(Wait::kQuarantine, WaitMark::kLongest) ==
              LnetWaits::Id::kQuarantineLongest);
static_assert(kWaitNames.size() == static_cast<std::size_t>(Wait::kQuarantine) + 1,
              "each wait has a name");

// The wait of a state whose name ends in Wait, or of kQuarantine.
[[nodiscard]] constexpr Wait wait_of(ReceiveState state) {
  using enum ReceiveState;
  switch (state) {
    case kSenderWait: return Wait::kSender;
    case kRuleWait: return Wait::kArrivalRule;
    case kShareWait: return Wait::kShare;
    case kMatchWait: return Wait::kMatch;
    case kLazyWait: return Wait::kLazyPortal;
    case kCreditWait: return Wait::kClientCredit;
    case kDestinationWait: return Wait::kDestination;
    case kBufferWait: return Wait::kBuffer;
    case kMessageWait: return Wait::kMessage;
    default: PLNET_CHECK(false, "the state is a wait");
  }
}
[[nodiscard]] constexpr Wait wait_of(SendState state) {
  using enum SendState;
  switch (state) {
    case kTargetWait: return Wait::kTarget;
    case kDiscoveryWait: return Wait::kDiscovery;
    case kHopCreditWait: return Wait::kHopCredit;
    case kNiCreditWait: return Wait::kNiCredit;
    case kRuleWait: return Wait::kSendingRule;
    case kQuarantine: return Wait::kQuarantine;
    default: PLNET_CHECK(false, "the state is a wait");
  }
}

}  // namespace plnet::lnet
