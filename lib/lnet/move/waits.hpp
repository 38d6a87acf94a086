// SPDX-License-Identifier: BSD-3-Clause
// The waits of a shard's messages. Each wait begins and ends here, is counted and timed, and is
// shown to the tap that traces states.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

#include "lib/base/check.hpp"
#include "lib/base/clock.hpp"
#include "lib/lnet/flow/wait_counters.hpp"
#include "lib/lnet/move/message.hpp"
#include "lib/lnet/move/message_tap.hpp"
#include "lib/lnet/move/receive.hpp"

namespace plnet::lnet {

class Waits {
 public:
  // `now` is the shard's time. It and the slot outlive this object.
  Waits(const Instant& now, const TapSlot& tap) : now_(now), tap_(tap) {}

  // The message enters this waiting state.
  void begin(Receive& receive, ReceiveState state) {
    receive.enter(state);
    receive.waits_since = now_;
    count_begin(wait_of(state));
    if (MessageTap* const tap = tap_.get()) [[unlikely]]
      tap->on_wait({.header = receive.header, .wait = wait_of(state), .when = now_});
  }
  void begin(Message& message, SendState state) {
    message.enter(state);
    message.since.set(now_);
    count_begin(wait_of(state));
    if (MessageTap* const tap = tap_.get()) [[unlikely]]
      tap->on_wait({.header = shown(message), .wait = wait_of(state), .when = now_});
  }
  // The wait of the message is over, with any result.
  void end(Receive& receive) {
    const Wait wait = wait_of(receive.state.get());
    const Duration waited = now_ - receive.waits_since;
    count_end(wait, waited);
    receive.enter(ReceiveState::kResumed);
    if (MessageTap* const tap = tap_.get()) [[unlikely]]
      tap->on_wait(
          {.header = receive.header, .wait = wait, .over = true, .waited = waited, .when = now_});
  }
  void end(Message& message) {
    const Wait wait = wait_of(message.state.get());
    const Duration waited = now_ - message.since.get();
    count_end(wait, waited);
    message.enter(SendState::kResumed);
    if (MessageTap* const tap = tap_.get()) [[unlikely]]
      tap->on_wait(
          {.header = shown(message), .wait = wait, .over = true, .waited = waited, .when = now_});
  }

  [[nodiscard]] std::uint64_t waiting(Wait wait) const {
    return counters_.get(counter_of(wait, WaitMark::kWaiting));
  }
  [[nodiscard]] CounterView counters() const { return counters_.view(); }

 private:
  void count_begin(Wait wait) { counters_.add(counter_of(wait, WaitMark::kWaiting)); }
  void count_end(Wait wait, Duration waited) {
    PLNET_CHECK(waiting(wait) > 0, "a wait that ends has begun");
    const auto waited_us = std::chrono::duration_cast<std::chrono::microseconds>(waited).count();
    const auto time = static_cast<std::uint64_t>(std::max<std::int64_t>(waited_us, 0));
    counters_.subtract(counter_of(wait, WaitMark::kWaiting));
    counters_.add(counter_of(wait, WaitMark::kWaited));
    counters_.add(counter_of(wait, WaitMark::kTime), time);
    counters_.raise_to(counter_of(wait, WaitMark::kLongest), time);
  }
  // The header of a message without a path is not complete.
  [[nodiscard]] static MessageHeader shown(const Message& message) {
    MessageHeader header = message.header;
    if (message.ni == nullptr && !message.routed) {
      header.source = kNoNid;
      header.destination = message.target.nid;
    }
    return header;
  }

  const Instant& now_;
  const TapSlot& tap_;
  Counters<LnetWaits> counters_;
};

}  // namespace plnet::lnet
