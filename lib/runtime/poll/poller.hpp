// SPDX-License-Identifier: BSD-3-Clause
// The loop of one shard: polls its devices in turn, runs orders of the admin thread between turns,
// and idles as its policy says. Nothing else runs on the shard's CPU.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/clock.hpp"
#include "lib/base/pollable.hpp"
#include "lib/base/relaxed.hpp"
#include "lib/base/result.hpp"
#include "lib/runtime/poll/command.hpp"
#include "lib/runtime/poll/event_doorbell.hpp"
#include "lib/runtime/poll/idle.hpp"
#include "lib/runtime/poll/latest.hpp"
#include "lib/runtime/poll/poller_counters.hpp"
#include "lib/runtime/poll/sleeper.hpp"

namespace plnet::runtime {

// Tells a table of readers (QSBR) that the poller holds no reference to shared data.
class QuiescenceHook {
 public:
  virtual ~QuiescenceHook() = default;
  virtual void quiescent() = 0;  // hot: once a turn
  virtual void online() = 0;     // before the first turn, and after each sleep
  virtual void offline() = 0;    // before each sleep, and after the last turn
};

struct PollerOptions {
  std::string name;                      // a short noun for lnetctl, such as "shard 3"
  unsigned shard = 0;                    // its number in the plan
  IdlePolicy idle = IdlePolicy::kSleep;  // a concrete one, not kAuto
  Duration turn_limit = std::chrono::milliseconds(1);  // longer turns are counted; zero: none
  // Idle time until a sleeper sleeps: long enough that a conversation with a peer on the same
  // network does not pay for a wake-up (20 us) at every message.
  Duration sleep_after = std::chrono::microseconds(100);
};

// Its padding keeps data of other threads off the lines that the shard writes.
// NOLINTNEXTLINE(clang-analyzer-optin.performance.Padding)
class Poller {
 public:
  // The longest list of a present node is three LNDs with a few devices each; more would make an
  // empty turn slow.
  static constexpr std::size_t kPollablesMax = SleepPlan::kDescriptorsMax - 1;
  // A device without a wake-up adds this much latency when the shard naps; naps double from the
  // first to the second while nothing happens.
  static constexpr Duration kNapShortest = std::chrono::microseconds(50);
  static constexpr Duration kNapLongest = std::chrono::milliseconds(1);
  // Between two readings of the thread's resource usage, a system call.
  static constexpr Duration kUsagePeriod = std::chrono::seconds(1);

  // `hook` may be null: no shared data to free. Both outlive the poller.
  Poller(const Clock& clock, PollerOptions options, QuiescenceHook* hook = nullptr);
  Poller(const Poller&) = delete;
  Poller& operator=(const Poller&) = delete;

  // Before run(), or from a command: the list belongs to the shard. add fails with kNoSpace when
  // the list is full and kExists for a second entry; the pollable outlives its entry in the list.
  [[nodiscard]] Result<void> add_owner(Pollable& pollable);
  // kNotFound if it is not in the list.
  [[nodiscard]] Result<void> remove_owner(Pollable& pollable);
  [[nodiscard]] std::span<Pollable* const> pollables_owner() const {
    return {pollables_.data(), pollable_count_};
  }

  // The shard's thread: turns until `stop` is true. The thread that sets it then calls wake().
  void run(const std::atomic<bool>& stop);

  // For tests and the simulator: one turn at `now`, without the idle policy. Returns the pieces of
  // work found.
  unsigned turn(Instant now);
  // For tests: a turn and then idling by the policy, which may sleep unless `stop` is true.
  void step(const std::atomic<bool>& stop);

  // Any thread.
  void wake() { doorbell_.ring(); }
  [[nodiscard]] EventDoorbell& doorbell() { return doorbell_; }
  [[nodiscard]] const PollerCounters& counters() const { return counters_; }
  [[nodiscard]] std::string_view name() const { return options_.name; }
  [[nodiscard]] unsigned shard() const { return options_.shard; }
  // Live settings.
  void set_idle_policy(IdlePolicy policy);
  [[nodiscard]] IdlePolicy idle_policy() const { return idle_.load(std::memory_order_relaxed); }
  void set_turn_limit(Duration limit) { turn_limit_.store(limit, std::memory_order_relaxed); }
  [[nodiscard]] Duration turn_limit() const { return turn_limit_.load(std::memory_order_relaxed); }

  // Admin thread: the names of the shard's pollables, in order, as of the last change of the list.
  [[nodiscard]] std::vector<std::string> pollable_names();

  // Admin thread: orders for this shard.
  [[nodiscard]] CommandChannel& commands() { return commands_; }
  [[nodiscard]] const CommandChannel& commands() const { return commands_; }

  // For code that counts on behalf of this shard (hops, messages), and to reset the high water.
  [[nodiscard]] PollerCounters& counters_owner() { return counters_; }
  void reset_high_water_owner() {
    counters_.set(PollerCounter::kLongestTurnNsec, 0);
    long_turns_before_.set(counters_.get(PollerCounter::kLongTurns));
  }
  // Turns over the limit since the last reset; the counter itself never decreases.
  [[nodiscard]] std::uint64_t long_turns() const {
    return counters_.get(PollerCounter::kLongTurns) - long_turns_before_.get();
  }

 private:
  void publish_names();
  void settle(Instant now);
  void idle(const std::atomic<bool>& stop);
  void pause();
  void yield();
  void sleep(const std::atomic<bool>& stop);
  void count_wake(WakeCause cause);
  void sample_usage(Instant now);

  const Clock& clock_;
  const PollerOptions options_;
  QuiescenceHook* const hook_;
  EventDoorbell doorbell_;
  CommandChannel commands_;

  std::array<Pollable*, kPollablesMax> pollables_{};
  std::size_t pollable_count_ = 0;

  // The turn that is under way or, between turns, the last one: accounted for when the next begins,
  // so that one clock reading per turn is enough.
  bool open_ = false;
  Instant opened_at_{};
  unsigned open_work_ = 0;

  Instant worked_at_{};  // start of the last turn with work, or the last check of `sleep`
  unsigned pauses_ = 1;
  Duration nap_ = kNapShortest;
  Instant usage_due_{};
  std::uint64_t switches_seen_ = 0;
  bool usage_known_ = false;

  // Written by other threads, away from data that the shard writes.
  alignas(kNoSharing) std::atomic<IdlePolicy> idle_;
  std::atomic<Duration> turn_limit_;
  Latest<std::vector<std::string>> names_;

  PollerCounters counters_;
  Relaxed<std::uint64_t> long_turns_before_{0};
};

}  // namespace plnet::runtime
