// SPDX-License-Identifier: BSD-3-Clause
#include "lib/runtime/admin/event_loop.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <system_error>

#include <fmt/format.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>

#include "lib/base/check.hpp"

namespace plnet::runtime {
namespace {

// Events taken from the kernel in one round; more wait for the next round.
constexpr std::size_t kEventsPerRound = 64;
// The longest wait of an idle loop; it only bounds the arithmetic.
constexpr Duration kWaitMax = std::chrono::hours(1);

std::unexpected<Error> system_failure(const char* doing) {
  const int number = errno;
  return failure(errc_of_errno(number), fmt::format("event loop: cannot {}: {}", doing,
                                                    std::generic_category().message(number)));
}

}  // namespace

Outcome<std::unique_ptr<EventLoop>> EventLoop::create(const Clock& clock) {
  std::unique_ptr<EventLoop> loop(new EventLoop(clock));
  if (auto opened = loop->open(); !opened) return std::unexpected(std::move(opened.error()));
  return loop;
}

Outcome<void> EventLoop::open() {
  epoll_ = Descriptor(::epoll_create1(EPOLL_CLOEXEC));
  if (!epoll_.valid()) return system_failure("create an epoll set");
  wake_ = Descriptor(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
  if (!wake_.valid()) return system_failure("create an eventfd");
  return add(wake_.get(), EPOLLIN, [this](std::uint32_t) {
    std::uint64_t count = 0;
    [[maybe_unused]] const auto got = ::read(wake_.get(), &count, sizeof count);
  });
}

Outcome<void> EventLoop::add(int descriptor, std::uint32_t events, DescriptorHandler handler) {
  PLNET_CHECK(!watch_of_.contains(descriptor), "a descriptor is watched once");
  epoll_event event{};
  event.events = events;
  event.data.u64 = next_watch_;
  if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, descriptor, &event) != 0) {
    return system_failure("watch a descriptor");
  }
  watches_.emplace(next_watch_, std::make_shared<Watch>(Watch{descriptor, std::move(handler)}));
  watch_of_.emplace(descriptor, next_watch_++);
  return {};
}

Outcome<void> EventLoop::modify(int descriptor, std::uint32_t events) {
  const auto found = watch_of_.find(descriptor);
  PLNET_CHECK(found != watch_of_.end(), "only a watched descriptor can change");
  epoll_event event{};
  event.events = events;
  event.data.u64 = found->second;
  if (::epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, descriptor, &event) != 0) {
    return system_failure("change the events of a descriptor");
  }
  return {};
}

void EventLoop::remove(int descriptor) {
  const auto found = watch_of_.find(descriptor);
  if (found == watch_of_.end()) return;
  ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, descriptor, nullptr);
  watches_.erase(found->second);
  watch_of_.erase(found);
}

EventLoop::TimerId EventLoop::add_timer(Duration first, Duration period, TimerHandler handler) {
  const TimerId id{next_timer_++};
  timers_.emplace(clock_.now() + first, Timer{id, period, std::move(handler)});
  return id;
}

void EventLoop::cancel_timer(TimerId id) {
  if (id == running_timer_) running_cancelled_ = true;
  const auto found =
      std::ranges::find_if(timers_, [id](const auto& entry) { return entry.second.id == id; });
  if (found != timers_.end()) timers_.erase(found);
}

Outcome<void> EventLoop::watch_signals(std::span<const int> signals, SignalHandler handler) {
  PLNET_CHECK(!signals_.valid(), "signals are watched once");
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : signals)
    sigaddset(&set, signal);
  if (const int error = pthread_sigmask(SIG_BLOCK, &set, nullptr); error != 0) {
    errno = error;
    return system_failure("block signals");
  }
  signals_ = Descriptor(::signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC));
  if (!signals_.valid()) return system_failure("create a signalfd");
  return add(signals_.get(), EPOLLIN,
             [this, handler = std::move(handler)](std::uint32_t) { read_signals(handler); });
}

void EventLoop::read_signals(const SignalHandler& handler) {
  signalfd_siginfo info{};
  while (::read(signals_.get(), &info, sizeof info) == static_cast<ssize_t>(sizeof info)) {
    handler(static_cast<int>(info.ssi_signo));
  }
}

bool EventLoop::post(Call call) {
  {
    const std::lock_guard lock(calls_mutex_);
    if (calls_.size() >= kCallsMax) return false;
    calls_.push_back(std::move(call));
  }
  wake();
  return true;
}

void EventLoop::stop() {
  stopping_.store(true, std::memory_order_release);
  wake();
}

void EventLoop::wake() {
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto put = ::write(wake_.get(), &one, sizeof one);
}

void EventLoop::run() {
  while (!stopping_.load(std::memory_order_acquire))
    run_once(kWaitMax);
  stopping_.store(false, std::memory_order_relaxed);
}

int EventLoop::wait_ms(Duration wait_max) const {
  Duration wait = std::min(wait_max, kWaitMax);
  if (!timers_.empty()) wait = std::min(wait, timers_.begin()->first - clock_.now());
  if (wait <= Duration::zero()) return 0;
  // Rounded up: a timer that is not due yet must not make the loop spin.
  return static_cast<int>(std::chrono::ceil<std::chrono::milliseconds>(wait).count());
}

unsigned EventLoop::run_once(Duration wait_max) {
  std::array<epoll_event, kEventsPerRound> events{};
  const int ready =
      ::epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()), wait_ms(wait_max));
  PLNET_CHECK(ready >= 0 || errno == EINTR, "epoll_wait() on a valid set only fails by EINTR");
  unsigned handled = 0;
  for (int i = 0; i < ready; ++i) {
    const epoll_event& event = events[static_cast<std::size_t>(i)];
    const std::uint64_t key = event.data.u64;  // a copy: the kernel's struct is packed
    const auto found = watches_.find(key);
    if (found == watches_.end()) continue;
    const std::shared_ptr<Watch> watch = found->second;  // survives its own removal
    watch->handler(event.events);
    if (watch->descriptor != wake_.get()) ++handled;
    if (stopping_.load(std::memory_order_acquire)) return handled;
  }
  handled += run_calls();
  handled += run_timers();
  return handled;
}

unsigned EventLoop::run_calls() {
  std::vector<Call> calls;
  {
    const std::lock_guard lock(calls_mutex_);
    calls.swap(calls_);
  }
  for (const Call& call : calls)
    call();
  return static_cast<unsigned>(calls.size());
}

unsigned EventLoop::run_timers() {
  // Timers that are due now only: a handler that adds a timer of zero does not keep the loop here.
  const Instant now = clock_.now();
  const std::uint64_t newest = next_timer_;
  unsigned fired = 0;
  while (!timers_.empty() && timers_.begin()->first <= now) {
    const auto next = std::ranges::find_if(timers_, [newest](const auto& entry) {
      return static_cast<std::uint64_t>(entry.second.id) < newest;
    });
    if (next == timers_.end() || next->first > now) break;
    Timer timer = std::move(next->second);
    const Instant due = next->first;
    timers_.erase(next);
    running_timer_ = timer.id;
    running_cancelled_ = false;
    timer.handler();
    ++fired;
    running_timer_ = TimerId::kNone;
    if (timer.period > Duration::zero() && !running_cancelled_) {
      timers_.emplace(std::max(due + timer.period, now + Duration{1}), std::move(timer));
    }
  }
  return fired;
}

}  // namespace plnet::runtime
