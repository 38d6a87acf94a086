// SPDX-License-Identifier: BSD-3-Clause
// The share of a peer NI in a shard's means to forward, in each of its two roles: as the client
// whose messages are forwarded (client credits), and as the next hop of forwarded messages (its
// share of the router buffers). ClientQueues and HopBuffers (lib/lnet/move) work with them.
#pragma once

#include <cstdint>

#include "lib/base/clock.hpp"
#include "lib/base/intrusive_list.hpp"
#include "lib/lnet/flow/router_buffers.hpp"
#include "lib/lnet/flow/wait_queue.hpp"

namespace plnet::lnet {

struct PeerPort;
struct Receive;

// Counted as in the kernel: a waiting message has taken a credit (`available_rtr_credits`). Unless
// the configuration sets the number, a client may have more messages under way than credits.
struct ClientCredits {
  std::int32_t credits = 0;  // below 0: messages wait or have borrowed
  std::int32_t credits_max = 0;
  std::int32_t credits_min = 0;  // the least value of available()
  std::uint32_t waiting_count = 0;
  BufferCounts running;  // messages that do not wait, by class of buffer
  bool may_borrow = false;
  WaitQueue<Receive> waiting;

  // A message that has taken a credit either runs or waits.
  [[nodiscard]] bool is_settled() const {
    std::int64_t taken = waiting_count;
    for (const std::uint32_t each : running)
      taken += each;
    return taken == used() && (waiting_count == 0) == waiting.empty();
  }
  [[nodiscard]] std::int32_t used() const { return credits_max - credits; }
  // As in the kernel's reports: a negative number is that of waiting messages.
  [[nodiscard]] std::int32_t available() const {
    if (waiting_count > 0) return -static_cast<std::int32_t>(waiting_count);
    return credits < 0 ? 0 : credits;
  }
};

// Messages that wait for a buffer of one class. In a list of HopBuffers while there are some.
struct HopQueue : ListNode<> {
  PeerPort* port = nullptr;
  BufferClass of = BufferClass::kTiny;
  std::uint32_t waiting_count : 24 = 0;  // a shard has fewer receive records
  std::uint32_t held = 0;
  WaitQueue<Receive> waiting;
};
static_assert(kBufferClasses == 3, "a next hop has one queue for each class of buffer");

struct HopShare {
  std::uint32_t held = 0;         // buffers of all classes
  std::uint32_t handed : 31 = 0;  // of these, with a complete payload: the hop may take them
  bool stalled : 1 =
      false;        // the hop took none for too long: a message that would wait for it is dropped
  Instant moved{};  // time at which it took one, or was handed the first
  ByBufferClass<HopQueue> queues;

  // Handed buffers are some of those held, and each held buffer counts in the queue of its class.
  [[nodiscard]] bool is_settled() const {
    std::uint32_t sum = 0;
    for (const HopQueue& queue : queues)
      sum += queue.held;
    return sum == held && handed <= held;
  }
  [[nodiscard]] bool waits() const {
    for (const BufferClass each : kAllBufferClasses) {
      if (queues[each].linked()) return true;
    }
    return false;
  }
  [[nodiscard]] std::size_t waiting_count() const {
    std::size_t sum = 0;
    for (const BufferClass each : kAllBufferClasses)
      sum += queues[each].waiting_count;
    return sum;
  }
};

}  // namespace plnet::lnet
