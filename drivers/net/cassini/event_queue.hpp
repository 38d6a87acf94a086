// SPDX-License-Identifier: BSD-3-Clause
// A ring of events that the device writes: one reader. Events are packed behind the status slot,
// 16, 32 or 64 bytes each; the reader goes by their sizes. Checked against shs-cassini-headers
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

namespace plnet::cassini {

inline constexpr std::size_t kEventLine = 64;

// A complete event, where it lies: good until the reader goes on.
struct Event {
  EventType type = EventType::kNull;
  ReturnCode code = ReturnCode::kNoEvent;
  unsigned bytes = 0;
  const std::byte* at = nullptr;

  // Of an event that is at least so long; a shorter one is not decoded.
  template <class Layout>
  [[nodiscard]] std::optional<Layout> as() const {
    if (bytes < Layout::kBytes) return std::nullopt;
    return Layout::decode(load_words<Layout::kBytes>(at));
  }
};

class EventQueue {
 public:
  EventQueue() = default;  // of no device: nothing ever comes
  // The memory is all zero.
  explicit EventQueue(const EventQueueMemory& memory);

  // Hot. Calls visit(const Event&) for up to `limit` complete events, then acknowledges. Returns
  // how many.
  template <class Visit>
  unsigned poll(unsigned limit, Visit&& visit) {
    unsigned count = 0;
    Event event;
    // NULL events count against the limit as well, so that a turn is bounded by it.
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

  // The device had no room for an event: what it was is lost. Looks at the status slot.
  [[nodiscard]] bool dropped() const;
  // Nothing if the device was just writing it.
  [[nodiscard]] std::optional<EventQueueStatus> status() const;
  // An event that cannot be: of a size that does not fit what is left. Nothing is read any more.
  [[nodiscard]] bool broken() const { return broken_; }

  [[nodiscard]] unsigned number() const { return memory_.number; }
  [[nodiscard]] std::size_t bytes() const { return memory_.bytes; }
  [[nodiscard]] std::size_t offset() const { return offset_; }

 private:
  // The same in every event: size and type in its byte 14, the return code in its last.
  static constexpr unsigned kHeadByte = 14;
  static constexpr unsigned kSizeMask = 3, kTypeShift = 2, kTypeMask = 31, kCodeMask = 63;

  // Whether there is a complete event at offset_.
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
    // The device writes the last byte last: until then the rest is not to be looked at.
    const unsigned last =
        __atomic_load_n(reinterpret_cast<const std::uint8_t*>(at) + bytes - 1, __ATOMIC_ACQUIRE);
    if ((last & kCodeMask) == 0) return false;
    // Sixteen-byte events have size and type in the word that the last byte completes, larger ones
    // may have changed their mind about the type until then.
    const unsigned settled = std::to_integer<unsigned>(at[kHeadByte]);
    if ((settled & kSizeMask) != size) return false;
    event = {.type = static_cast<EventType>(settled >> kTypeShift & kTypeMask),
             .code = static_cast<ReturnCode>(last & kCodeMask),
             .bytes = bytes,
             .at = at};
    return true;
  }
  // Zeros are what tells an event from the one a round before.
  void consume(unsigned bytes) {
    std::memset(memory_.queue + offset_, 0, bytes);
    offset_ += bytes;
    if (offset_ == memory_.bytes) offset_ = kEventLine;
  }
  // Only whole lines can be given back.
  void acknowledge();

  EventQueueMemory memory_;
  std::size_t offset_ = kEventLine;
  std::uint32_t acknowledged_ = 1;  // line
  bool broken_ = false;
};

}  // namespace plnet::cassini
