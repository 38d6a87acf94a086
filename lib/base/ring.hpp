// SPDX-License-Identifier: BSD-3-Clause
// The ring between two shards: bounded, one producer, one consumer. Its size follows from the
// credits that let objects into it: a full ring then cannot happen on the way out and is a bug on
// the way home.
#pragma once

#include <atomic>
#include <bit>
#include <cstddef>
#include <memory>
#include <span>
#include <type_traits>

#include "lib/base/cache_line.hpp"
#include "lib/base/check.hpp"

namespace plnet {

// Each slot shows whether it is full, beside the object. A waiting consumer reads the slot, so one
// cache line moves per hop instead of one for an index and one for the object. The producer reads
// the consumer's index only when its copy shows no room.
template <class T>
class SpscRing {
  static_assert(std::is_trivially_copyable_v<T>, "rings carry pointers and small values");

 public:
  // Room for at least `capacity` objects (rounded up to a power of two). Allocates; start-up only.
  explicit SpscRing(std::size_t capacity)
      : mask_(std::bit_ceil(capacity) - 1), slots_(std::make_unique<Slot[]>(mask_ + 1)) {
    PLNET_CHECK(capacity > 0, "a ring holds at least one object");
  }

  [[nodiscard]] std::size_t capacity() const { return mask_ + 1; }

  // Producer only. Accepts a prefix of the burst, returns its length.
  std::size_t push_burst(std::span<const T> burst) {
    const std::size_t tail = producer_.index.load(std::memory_order_relaxed);
    std::size_t room = capacity() - (tail - producer_.seen);
    if (room < burst.size()) {
      producer_.seen = consumer_.index.load(std::memory_order_acquire);
      room = capacity() - (tail - producer_.seen);
    }
    const std::size_t count = burst.size() < room ? burst.size() : room;
    for (std::size_t i = 0; i < count; ++i) {
      Slot& slot = slots_[(tail + i) & mask_];
      slot.object = burst[i];
      slot.filled.store(tail + i + 1, std::memory_order_release);
    }
    // Store the index after the slots: a consumer that sees the index sees the objects.
    if (count > 0) producer_.index.store(tail + count, std::memory_order_release);
    return count;
  }
  [[nodiscard]] bool push(const T& object) { return push_burst({&object, 1}) == 1; }

  // Consumer only. Fills a prefix of `out`, returns how many.
  std::size_t pop_burst(std::span<T> out) {
    const std::size_t head = consumer_.index.load(std::memory_order_relaxed);
    std::size_t count = 0;
    for (; count < out.size(); ++count) {
      const Slot& slot = slots_[(head + count) & mask_];
      if (slot.filled.load(std::memory_order_acquire) != head + count + 1) break;
      out[count] = slot.object;
    }
    if (count > 0) consumer_.index.store(head + count, std::memory_order_release);
    return count;
  }
  [[nodiscard]] bool pop(T& object) { return pop_burst({&object, 1}) == 1; }

  // Any thread; a hint that may be out of date. The consumer may rely on it before it sleeps:
  // objects pushed before the doorbell rang are counted.
  [[nodiscard]] std::size_t size() const {
    const std::size_t head = consumer_.index.load(std::memory_order_acquire);
    const std::size_t tail = producer_.index.load(std::memory_order_acquire);
    return tail - head;
  }
  [[nodiscard]] bool empty() const { return size() == 0; }

 private:
  struct Slot {
    std::atomic<std::size_t> filled{0};  // one more than the index of the object that it holds or
                                         // held last
    T object{};
  };
  struct alignas(kNoSharing) End {
    std::atomic<std::size_t> index{0};
    std::size_t seen = 0;  // producer: the consumer's index when last read
  };

  End producer_;
  End consumer_;
  alignas(kNoSharing) const std::size_t mask_;
  const std::unique_ptr<Slot[]> slots_;
};

}  // namespace plnet
