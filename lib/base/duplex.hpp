// SPDX-License-Identifier: BSD-3-Clause
// The connection of two shards: a bounded lane in each direction, both lanes on the same cache
// lines. Objects that cross between shards come home again, and the way home is cheap when the
// answer leaves on the line that brought the question.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <type_traits>

#include "lib/base/cache_line.hpp"
#include "lib/base/check.hpp"

namespace plnet {

namespace duplex {

// A slot is one word: a pointer, and in its lowest bit the parity of the lap in which it was
// filled. A waiting consumer reads only this word and writes nothing to it.
using Word = std::uintptr_t;
inline constexpr std::size_t kSlotsPerLine = kCacheLine / sizeof(Word) / 2;  // in each lane

struct alignas(kCacheLine) Line {
  std::array<std::array<std::atomic<Word>, kSlotsPerLine>, 2> lanes{};
};
static_assert(sizeof(Line) == kCacheLine);

}  // namespace duplex

// One direction: single producer, single consumer, the interface of SpscRing. Made by Duplex.
template <class T>
class DuplexLane {
 public:
  DuplexLane(duplex::Line* lines, std::size_t capacity, unsigned lane)
      : lines_(lines),
        mask_(capacity - 1),
        lap_shift_(static_cast<unsigned>(std::countr_zero(capacity))),
        lane_(lane) {}
  DuplexLane(const DuplexLane&) = delete;
  DuplexLane& operator=(const DuplexLane&) = delete;

  [[nodiscard]] std::size_t capacity() const { return mask_ + 1; }

  // Producer only. Accepts a prefix of the burst, returns its length. A null pointer may be sent, a
  // pointer to an odd address must not.
  std::size_t push_burst(std::span<T* const> burst) {
    const std::size_t tail = producer_.index.load(std::memory_order_relaxed);
    const std::size_t count = std::min(burst.size(), room_at(tail, burst.size()));
    for (std::size_t done = 0; done < count;) {
      const Run run = run_at(tail + done, count - done);
      // Fill the first slot last: a waiting consumer then fetches the line once, when it is
      // complete.
      for (std::size_t i = run.length; i-- > 0;)
        run.slots[i].store(word_of(burst[done + i], run.mark), std::memory_order_release);
      done += run.length;
    }
    // Store the index after the slots: a consumer that sees the index sees the objects.
    if (count > 0) producer_.index.store(tail + count, std::memory_order_release);
    return count;
  }
  [[nodiscard]] bool push(T* object) {
    const std::size_t tail = producer_.index.load(std::memory_order_relaxed);
    if (room_at(tail, 1) == 0) return false;
    slot(tail).store(word_of(object, mark_of(tail)), std::memory_order_release);
    producer_.index.store(tail + 1, std::memory_order_release);
    return true;
  }

  // Consumer only. Fills a prefix of `out`, returns how many.
  std::size_t pop_burst(std::span<T*> out) {
    const std::size_t head = consumer_.index.load(std::memory_order_relaxed);
    std::size_t count = 0;
    while (count < out.size()) {
      const Run run = run_at(head + count, out.size() - count);
      if (run.length == duplex::kSlotsPerLine && take_line(run, out.data() + count)) {
        count += run.length;
        prefetch(head + count + kLookAhead);
        continue;
      }
      const std::size_t taken = take_some(run, out.data() + count);
      count += taken;
      if (taken < run.length) break;
    }
    if (count > 0) consumer_.index.store(head + count, std::memory_order_release);
    return count;
  }
  [[nodiscard]] bool pop(T*& object) {
    const std::size_t head = consumer_.index.load(std::memory_order_relaxed);
    const duplex::Word word = slot(head).load(std::memory_order_acquire);
    if ((word & kMark) != mark_of(head)) return false;
    consumer_.index.store(head + 1, std::memory_order_release);
    object = pointer_of(word);
    return true;
  }

  // Hints that may be out of date. The consumer may rely on empty() before it sleeps: it sees
  // objects that were pushed before the doorbell rang. It reads the slot that the consumer reads
  // next anyway, so it costs no cache line of its own.
  [[nodiscard]] bool empty() const {
    const std::size_t head = consumer_.index.load(std::memory_order_acquire);
    return (slot(head).load(std::memory_order_acquire) & kMark) != mark_of(head);
  }
  [[nodiscard]] std::size_t size() const {
    const std::size_t head = consumer_.index.load(std::memory_order_acquire);
    const std::size_t tail = producer_.index.load(std::memory_order_acquire);
    return tail - head;
  }

 private:
  static constexpr duplex::Word kMark = 1;
  // Distance of prefetching, in slots: four lines beyond the line just read, found by measurement.
  static constexpr std::size_t kLookAhead = 4 * duplex::kSlotsPerLine;

