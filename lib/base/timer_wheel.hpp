// SPDX-License-Identifier: BSD-3-Clause
// Thousands of timers at a few nanoseconds each: start, restart, cancel in O(1), no allocation. One
// owner (a shard). Time is handed in.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "lib/base/clock.hpp"
#include "lib/base/intrusive_list.hpp"

namespace plnet {

// A member of the waiting object. Must not move or be destroyed while it runs; cancel it first.
class Timer : private ListNode<> {
 public:
  using Callback = void (*)(void* context, Timer& timer, Instant now);

  Timer(Callback callback, void* context) : callback_(callback), context_(context) {}
  Timer(const Timer&) = delete;
  Timer& operator=(const Timer&) = delete;

  // A timer that calls object.method(timer, now).
  template <auto Method, class Object>
  [[nodiscard]] static Timer calling(Object& object) {
    return Timer([](void* context, Timer& timer,
                    Instant now) { (static_cast<Object*>(context)->*Method)(timer, now); },
                 &object);
  }

  [[nodiscard]] bool running() const { return linked(); }
  // The deadline as given to start(), not rounded.
  [[nodiscard]] Instant deadline() const { return deadline_; }

 private:
  friend class TimerWheel;
  friend class IntrusiveList<Timer>;

  Callback callback_;
  void* context_;
  Instant deadline_{};
  std::uint64_t expires_ = 0;  // in ticks
  std::uint16_t place_ = 0;    // its list in the wheel
};

// Hierarchical: each level has 64 lists, and each list of a level covers all of the level below. A
// timer lies at the highest digit (base 64) in which its tick differs from the current one. The
// levels cover every tick of an Instant, so no deadline is too far away.
class TimerWheel {
 public:
  // Deadlines are rounded up to ticks that are counted from `start`; at least kTickMin.
  TimerWheel(Instant start, Duration tick);
  // Running timers are dropped without being called.
  ~TimerWheel() = default;
  TimerWheel(const TimerWheel&) = delete;
  TimerWheel& operator=(const TimerWheel&) = delete;

  // (Re)starts the timer. It is called by the first advance() at or after the first tick that is
  // not before the deadline: never early, at most a tick late. A deadline in the past means the
  // next tick.
  void start(Timer& timer, Instant deadline);
  // Returns whether the timer was running; does nothing otherwise.
  bool cancel(Timer& timer);

  // Calls timers that are due at `now`, earlier ticks first. Does at most `budget` pieces of work
  // (a call, or moving a timer down a level) and leaves the rest for the next call. Callbacks may
  // start and cancel any timer, including the one that is called; they must not call advance().
  // Returns the pieces of work done.
  unsigned advance(Instant now, unsigned budget = kBudget);

  // The next instant at which advance() has work: never later than the tick of the earliest
  // deadline, perhaps earlier when timers have to move down. Instant::max() if none runs. In the
  // past if the last advance() left work over.
  [[nodiscard]] Instant next_deadline() const;

  [[nodiscard]] std::size_t running() const { return running_; }
  [[nodiscard]] Duration tick() const { return Duration(tick_); }

  static constexpr Duration kTickMin{1U << 17U};  // 131 us
  // About 10 us of timers, so that a turn of a poller stays well below its limit.
  static constexpr unsigned kBudget = 256;

 private:
  static constexpr unsigned kDigitBits = 6;
  static constexpr unsigned kSlots = 1U << kDigitBits;
  static constexpr unsigned kTickBits = 48;  // the bits of 64 that a tick of kTickMin leaves, and
                                             // one
  static constexpr unsigned kLevels = (kTickBits + kDigitBits - 1) / kDigitBits;
  static constexpr std::uint16_t kNoSlot = 0xffff;  // in due_ or falling_

  using List = IntrusiveList<Timer>;
  struct NextSlot {
    unsigned level = kLevels;  // kLevels: none
    unsigned slot = 0;
    std::uint64_t tick = 0;  // the beginning of the slot
  };

  [[nodiscard]] std::uint64_t tick_of(Instant deadline);
  void place(Timer& timer);
  void leave_slot(Timer& timer);
  [[nodiscard]] NextSlot next_slot() const;
  [[nodiscard]] Instant instant_of(std::uint64_t tick) const;

  const std::int64_t start_ns_;
  const std::int64_t tick_;
  std::uint64_t now_ = 0;  // the tick up to which slots have been emptied
  std::size_t running_ = 0;
  std::uint64_t last_ticks_ = 0;  // the last result of tick_of(), and its end in ns
  std::uint64_t last_end_ = 0;
  List due_;      // to be called, in order
  List falling_;  // to be moved to a lower level
  std::array<std::uint64_t, kLevels> occupied_{};
  std::array<List, std::size_t{kLevels} * kSlots> slots_;
};

}  // namespace plnet
