// SPDX-License-Identifier: BSD-3-Clause
// The core of the simulator: a clock that only this loop moves and a queue of events ordered by
// time. All actions in a simulated cluster are events here, so a run is a pure function of seed,
// shape and inputs, and the digest of all events tells whether two runs were the same.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "lib/base/check.hpp"
#include "lib/base/clock.hpp"
#include "lib/base/random.hpp"

namespace plnet::drivers {

// The receiver of events. An event is a sink and one word for it: nothing is allocated for an
// event, and the sink packs into the word the name of its object.
class EventSink {
 public:
  virtual void on_event(std::uint64_t word) = 0;
  // A hint that on_event(word) follows in a few events: fetches its data into the cache. It comes
  // in steps: a step may follow pointers that the previous step has fetched. Each step may be left
  // out, the event may be cancelled after it, and no result may depend on it.
  virtual void on_event_soon(std::uint64_t /*word*/, unsigned /*step*/) const {}

 protected:
  ~EventSink() = default;
};

struct EventId {
  std::uint32_t slot = ~0U;
  std::uint32_t generation = 0;

  friend bool operator==(const EventId&, const EventId&) = default;
};

// The order of events at the same instant.
enum class TieBreak : std::uint8_t {
  kSequence,  // in the order of scheduling
  kDrawn,     // drawn from the seed: finds code that relies on an order without a guarantee
};

enum class RunEnd : std::uint8_t {
  kIdle,        // no event is left
  kTime,        // the next event is later than the given time
  kEventLimit,  // the bound on events was hit: a livelock, or the bound is too small
  kStuck,       // too many events at one instant: time no longer moves
};

struct RunResult {
  RunEnd end = RunEnd::kIdle;
  std::uint64_t events = 0;
};

struct LoopLimits {
  // For one run_…() call: ten minutes at a million events a second.
  std::uint64_t events_per_run = 600'000'000;
  // Events without a move of the clock: 10 000 nodes may act at the same instant, a hundred times.
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

  // A time in the past means now. The sink outlives the event or cancels it.
  EventId schedule(Instant when, EventSink& sink, std::uint64_t word);
  EventId schedule_in(Duration delay, EventSink& sink, std::uint64_t word) {
    return schedule(now() + delay, sink, word);
  }
  // False: it has run or was cancelled before.
  bool cancel(EventId id);

  // Runs the next event; false: there is none.
  bool step();
  RunResult run_until_idle();
  // Runs all events up to and including `when`; the clock is at `when` afterwards unless a limit
  // ended the run.
  RunResult run_until(Instant when);
  RunResult run_for(Duration span) { return run_until(now() + span); }

  // The time of the next event, Instant::max() if there is none. May be too early after a cancel(),
  // never too late: the caller looks again.
  [[nodiscard]] Instant next() const;
  [[nodiscard]] std::size_t pending() const { return pending_; }
  [[nodiscard]] std::uint64_t events_run() const { return events_run_; }

  // Adds a fact to the digest: bytes that arrived, a message that was lost.
  void note(std::uint64_t fact) { digest_ = (digest_ ^ fact) * kDigestFactor + (digest_ >> 29U); }
  // The same seed, shape and inputs give the same digest. Any difference in order or time changes
  // it.
  [[nodiscard]] std::uint64_t digest() const { return digest_; }

 private:
  // Sixteen bytes, so that four of them share a cache line. `order` is the tie break above the
  // slot's index, which makes each key unique and the order of events total.
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
    Key key;
    std::uint32_t generation = 0;
    std::uint32_t next = kNoSlot;  // in its bucket, or in the free list
    // In its bucket. The first one has the bucket's number with kFirst, a due one kDue.
    std::uint32_t previous = kNoSlot;
  };

