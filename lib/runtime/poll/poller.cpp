// SPDX-License-Identifier: BSD-3-Clause
#include "lib/runtime/poll/poller.hpp"

#include <algorithm>
#include <memory>
#include <utility>

#include <sched.h>
#include <sys/resource.h>

#include "lib/base/check.hpp"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace plnet::runtime {
namespace {

// About a microsecond of pauses on x86 since Skylake (140 cycles each): short against a wake-up.
constexpr unsigned kPausesMax = 16;

void pause_cpu() {
#if defined(__x86_64__)
  _mm_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

std::uint64_t involuntary_switches() {
  rusage usage{};
  if (::getrusage(RUSAGE_THREAD, &usage) != 0) return 0;
  return static_cast<std::uint64_t>(usage.ru_nivcsw);
}

std::uint64_t nsec(Duration duration) {
  return static_cast<std::uint64_t>(std::max(duration, Duration::zero()).count());
}

}  // namespace

Poller::Poller(const Clock& clock, PollerOptions options, QuiescenceHook* hook)
    : clock_(clock),
      options_(std::move(options)),
      hook_(hook),
      commands_(clock, doorbell_),
      idle_(options_.idle),
      turn_limit_(options_.turn_limit) {
  PLNET_CHECK(options_.idle != IdlePolicy::kAuto, "choose_idle_policy() comes first");
}

Result<void> Poller::add_owner(Pollable& pollable) {
  if (std::ranges::find(pollables_owner(), &pollable) != pollables_owner().end())
    return std::unexpected(Errc::kExists);
  if (pollable_count_ == kPollablesMax) return std::unexpected(Errc::kNoSpace);
  pollables_[pollable_count_++] = &pollable;
  publish_names();
  return {};
}

Result<void> Poller::remove_owner(Pollable& pollable) {
  const auto end = pollables_.begin() + static_cast<std::ptrdiff_t>(pollable_count_);
  const auto place = std::find(pollables_.begin(), end, &pollable);
  if (place == end) return std::unexpected(Errc::kNotFound);
  std::copy(place + 1, end, place);  // the order of the others stays
  pollables_[--pollable_count_] = nullptr;
  publish_names();
  return {};
}

// Copies, since a pollable may be destroyed as soon as it is out of the list. Allocates: lists
// change seldom.
void Poller::publish_names() {
  auto names = std::make_unique<std::vector<std::string>>();
  for (const Pollable* pollable : pollables_owner())
    names->emplace_back(pollable->name());
  names_.publish(std::move(names));
}

std::vector<std::string> Poller::pollable_names() {
  const auto* const names = names_.read();
  return names == nullptr ? std::vector<std::string>{} : *names;
}

void Poller::set_idle_policy(IdlePolicy policy) {
  PLNET_CHECK(policy != IdlePolicy::kAuto, "choose_idle_policy() comes first");
  idle_.store(policy, std::memory_order_relaxed);
  wake();
}

void Poller::run(const std::atomic<bool>& stop) {
  if (hook_ != nullptr) hook_->online();
  open_ = false;
  worked_at_ = clock_.now();
  while (!stop.load(std::memory_order_relaxed))
    step(stop);
  // Orders given before the end are carried out.
  counters_.add(PollerCounter::kCommands, commands_.run_pending_owner());
  settle(clock_.now());
  open_ = false;
  if (hook_ != nullptr) hook_->offline();
}

unsigned Poller::turn(Instant now) {
  settle(now);
  unsigned work = 0;
  const unsigned commands = commands_.run_pending_owner();
  for (std::size_t i = 0; i < pollable_count_; ++i)
    work += pollables_[i]->poll(now);
  counters_.add(PollerCounter::kTurns);
  if (work > 0) {
    counters_.add(PollerCounter::kTurnsWithWork);
    counters_.add(PollerCounter::kWork, work);
  }
  if (commands > 0) counters_.add(PollerCounter::kCommands, commands);
  if (work + commands > 0) worked_at_ = now;
  if (hook_ != nullptr) hook_->quiescent();
  open_ = true;
  opened_at_ = now;
  open_work_ = work + commands;
  return work;
}

void Poller::step(const std::atomic<bool>& stop) {
  const Instant now = clock_.now();
  turn(now);
  if (now >= usage_due_) sample_usage(now);
  if (open_work_ > 0) {
    pauses_ = 1;
    nap_ = kNapShortest;
  } else {
    idle(stop);
  }
}

// Accounts for the last turn.
void Poller::settle(Instant now) {
  if (!open_) return;
  const std::uint64_t length = nsec(now - opened_at_);
  counters_.add(open_work_ > 0 ? PollerCounter::kBusyNsec : PollerCounter::kIdleNsec, length);
  counters_.raise_to(PollerCounter::kLongestTurnNsec, length);
  const Duration limit = turn_limit();
  if (limit > Duration::zero() && length > nsec(limit)) counters_.add(PollerCounter::kLongTurns);
}

void Poller::idle(const std::atomic<bool>& stop) {
  switch (idle_policy()) {
    case IdlePolicy::kAuto:
    case IdlePolicy::kBusy: return;
    case IdlePolicy::kPause: pause(); return;
    case IdlePolicy::kYield: yield(); return;
    case IdlePolicy::kSleep:
      if (opened_at_ - worked_at_ >= options_.sleep_after) {
        sleep(stop);
      } else {
        pause_cpu();
      }
      return;
  }
}

void Poller::pause() {
  for (unsigned i = 0; i < pauses_; ++i)
    pause_cpu();
  pauses_ = std::min(pauses_ * 2, kPausesMax);
}

// The time of other threads is idle time, but not part of a turn.
void Poller::yield() {
  const Instant before = clock_.now();
  settle(before);
  open_ = false;
  ::sched_yield();
  counters_.add(PollerCounter::kIdleNsec, nsec(clock_.now() - before));
}

void Poller::sleep(const std::atomic<bool>& stop) {
  // Arm first, then look once more: producers that push after that look ring.
  if (!doorbell_.arm()) {
    counters_.add(PollerCounter::kSleepsRefused);
    worked_at_ = clock_.now();  // tries again after sleep_after, not at every turn
    return;
  }
  const Instant looked = clock_.now();
  if (turn(looked) > 0 || open_work_ > 0 || stop.load(std::memory_order_relaxed)) {
    doorbell_.disarm();
    return;
  }
  SleepPlan plan = plan_sleep(doorbell_, pollables_owner());
  const Instant before = clock_.now();
  if (plan.deadline <= before) {
    doorbell_.disarm();
    return;
  }
  Duration longest = plan.deadline == Instant::max() ? Duration::max() : plan.deadline - before;
  const bool nap = plan.must_nap && nap_ < longest;
  if (nap) longest = nap_;

  settle(before);
  open_ = false;
  if (hook_ != nullptr) hook_->offline();
  const WakeCause cause = sleep_until_woken(plan, longest);
  if (hook_ != nullptr) hook_->online();
  doorbell_.disarm();
  if (cause == WakeCause::kDoorbell) doorbell_.clear();

  counters_.add(PollerCounter::kAsleepNsec, nsec(clock_.now() - before));
  counters_.add(nap ? PollerCounter::kNaps : PollerCounter::kSleeps);
  if (nap) nap_ = std::min(nap_ * 2, kNapLongest);
  if (!nap || cause != WakeCause::kTimer) count_wake(cause);
  // A shard that napped naps again after one empty turn; one that was woken polls for longer.
  if (cause == WakeCause::kDoorbell || cause == WakeCause::kDescriptor) worked_at_ = clock_.now();
}

void Poller::count_wake(WakeCause cause) {
  switch (cause) {
    case WakeCause::kDoorbell: counters_.add(PollerCounter::kWakesByDoorbell); return;
    case WakeCause::kDescriptor: counters_.add(PollerCounter::kWakesByDescriptor); return;
    case WakeCause::kTimer: counters_.add(PollerCounter::kWakesByTimer); return;
    case WakeCause::kSignal: return;  // not meant for the poller
  }
}

void Poller::sample_usage(Instant now) {
  usage_due_ = now + kUsagePeriod;
  const std::uint64_t switches = involuntary_switches();
  if (usage_known_ && switches > switches_seen_)
    counters_.add(PollerCounter::kInvoluntarySwitches, switches - switches_seen_);
  switches_seen_ = switches;
  usage_known_ = true;
}

}  // namespace plnet::runtime
