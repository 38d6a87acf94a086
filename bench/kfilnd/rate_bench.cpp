// SPDX-License-Identifier: BSD-3-Clause
// Transactions a second of one core: lib/kfilnd alone, over a fabric at almost no cost. A message
// is two transactions, the initiator's and the target's, and the core here does both; the figure
// counts whole messages.
#include <chrono>
#include <cstdint>

#include <time.h>

#include "bench/harness/harness.hpp"
#include "bench/kfilnd/null_pair.hpp"

namespace plnet::bench {
namespace {

constexpr std::size_t kBurst = 32;
constexpr std::uint32_t kPayloadBytes = 64;

double cpu_seconds() {
  timespec now{};
  (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

void rate(benchmark::State& state, lnet::MessageType type, std::uint32_t length) {
  NullPair pair;
  (void)pair.a.send(1, lnet::MessageType::kPut, 0);  // they meet
  pair.settle();
  const std::uint64_t before = pair.a.sent;
  const double start = cpu_seconds();
  while (state.KeepRunningBatch(kBurst)) {
    (void)pair.a.send(kBurst, type, length);
    (void)pair.turn();
  }
  const double spent = cpu_seconds() - start;
  const auto messages = static_cast<double>(pair.a.sent - before);
  pair.settle();
  if (pair.a.sent != pair.b.received || pair.a.failed + pair.b.failed != 0)
    state.SkipWithError("not every message was received and told as sent");
  state.counters["value"] = messages / spent;
  state.counters["ns_per_message"] = spent / messages * 1e9;
}

}  // namespace

void add_benchmarks(Suite& suite) {
  suite.push_back(
      {.name = "kfilnd.null.rate",
       .what = "immediate PUTs of 64 bytes a second on one core that is initiator and target of "
               "each, send to on_sent and header to on_received, bursts of 32, fabric of nothing",
       .unit = "/s",
       .bar = Bar{.limit = 3e6, .side = Bar::Side::kAtLeast},
       .value = [](benchmark::State& state) {
         rate(state, lnet::MessageType::kPut, kPayloadBytes);
       }});
  suite.push_back(
      {.name = "kfilnd.null.bulk",
       .what = "bulk PUTs of 4 KiB a second on one core that is initiator and target "
               "of each, the copy included",
       .unit = "/s",
       .value = [](benchmark::State& state) { rate(state, lnet::MessageType::kPut, 4096); }});
}

}  // namespace plnet::bench
