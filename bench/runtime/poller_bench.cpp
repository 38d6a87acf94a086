// SPDX-License-Identifier: BSD-3-Clause
// The cost of an idle shard, and its latency of waking from sleep.
#include <array>
#include <atomic>
#include <cstdint>
#include <thread>

#include <benchmark/benchmark.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "bench/harness/harness.hpp"
#include "lib/base/ring.hpp"
#include "lib/runtime/poll/poller.hpp"
#include "lib/runtime/poll/tsc_clock.hpp"

namespace plnet::bench {
namespace {

using runtime::IdlePolicy;
using runtime::Poller;
using runtime::TscClock;

// A device with a ring that stays empty: the check that every real device makes.
class QuietDevice final : public Pollable {
 public:
  unsigned poll(Instant) override {
    std::uint64_t object = 0;
    return ring_.pop(object) ? 1 : 0;
  }
  [[nodiscard]] std::string_view name() const override { return "quiet"; }

 private:
  SpscRing<std::uint64_t> ring_{64};
};

void empty_turn(benchmark::State& state) {
  const TscClock clock;
  Poller poller(clock, {.name = "bench", .idle = IdlePolicy::kBusy});
  std::array<QuietDevice, 4> devices;
  for (QuietDevice& device : devices) {
    if (!poller.add_owner(device)) {
      state.SkipWithError("the poller takes four devices");
      return;
    }
  }
  const std::atomic<bool> stop{false};
  for (auto _ : state)
    poller.step(stop);
}

void clock_reading(benchmark::State& state) {
  const TscClock clock;
  for (auto _ : state)
    benchmark::DoNotOptimize(clock.now());
}

// Answers each order with its number; wakes only by doorbell.
class Answerer final : public Pollable {
 public:
  unsigned poll(Instant) override {
    const std::uint64_t order = asked.load(std::memory_order_acquire);
    if (order == answered.load(std::memory_order_relaxed)) return 0;
    answered.store(order, std::memory_order_release);
    return 1;
  }
  [[nodiscard]] std::string_view name() const override { return "answerer"; }
  [[nodiscard]] bool woken_by_doorbell() const override { return true; }

  alignas(kNoSharing) std::atomic<std::uint64_t> asked{0};
  alignas(kNoSharing) std::atomic<std::uint64_t> answered{0};
};

// Time for both sides to fall asleep before each wake-up; it is not measured.
constexpr Duration kFallAsleep = std::chrono::microseconds(100);

void let_sleep(const TscClock& clock) {
  const Instant end = clock.now() + kFallAsleep;
  while (clock.now() < end) {
  }
}

template <class Ask>
void measure_wakes(benchmark::State& state, const TscClock& clock,
                   const std::atomic<std::uint64_t>& answered, Ask ask) {
  std::uint64_t order = 0;
  for (auto _ : state) {
    let_sleep(clock);
    ++order;
    const Instant from = clock.now();
    ask(order);
    while (answered.load(std::memory_order_acquire) != order) {
    }
    state.SetIterationTime(std::chrono::duration<double>(clock.now() - from).count());
  }
}

void wake_poller(benchmark::State& state) {
  if (!pin_to_nth_cpu(0)) return state.SkipWithError("cannot pin");
  const TscClock clock;
  Poller poller(clock,
                {.name = "bench", .idle = IdlePolicy::kSleep, .sleep_after = Duration::zero()});
  Answerer answerer;
  if (!poller.add_owner(answerer)) return state.SkipWithError("no room for a device");
  std::atomic<bool> stop{false};
  std::thread thread([&] {
    if (pin_to_nth_cpu(1)) poller.run(stop);
  });
  measure_wakes(state, clock, answerer.answered, [&](std::uint64_t order) {
    answerer.asked.store(order, std::memory_order_release);
    poller.wake();
  });
  stop = true;
  poller.wake();
  thread.join();
}

// The machine's cost of the same: a thread that waits in ppoll() on an eventfd and reads it.
void wake_bare(benchmark::State& state) {
  if (!pin_to_nth_cpu(0)) return state.SkipWithError("cannot pin");
  const TscClock clock;
  const int descriptor = ::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
  if (descriptor < 0) return state.SkipWithError("no eventfd");
  alignas(kNoSharing) std::atomic<std::uint64_t> answered{0};
  std::atomic<bool> stop{false};
  std::thread thread([&] {
    if (!pin_to_nth_cpu(1)) return;
    while (!stop.load(std::memory_order_relaxed)) {
      pollfd bell{.fd = descriptor, .events = POLLIN, .revents = 0};
      (void)::ppoll(&bell, 1, nullptr, nullptr);
      std::uint64_t rings = 0;
      if (::read(descriptor, &rings, sizeof rings) == sizeof rings)
        answered.store(answered.load(std::memory_order_relaxed) + 1, std::memory_order_release);
    }
  });
  const auto ring = [&] {
    const std::uint64_t one = 1;
    if (::write(descriptor, &one, sizeof one) != sizeof one) state.SkipWithError("eventfd broke");
  };
  measure_wakes(state, clock, answered, [&](std::uint64_t) { ring(); });
  stop = true;
  ring();
  thread.join();
  ::close(descriptor);
}

}  // namespace

void add_benchmarks(Suite& suite) {
  suite.push_back({.name = "runtime.turn",
                   .what = "an empty turn of a poller with four devices, clock included",
                   .bar = Bar{.of = Bar::Of::kValue, .limit = 200},
                   .value = empty_turn,
                   .floor = clock_reading});
  suite.push_back({.name = "runtime.wake",
                   .what = "waking a sleeping poller through its doorbell, against a bare eventfd",
                   .timing = Timing::kManual,
                   .bar = Bar{.of = Bar::Of::kRatio, .limit = 1.5},
                   .value = wake_poller,
                   .floor = wake_bare});
}

}  // namespace plnet::bench