  // The wheel. Events that are not due wait, unsorted, in a bucket: on the level of the highest
  // digit in which their tick differs from the wheel's, in the bucket of that digit. The wheel goes
  // from bucket to bucket and skips empty ones; a bucket of level 0 is sorted when its tick has
  // come, one of a higher level is dealt out to the lower ones. So an event costs a few stores for
  // any number of events. While there are only a few, the wheel stays empty: a heap is faster.
  static constexpr unsigned kTickBits = 4;    // 16 ns: some dozen events of a site of thousands
  static constexpr unsigned kDigitBits = 10;  // 16 us: few arrivals wait on another level
  static constexpr unsigned kBuckets = 1U << kDigitBits;  // of a level
  static constexpr unsigned kLevels = (63 - kTickBits + kDigitBits - 1) / kDigitBits;
  static constexpr unsigned kWords = kBuckets / 64;
  static_assert(kBuckets % 64 == 0 && kWords <= 32 && kLevels <= 32, "each bucket has its bits");

  static constexpr unsigned kSlotBits = 24;  // 16 Mi pending events, 768 MiB of them
  static constexpr std::uint32_t kNoSlot = ~0U;
  static constexpr std::uint32_t kDue = ~0U;
  static constexpr std::uint32_t kFirst = 1U << 31U;
  static constexpr std::uint64_t kSlotMask = (1ULL << kSlotBits) - 1;
  static_assert(kTickBits + kLevels * kDigitBits >= 63, "each later time has a bucket");
  static constexpr std::size_t kFew = 16;
  static constexpr std::size_t kFirstSlots = 128;  // room that costs less than growing
  static constexpr std::size_t kArity = 4;
  static constexpr std::uint64_t kDigestFactor = 0x9e37'79b9'7f4a'7c15ULL;
  // The distance, in events, at which data is fetched: first the slot, then the sink, then the data
  // of the sink.
  static constexpr std::size_t kSlotAhead = 20;
  static constexpr std::size_t kSinkAhead = 16;
  static constexpr std::array<std::size_t, 3> kStepsAhead{12, 8, 4};
  static_assert(kStepsAhead[2] < kStepsAhead[1] && kStepsAhead[1] < kStepsAhead[0] &&
                    kStepsAhead[0] < kSinkAhead && kSinkAhead < kSlotAhead,
                "first the slot of an event is fetched, then its sink, then more");

  [[nodiscard]] std::uint32_t take_slot();
  void free_slot(std::uint32_t index);
  void place(std::uint32_t index);
  void link(std::uint32_t index, unsigned bucket);
  void unlink(const Slot& slot);
  void mark_empty(unsigned bucket);
  [[nodiscard]] unsigned first_bucket() const;
  [[nodiscard]] std::uint64_t start_of(unsigned bucket) const;
  bool fill_due(std::int64_t until);
  [[nodiscard]] const Key* head() const;
  void pop_head();
  void leave_heap();
  void push_late(const Key& key);
  void pop_late();
  [[nodiscard]] bool find_head(std::int64_t until);
  void fetch_ahead();
  RunResult run(Instant until, bool has_end);
  void run_head();

  ManualClock clock_;
  LoopLimits limits_;
  TieBreak tie_break_;
  Random random_;
  std::vector<Slot> slots_;
  std::uint32_t first_free_ = kNoSlot;
  std::uint64_t tick_ = 0;    // all events up to its end are due
  std::vector<Key> due_;      // the events of the tick, sorted
  std::size_t due_next_ = 0;  // the first one that has not run
  std::vector<Key>
      late_;         // a heap: events that came when their tick was due, or while there are few
  bool few_ = true;  // the wheel is empty
  std::vector<Key> leaving_;
  std::uint32_t levels_ = 0;                    // a bit for each level that is not empty
  std::array<std::uint32_t, kLevels> words_{};  // and for each word of their buckets
  std::array<std::uint64_t, std::size_t{kLevels} * kWords> occupied_{};
  std::array<std::uint32_t, std::size_t{kLevels} * kBuckets> buckets_{};
  std::uint32_t fetched_ = kNoSlot;  // the last one fetched of the bucket behind the tick
  std::size_t pending_ = 0;
  std::uint64_t sequence_ = 0;
  std::uint64_t events_run_ = 0;
  std::uint64_t events_this_instant_ = 0;
  std::uint64_t digest_ = kDigestFactor;
};

}  // namespace plnet::drivers
