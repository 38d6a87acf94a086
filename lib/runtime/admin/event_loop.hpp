// SPDX-License-Identifier: BSD-3-Clause
// The admin thread: descriptors, timers, signals and calls from other threads, one at a time, on
// the only thread that may block. Pollers may use post(), rarely, and nothing else.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include <sys/epoll.h>

#include "lib/base/clock.hpp"
#include "lib/base/result.hpp"
#include "lib/runtime/admin/descriptor.hpp"

namespace plnet::runtime {

// Handlers run on the thread that runs the loop, may add and remove anything including themselves,
// and must not throw. Everything not marked otherwise is for that thread only.
class EventLoop {
 public:
  using DescriptorHandler = std::function<void(std::uint32_t events)>;
  using TimerHandler = std::function<void()>;
  using SignalHandler = std::function<void(int signal)>;
  using Call = std::function<void()>;
  enum class TimerId : std::uint64_t { kNone = 0 };

  // Limit of waiting calls from other threads. More indicate a bug or an attack and are refused.
  static constexpr std::size_t kCallsMax = 4096;

  // `clock` must be monotonic and outlive the loop; timers are measured on it.
  [[nodiscard]] static Outcome<std::unique_ptr<EventLoop>> create(const Clock& clock);

  EventLoop(const EventLoop&) = delete;
  EventLoop& operator=(const EventLoop&) = delete;

  // `events` are epoll's (EPOLLIN …), level-triggered. The loop does not own the descriptor: remove
  // it before it is closed.
  [[nodiscard]] Outcome<void> add(int descriptor, std::uint32_t events, DescriptorHandler handler);
  [[nodiscard]] Outcome<void> modify(int descriptor, std::uint32_t events);
  void remove(int descriptor);

  // Fires once after `first`, then every `period` if that is positive. A loop that is late fires a
  // periodic timer once, not once per missed period.
  TimerId add_timer(Duration first, Duration period, TimerHandler handler);
  // Unknown or finished timers are fine.
  void cancel_timer(TimerId id);

  // Blocks the signals in the calling thread. Call it before other threads start: they inherit the
  // mask, so that signals never interrupt pollers. May be called once.
  [[nodiscard]] Outcome<void> watch_signals(std::span<const int> signals, SignalHandler handler);

  // Any thread. Runs `call` in the loop soon; false if too many wait already.
  [[nodiscard]] bool post(Call call);
  // Any thread. run() returns after the handler that is running, if any.
  void stop();

  void run();
  // One round: waits at most `wait_max` (less if a timer is due) and handles what is ready. Returns
  // the number of handlers called.
  unsigned run_once(Duration wait_max);

  [[nodiscard]] Instant now() const { return clock_.now(); }

 private:
  struct Watch {
    int descriptor = -1;
    DescriptorHandler handler;
  };
  struct Timer {
    TimerId id = TimerId::kNone;
    Duration period{};
    TimerHandler handler;
  };

  explicit EventLoop(const Clock& clock) : clock_(clock) {}
  [[nodiscard]] Outcome<void> open();
  [[nodiscard]] int wait_ms(Duration wait_max) const;
  unsigned run_timers();
  unsigned run_calls();
  void read_signals(const SignalHandler& handler);
  void wake();

  const Clock& clock_;
  Descriptor epoll_;
  Descriptor wake_;
  Descriptor signals_;
  std::uint64_t next_watch_ = 1;
  std::uint64_t next_timer_ = 1;
  // Keyed by a number that is never reused: an event for a descriptor removed earlier in the same
  // round finds nothing, even if the descriptor's number is in use again.
  std::map<std::uint64_t, std::shared_ptr<Watch>> watches_;
  std::map<int, std::uint64_t> watch_of_;
  std::multimap<Instant, Timer> timers_;
  TimerId running_timer_ = TimerId::kNone;
  bool running_cancelled_ = false;
  std::atomic<bool> stopping_{false};
  std::mutex calls_mutex_;
  std::vector<Call> calls_;
};

}  // namespace plnet::runtime
