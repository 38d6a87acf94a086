// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/net/cassini/event_queue.hpp"

#include "drivers/net/cassini/fence.hpp"
#include "lib/base/check.hpp"

namespace plnet::cassini {

EventQueue::EventQueue(const EventQueueMemory& memory) : memory_(memory) {
  PLNET_CHECK(memory.bytes >= 2 * kEventLine && memory.bytes % kEventLine == 0 &&
                  memory.bytes / kEventLine <= ones(26),
              "an event queue is whole lines, as many as its read pointer can name");
  PLNET_CHECK(memory.queue != nullptr && memory.software_state != nullptr,
              "an event queue has memory and a doorbell");
}

void EventQueue::acknowledge() {
  const auto line = static_cast<std::uint32_t>(offset_ / kEventLine);
  if (line == acknowledged_) return;
  acknowledged_ = line;
  const EventQueueAck ack{.rd_ptr = line};
  // The zeros must be visible before the device writes to these lines again.
  device_store_fence();
  __atomic_store_n(memory_.software_state, little(ack.encode()[0]), __ATOMIC_RELEASE);
}

std::optional<EventQueueStatus> EventQueue::status() const {
  if (memory_.queue == nullptr) return std::nullopt;
  EventQueueStatus::Words words{};
  for (std::size_t i = words.size(); i-- > 0;) {
    words[i] = little(__atomic_load_n(reinterpret_cast<const std::uint64_t*>(memory_.queue) + i,
                                      __ATOMIC_ACQUIRE));
  }
  const EventQueueStatus now = EventQueueStatus::decode(words);
  if (now.timestamp_ns != now.timestamp_ns_cpy || now.timestamp_sec != now.timestamp_sec_cpy)
    return std::nullopt;
  return now;
}

bool EventQueue::dropped() const {
  if (memory_.queue == nullptr) return false;
  const auto flags = __atomic_load_n(reinterpret_cast<const std::uint8_t*>(memory_.queue) + 0x0f,
                                     __ATOMIC_RELAXED);
  if ((flags & 1U) == 0) return false;
  const auto now = status();
  return now && now->unackd_dropped_event != 0;
}

}  // namespace plnet::cassini
