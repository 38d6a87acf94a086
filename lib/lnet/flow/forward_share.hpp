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

// As the kernel counts them: those that wait have taken theirs (`available_rtr_credits`). Where
// nobody has set their number a client may have more under way than it has credits.
struct ClientCredits {
  std::int32_t credits = 0;  // below 0: wait or are borrowed
  std::int32_t credits_max = 0;
  std::int32_t credits_min = 0;  // of available()
  std::uint32_t waiting_count = 0;
  BufferCounts running;  // that do not wait, by the class that they need
  bool may_borrow = false;
  WaitQueue<Receive> waiting;

  [[nodiscard]] std::int32_t used() const { return credits_max - credits; }
  // As the kernel shows it: below 0 as many wait.
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

struct HopShare {
  std::uint32_t held = 0;         // of all classes
  std::uint32_t handed : 31 = 0;  // of those, with all of their payload: it may take them
  bool stalled : 1 = false;       // for too long it took none: what would wait for it is dropped
  Instant moved{};                // when it took one, or was handed the first
  ByBufferClass<HopQueue> queues;

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
