// SPDX-License-Identifier: BSD-3-Clause
// What shall go wrong, when, and to whom. A plan is a value: make it, check it against a seam, hand
// it to a fault driver, at any time. Which fault means what at which seam (tx / rx):
//
//            Lnd                    byte stream           queue pair            fabric endpoint
// drop       tx: ends well, or      refused: a stream     refused: so is a      tx: send() ends
// well
//            fails at its deadline; loses nothing         queue pair            or fails late,
//            nothing rx: nobody sees it     silently                                    arrives;
//            rx: the same
// delay      tx: passed on later;   tx, rx: nothing moves rx: completions come  rx: completions
// come
//            rx: parked meanwhile   for that long         later, in order       later
// duplicate  tx: sent twice;        refused               refused               rx: a message comes
//            rx: no payload only                                                twice
// reorder    tx; rx: no payload     refused               refused               rx: overtaken by
//            only                                                               `span` completions
// truncate   rx: half the payload,  tx: half a write,     refused: refused by   rx: a message comes
//            then `error`           then reset            the NIC as well       cut to half
// corrupt    rx: one byte flipped   tx, rx: one byte      refused: the NIC's    rx: one byte of a
//                                   flipped               CRC catches it        message flipped
// stall      tx: back-pressure      tx: writes refused;   tx: posts refused     tx: kAgain; rx: no
//                                   rx: reading paused                          receive buffers
// reset      rx: rejected, so that  tx, rx: closed with   tx, rx: to_error()    refused: there is
// no
//            the connection closes  `error`                                     connection
// fail       tx: ends with `error`  refused: that is      rx: a completion      tx: ends with
// `error`,
//            and `health`           reset                 fails, then error     nothing arrives
// split      refused                tx: half a write      refused               refused
//
// A fault that cannot be applied just then (no room to hold a message, no payload to corrupt) is
// counted as skipped and leaves the message alone.
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
  kChance,    // each one with `probability`
  kEveryNth,  // the nth, 2nth, 3nth … that the rule sees
  kAtNth,     // the nth alone
};

struct FaultRule {
  Fault fault = Fault::kDrop;
  Direction direction = Direction::kTx;

  // When. Outside [from, until) the rule sees nothing.
  Trigger trigger = Trigger::kChance;
  double probability = 1.0;
  std::uint64_t nth = 1;
  Instant from = Instant::min();
  Instant until = Instant::max();

  // To whom; empty: to all.
  std::optional<lnet::Nid> nid;         // Lnd: the next hop, or the direct sender
  std::optional<std::uint32_t> stream;  // others: StreamId or QueuePairId index, receive context

  // How.
  Duration delay = std::chrono::milliseconds(1);  // delay, stall; at most this for reorder
  unsigned span = 1;                              // reorder: how many overtake
  Errc error = Errc::kIo;                         // fail, reset, truncate; drop that fails late
  Health health = Health::kLocalError;            // goes with `error`
  // drop: the sender is not told that all is well; its message fails with `error` and `health` at
  // its deadline, or after `delay` where a message has none.
  bool fails_late = false;
};

inline constexpr std::size_t kRulesMax = 16;  // each one is looked at for every message

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

// Whether every rule means something at this seam; the error names the rule and says why not.
[[nodiscard]] Outcome<void> check_plan(const FaultPlan& plan, Seam seam);

}  // namespace plnet::drivers