  struct alignas(kNoSharing) End {
    std::atomic<std::size_t> index{0};
    std::size_t seen = 0;  // producer: the consumer's index when last read
  };

  // Adjacent slots on one line and in one lap.
  struct Run {
    std::atomic<duplex::Word>* slots;
    std::size_t length;
    duplex::Word mark;
  };

  [[nodiscard]] static duplex::Word word_of(T* object, duplex::Word mark) {
    if constexpr (!std::is_void_v<T>) static_assert(alignof(T) > 1, "the lowest bit is the mark");
    const auto word = std::bit_cast<duplex::Word>(object);
    PLNET_DEBUG_CHECK((word & kMark) == 0, "a duplex carries no odd addresses");
    return word | mark;
  }
  [[nodiscard]] static T* pointer_of(duplex::Word word) { return std::bit_cast<T*>(word & ~kMark); }

  // The consumer's index is on a line of its own: read it only when the copy shows no room.
  [[nodiscard]] std::size_t room_at(std::size_t tail, std::size_t wanted) {
    const std::size_t room = capacity() - (tail - producer_.seen);
    if (room >= wanted) return room;
    producer_.seen = consumer_.index.load(std::memory_order_acquire);
    return capacity() - (tail - producer_.seen);
  }

  [[nodiscard]] std::atomic<duplex::Word>& slot(std::size_t index) const {
    const std::size_t at = index & mask_;
    return lines_[at / duplex::kSlotsPerLine].lanes[lane_][at % duplex::kSlotsPerLine];
  }
  // Slots start as zeros, so the first lap marks with one.
  [[nodiscard]] duplex::Word mark_of(std::size_t index) const {
    return ~(index >> lap_shift_) & kMark;
  }
  [[nodiscard]] Run run_at(std::size_t index, std::size_t limit) const {
    const std::size_t at = index & mask_;
    const std::size_t on_line = duplex::kSlotsPerLine - at % duplex::kSlotsPerLine;
    return {&slot(index), std::min({limit, on_line, capacity() - at}), mark_of(index)};
  }

  // Takes a full line or nothing: fewer instructions per line, so that the core has more lines in
  // flight. Four named words, because an array went through memory, behind stores that wait for
  // their lines.
  static bool take_line(const Run& run, T** out) {
    static_assert(duplex::kSlotsPerLine == 4);
    const duplex::Word d = run.slots[3].load(std::memory_order_acquire);
    const duplex::Word c = run.slots[2].load(std::memory_order_acquire);
    const duplex::Word b = run.slots[1].load(std::memory_order_acquire);
    const duplex::Word a = run.slots[0].load(std::memory_order_acquire);
    const duplex::Word wrong = (a ^ run.mark) | (b ^ run.mark) | (c ^ run.mark) | (d ^ run.mark);
    if ((wrong & kMark) != 0) return false;
    out[0] = pointer_of(a);
    out[1] = pointer_of(b);
    out[2] = pointer_of(c);
    out[3] = pointer_of(d);
    return true;
  }
  static std::size_t take_some(const Run& run, T** out) {
    for (std::size_t i = 0; i < run.length; ++i) {
      const duplex::Word word = run.slots[i].load(std::memory_order_acquire);
      if ((word & kMark) != run.mark) return i;
      out[i] = pointer_of(word);
    }
    return run.length;
  }
  void prefetch(std::size_t index) const { __builtin_prefetch(&slot(index)); }

  duplex::Line* const lines_;
  const std::size_t mask_;
  const unsigned lap_shift_;
  const unsigned lane_;
  End producer_;
  End consumer_;
};

// As many objects come home as went out, so the two lanes keep step and a conversation stays on one
// line: the reader of a question owns the line when it answers. Lanes out of step are correct and
// cost as much as two separate rings.
template <class T>
class Duplex {
 public:
  using Lane = DuplexLane<T>;

  // Room for at least `capacity` objects in each direction (rounded up to a power of two).
  // Allocates; start-up only.
  explicit Duplex(std::size_t capacity)
      : capacity_(std::bit_ceil(checked(capacity))),
        lines_(std::make_unique<duplex::Line[]>((capacity_ + duplex::kSlotsPerLine - 1) /
                                                duplex::kSlotsPerLine)),
        there_(lines_.get(), capacity_, 0),
        back_(lines_.get(), capacity_, 1) {}

  // The caller decides once which side is "here".
  [[nodiscard]] Lane& there() { return there_; }
  [[nodiscard]] Lane& back() { return back_; }

 private:
  static std::size_t checked(std::size_t capacity) {
    PLNET_CHECK(capacity > 0, "a duplex holds at least one object");
    return capacity;
  }

  const std::size_t capacity_;
  const std::unique_ptr<duplex::Line[]> lines_;
  Lane there_;
  Lane back_;
};

}  // namespace plnet
