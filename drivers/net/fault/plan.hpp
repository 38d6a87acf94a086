// SPDX-License-Identifier: BSD-3-Clause
// The faults of a plan: which, when, and for which messages. A plan is a value: make it, check it
// against a seam, hand it to a fault driver at any time. The effect of each fault, at the seams
// that have it (tx: sent, rx: received); the others refuse it:
//
// - drop: Lnd tx: ends well, or fails at its deadline, and nothing arrives; rx: is not
//   delivered. Fabric endpoint tx: send() ends well or fails late, and nothing arrives; rx: is
//   not delivered. A stream or a queue pair loses nothing silently.
// - delay: Lnd tx: is passed on later; rx: is parked meanwhile. Byte stream: nothing moves for
//   that long. Queue pair and fabric endpoint rx: completions come later, in order.
// - duplicate: Lnd tx: is sent twice; rx: comes twice, only without payload. Fabric endpoint rx:
//   comes twice.
// - reorder: Lnd tx; rx only without payload. Fabric endpoint rx: is overtaken by `span`
//   completions.
// - truncate: Lnd rx: half the payload, then `error`. Byte stream tx: half a write, then a
//   reset. Fabric endpoint rx: the message is cut to half. A NIC refuses a truncated message of
//   a queue pair.
// - corrupt: one byte changes: Lnd rx, byte stream, fabric endpoint rx. The CRC of a NIC catches
//   it on a queue pair.
// - stall: Lnd tx: back-pressure. Byte stream tx: writes are refused; rx: reading is paused.
//   Queue pair tx: posts are refused. Fabric endpoint tx: kAgain; rx: there are no receive
//   buffers.
// - reset: Lnd rx: is rejected, so that the connection closes. Byte stream: is closed with
//   `error`. Queue pair: to_error(). A fabric endpoint has no connection.
// - fail: Lnd tx: ends with `error` and `health`. Queue pair rx: a completion fails, then the
//   pair. Fabric endpoint tx: ends with `error`, and nothing arrives. For a byte stream this is
//   a reset.
// - split: Byte stream tx: half a write.
//
// A fault that cannot be applied to a message (no room to hold it, no payload to corrupt) is
// counted as skipped, and the message passes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "lib/base/clock.hpp"
#include "lib/base/result.hpp"
#include "lib/lnet/names/nid.hpp"

namespace plnet::drivers {

enum class Fault : std::uint8_t {
  kDrop,
  kDelay,
  kDuplicate,
  kReorder,
  kTruncate,
  kCorrupt,
  kStall,
  kReset,
  kFail,
  kSplit,
};
inline constexpr std::size_t kFaultCount = 10;

enum class Seam : std::uint8_t { kLnd, kStream, kVerbs, kEndpoint };
enum class Direction : std::uint8_t { kTx, kRx };
[[nodiscard]] std::string_view name_of(Fault fault);
[[nodiscard]] std::string_view name_of(Seam seam);

enum class Trigger : std::uint8_t {
  kChance,    // each message with `probability`
  kEveryNth,  // the nth, 2nth, 3nth … that the rule matches
  kAtNth,     // the nth alone
};

struct FaultRule {
  Fault fault = Fault::kDrop;
  Direction direction = Direction::kTx;

  // The time. Outside [from, until) the rule matches nothing.
  Trigger trigger = Trigger::kChance;
  double probability = 1.0;
  std::uint64_t nth = 1;
  Instant from = Instant::min();
  Instant until = Instant::max();

  // The address; empty: all.
  std::optional<lnet::Nid> nid;         // Lnd: the next hop, or the direct sender
  std::optional<std::uint32_t> stream;  // others: StreamId or QueuePairId index, receive context

  // The parameters.
  Duration delay = std::chrono::milliseconds(1);  // delay, stall; at most this for reorder
  unsigned span = 1;                              // reorder: the number of messages that overtake
  Errc error = Errc::kIo;                         // fail, reset, truncate; drop that fails late
  Health health = Health::kLocalError;            // reported with `error`
  // drop: the message does not end well. It fails with `error` and `health` at its deadline, or
  // after `delay` if it has none.
  bool fails_late = false;
};

inline constexpr std::size_t kRulesMax = 16;  // each one is checked for each message

struct FaultPlan {
  std::array<FaultRule, kRulesMax> rules{};
  std::size_t count = 0;

  // False: the plan is full.
  bool add(const FaultRule& rule) {
    if (count == kRulesMax) return false;
    rules[count++] = rule;
    return true;
  }
  [[nodiscard]] std::span<const FaultRule> view() const { return std::span(rules).first(count); }
};

// Whether each rule has a meaning at this seam; the error names the rule and the reason.
[[nodiscard]] Outcome<void> check_plan(const FaultPlan& plan, Seam seam);

}  // namespace plnet::drivers
