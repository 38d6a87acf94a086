// SPDX-License-Identifier: BSD-3-Clause
// The simulator's heart: a clock that only this loop moves and a queue of events ordered by time.
// Everything that happens in a simulated cluster is an event here, so a run is a pure function of
// seed, shape and inputs, and the digest of all events tells whether two runs were the same.
#pragma once

#include <cstdint>
#include <vector>

#include "lib/base/check.hpp"
#include "lib/base/clock.hpp"
#include "lib/base/random.hpp"

namespace plnet::drivers {

// What is called when an event is due. An event is a sink and one word for it: nothing is allocated
// for each event, and a sink packs into the word what it needs to find its object.
class EventSink {
 public:
  virtual void on_event(std::uint64_t word) = 0;

 protected:
  ~EventSink() = default;
};

struct EventId {
  std::uint32_t slot = ~0U;
  std::uint32_t generation = 0;

  friend bool operator==(const EventId&, const EventId&) = default;
};

// Which of several events at one instant goes first.
enum class TieBreak : std::uint8_t {
  kSequence,  // the one that was scheduled first
  kDrawn,     // whichever the seed says: finds code that relies on an order nobody promised
};

enum class RunEnd : std::uint8_t {
  kIdle,        // no event is left
  kTime,        // the next event lies behind the time asked for
  kEventLimit,  // the bound on events was hit: a livelock, or the bound is too small
  kStuck,       // too many events at one instant: time no longer moves
};

struct RunResult {
  RunEnd end = RunEnd::kIdle;
  std::uint64_t events = 0;
};

struct LoopLimits {
  // Of one run_…() call. Ten minutes' worth at a million events a second.
  std::uint64_t events_per_run = 600'000'000;
  // Without time moving. 10 000 nodes may well do something at the same instant, a hundred times.
  std::uint64_t events_per_instant = 1'000'000;
};

class EventLoop {
 public:
  explicit EventLoop(std::uint64_t seed, TieBreak tie_break = TieBreak::kDrawn,
                     const LoopLimits& limits = {});
  EventLoop(const EventLoop&) = delete;
  EventLoop& operator=(const EventLoop&) = delete;

  [[nodiscard]] const Clock& clock() const { return clock_; }
  [[nodiscard]] Instant now() const { return clock_.now(); }

  // A moment that has passed already means now. The sink outlives the event or cancels it.
  EventId schedule(Instant when, EventSink& sink, std::uint64_t word);
  EventId schedule_in(Duration delay, EventSink& sink, std::uint64_t word) {
    return schedule(now() + delay, sink, word);
  }
  // False if it has run or was cancelled before.
  bool cancel(EventId id);

  // Runs the next event; false if there is none.
  bool step();
  RunResult run_until_idle();
  // Runs all that is due up to and including `when`; the clock then stands at `when` unless a limit
  // ended the run.
  RunResult run_until(Instant when);
  RunResult run_for(Duration span) { return run_until(now() + span); }

  // The moment of the next event, Instant::max() if there is none.
  [[nodiscard]] Instant next() const;
  [[nodiscard]] std::size_t pending() const { return heap_.size() - cancelled_; }
  [[nodiscard]] std::uint64_t events_run() const { return events_run_; }

  // Folds a fact into the digest: which bytes arrived, which message was lost.
  void note(std::uint64_t fact) { digest_ = (digest_ ^ fact) * kDigestFactor + (digest_ >> 29U); }
  // Same seed, shape and inputs: same digest. Any difference in order or time shows in it.
  [[nodiscard]] std::uint64_t digest() const { return digest_; }

 private:
  // Sixteen bytes, so that the four children of a heap node share a cache line. `order` is the tie
  // break above the slot's index: that makes every key unique and the order of events total.
  struct Key {
    std::int64_t time = 0;
    std::uint64_t order = 0;

    [[nodiscard]] bool before(const Key& other) const {
      return time != other.time ? time < other.time : order < other.order;
    }
  };
  struct Slot {
    EventSink* sink = nullptr;  // null: free or cancelled
    std::uint64_t word = 0;
    std::uint32_t generation = 0;
    std::uint32_t next_free = kNoSlot;
  };

  static constexpr unsigned kSlotBits = 24;  // 16 Mi pending events, 640 MiB of them
  static constexpr std::uint32_t kNoSlot = ~0U;
  static constexpr std::uint64_t kSlotMask = (1ULL << kSlotBits) - 1;
  static constexpr std::size_t kArity = 4;
  static constexpr std::size_t kCompactionMin = 4096;  // below that cancelled events cost nothing
  static constexpr std::uint64_t kDigestFactor = 0x9e37'79b9'7f4a'7c15ULL;

  [[nodiscard]] std::uint32_t take_slot();
  void free_slot(std::uint32_t index);
  void push_key(const Key& key);
  void pop_key();
  void sift_down(std::size_t hole, const Key& key);
  void drop_cancelled_heads();
  void compact();
  RunResult run(Instant until, bool has_end);
  void run_head();

  ManualClock clock_;
  LoopLimits limits_;
  TieBreak tie_break_;
  Random random_;
  std::vector<Key> heap_;
  std::vector<Slot> slots_;
  std::uint32_t first_free_ = kNoSlot;
  std::size_t cancelled_ = 0;
  std::uint64_t sequence_ = 0;
  std::uint64_t events_run_ = 0;
  std::uint64_t events_this_instant_ = 0;
  std::uint64_t digest_ = kDigestFactor;
};

}  // namespace plnet::drivers
