// SPDX-License-Identifier: BSD-3-Clause
// A ring of events written by the device: one reader. Events are packed after the status slot, 16,
// 32 or 64 bytes each; the reader advances by their sizes. Checked against shs-cassini-headers
// cxi_prov_hw.h, commit 06f69b00.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>

#include "drivers/net/cassini/backend.hpp"
#include "drivers/net/cassini/codes.hpp"
#include "drivers/net/cassini/events.hpp"
#include "drivers/net/cassini/status.hpp"
#include "lib/base/check.hpp"

namespace plnet::cassini {

inline constexpr std::size_t kEventLine = 64;

// A complete event in the ring, valid until the reader advances.
struct Event {
  EventType type = EventType::kNull;
  ReturnCode code = ReturnCode::kNoEvent;
  unsigned bytes = 0;
  const std::byte* at = nullptr;

  // For an event of at least this size; a shorter one is not decoded.
  template <class Layout>
  [[nodiscard]] std::optional<Layout> as() const {
    if (bytes < Layout::kBytes) return std::nullopt;
    return Layout::decode(load_words<Layout::kBytes>(at));
  }
};

class EventQueue {
 public:
  EventQueue() = default;  // without a device: no events
  // The memory is all zero.
  explicit EventQueue(const EventQueueMemory& memory);

  // Hot. Calls visit(const Event&) for up to `limit` complete events, then acknowledges. Returns
  // their number.
  template <class Visit>
  unsigned poll(unsigned limit, Visit&& visit) {
    unsigned count = 0;
    Event event;
    // NULL events count against the limit as well, so that it bounds the turn.
    for (unsigned seen = 0; seen < limit && peek(event); ++seen) {
      if (event.type != EventType::kNull) {
        visit(static_cast<const Event&>(event));
        ++count;
      }
      consume(event.bytes);
    }
    acknowledge();
    return count;
  }

  // The device had no room for an event, which is lost. Reads the status slot.
  [[nodiscard]] bool dropped() const;
  // Nothing if the device was writing the slot.
  [[nodiscard]] std::optional<EventQueueStatus> status() const;
  // An invalid event: its size does not fit the remaining ring. Reading has stopped.
  [[nodiscard]] bool broken() const { return broken_; }

  [[nodiscard]] unsigned number() const { return memory_.number; }
  [[nodiscard]] std::size_t bytes() const { return memory_.bytes; }
  [[nodiscard]] std::size_t offset() const { return offset_; }

 private:
  // The same place in every event: size and type in byte 14, the return code in the last byte.
  static constexpr unsigned kHeadByte = 14;
  static constexpr unsigned kSizeMask = 3, kTypeShift = 2, kTypeMask = 31, kCodeMask = 63;

  // True if there is a complete event at offset_.
  [[nodiscard]] bool peek(Event& event) {
    if (offset_ >= memory_.bytes) return false;
    const std::byte* const at = memory_.queue + offset_;
    const unsigned head =
        __atomic_load_n(reinterpret_cast<const std::uint8_t*>(at) + kHeadByte, __ATOMIC_RELAXED);
    const unsigned size = head & kSizeMask;
    if (size == 0) return false;
    const unsigned bytes = 8U << size;
    if (bytes > memory_.bytes - offset_) {
      broken_ = true;
      return false;
    }
    // The device writes the last byte last: the other bytes are valid only after it.
    const unsigned last =
        __atomic_load_n(reinterpret_cast<const std::uint8_t*>(at) + bytes - 1, __ATOMIC_ACQUIRE);
    if ((last & kCodeMask) == 0) return false;
    // In 16-byte events the word of the last byte also holds size and type; in larger ones the type
    // may have been read before it was final.
    const unsigned settled = std::to_integer<unsigned>(at[kHeadByte]);
    if ((settled & kSizeMask) != size) return false;
    event = {.type = static_cast<EventType>(settled >> kTypeShift & kTypeMask),
             .code = static_cast<ReturnCode>(last & kCodeMask),
             .bytes = bytes,
             .at = at};
    return true;
  }
  // Zeros distinguish a new event from one of the previous lap.
  void consume(unsigned bytes) {
    PLNET_DEBUG_CHECK(bytes <= memory_.bytes - offset_, "an event ends within the queue");
    std::memset(memory_.queue + offset_, 0, bytes);
    offset_ += bytes;
    if (offset_ == memory_.bytes) offset_ = kEventLine;
  }
  // Acknowledges whole lines only.
  void acknowledge();

  EventQueueMemory memory_;
  std::size_t offset_ = kEventLine;
  std::uint32_t acknowledged_ = 1;  // in lines
  bool broken_ = false;
};

}  // namespace plnet::cassini
