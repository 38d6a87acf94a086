// SPDX-License-Identifier: BSD-3-Clause
// The place where captures (lib/trace/tap) see messages: where the core meets an NI, and where it
// drops. Without a capture a message costs a load and a branch.
#pragma once

#include <atomic>
#include <cstdint>

#include "lib/base/cache_line.hpp"
#include "lib/base/clock.hpp"
#include "lib/lnet/api/payload.hpp"
#include "lib/lnet/flow/wait_counters.hpp"
#include "lib/lnet/move/statistics.hpp"
#include "lib/lnet/names/nid.hpp"
#include "lib/lnet/wire/header.hpp"

namespace plnet::lnet {

enum class TapWay : std::uint8_t {
  kReceived,  // the payload is in place; a GET with an open sink has been served
  kSent,      // an LND has taken it
  kDropped,   // it arrived and was dropped, or was to be sent and was dropped
};

inline constexpr Nid kNoNid = Nid::any();

// Valid during the call only.
struct TappedMessage {
  const MessageHeader& header;
  TapWay way = TapWay::kReceived;
  Cause cause = Cause::kReceiveFailed;  // the cause of a drop
  const Nid& interface = kNoNid;        // ours; any: none was chosen yet
  const Nid& hop = kNoNid;              // the neighbour; any: none was chosen yet
  Payload payload{};                    // the part in memory; may be less than was sent
  Instant when{};                       // the turn of the shard
};

// A message begins to wait, or its wait is over.
struct TappedWait {
  const MessageHeader& header;
  Wait wait = Wait::kMatch;
  bool over = false;
  Duration waited{};  // if over: the length of the wait
  Instant when{};     // time of the shard's turn
};

class MessageTap {
 public:
  virtual ~MessageTap() = default;
  // Hot. On the shard's thread; must not block, and must not change the message.
  virtual void on_message(const TappedMessage& message) = 0;
  // Hot where messages wait. The contract of on_message() holds.
  virtual void on_wait(const TappedWait& /*wait*/) {}
  // The shard's turn ends. Readers may wait for its messages.
  virtual void end_turn() = 0;
  // Payloads must be in memory: no LND may keep one for the next hop.
  [[nodiscard]] virtual bool wants_payload() const = 0;
};

// The tap of a shard. The admin thread changes it while messages flow; the shard may use a removed
// tap until its turn has ended.
struct alignas(kNoSharing) TapSlot {
  std::atomic<MessageTap*> tap{nullptr};

  [[nodiscard]] MessageTap* get() const { return tap.load(std::memory_order_acquire); }
};

inline const TapSlot kNoTap;

}  // namespace plnet::lnet
