// SPDX-License-Identifier: BSD-3-Clause
// The cost of a timer among many: started, then cancelled or expired.
#include <cstdint>
#include <deque>
#include <vector>

#include "bench/harness/harness.hpp"
#include "lib/base/random.hpp"
#include "lib/base/timer_wheel.hpp"

namespace plnet::bench {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kTimers = 4096;
constexpr std::size_t kBatch = 64;

void on_timer(void* context, Timer& /*timer*/, Instant /*now*/) {
  ++*static_cast<std::uint64_t*>(context);
}

// Each operation is a start, a cancel or an expiry, each counted once. Time passes at a rate at
// which about half of the timers are cancelled before they expire.
void timer_op(benchmark::State& state) {
  TimerWheel wheel(Instant{}, 1ms);
  std::uint64_t expired = 0;
  std::deque<Timer> timers;
  for (std::size_t i = 0; i < kTimers; ++i)
    timers.emplace_back(on_timer, &expired);
  Random random(1);
  std::vector<Duration> delays(8192);
  for (auto& delay : delays)
    delay = Duration(static_cast<std::int64_t>(random.below(10'000'000'000)));
  Instant now{};
  std::size_t next = 0;
  std::uint64_t expired_before = 0;
  std::uint64_t operations = 0;
  // A batch counts the operations done in it, so expiries are included.
  while (state.KeepRunningBatch(kBatch)) {
    operations = expired - expired_before;
    expired_before = expired;
    while (operations < kBatch) {
      Timer& timer = timers[next % kTimers];
      if (timer.running()) {
        wheel.cancel(timer);
        ++operations;
      }
      wheel.start(timer, now + delays[next % delays.size()]);
      ++operations;
      ++next;
    }
    now += 40ms;
    while (wheel.advance(now) == TimerWheel::kBudget) {
    }
  }
  state.counters["expired_share"] =
      static_cast<double>(expired) / static_cast<double>(state.iterations());
  for (auto& timer : timers)
    wheel.cancel(timer);
}

}  // namespace

void add_benchmarks(Suite& suite) {
  suite.push_back({.name = "base.timer.op",
                   .what = "one operation of a mix of starts, cancels and expiries, 4096 timers",
                   .bar = Bar{.limit = 50},
                   .value = timer_op});
}

}  // namespace plnet::bench
