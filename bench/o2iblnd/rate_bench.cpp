// SPDX-License-Identifier: BSD-3-Clause
// Messages and transfers of one core: lib/o2iblnd alone, over queue pairs that cost next to
// nothing. The core is initiator and target of each message.
#include <chrono>
#include <cstdint>

#include <time.h>

#include "bench/harness/harness.hpp"
#include "bench/o2iblnd/null_pair.hpp"

namespace plnet::bench {
namespace {

constexpr std::size_t kBurst = 32;
constexpr std::uint32_t kPayloadBytes = 64;

double cpu_seconds() {
  timespec now{};
  (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

void rate(benchmark::State& state, lnet::MessageType type, std::uint32_t length,
          unsigned peer_credits) {
  NullO2ibPair pair(peer_credits);
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
  state.counters["idle_with_credit"] =
      static_cast<double>(pair.a.lnd().count(o2iblnd::O2ibCounters::Id::kIdleWithCredit));
}

}  // namespace

void add_benchmarks(Suite& suite) {
  suite.push_back(
      {.name = "o2ib.null.rate",
       .what = "IMMEDIATE PUTs of 64 bytes a second on one core that is initiator and target of "
               "each, send to on_sent and header to on_received, bursts of 32, 128 credits",
       .unit = "/s",
       .bar = Bar{.limit = 4e6, .side = Bar::Side::kAtLeast},
       .value = [](benchmark::State& state) {
         rate(state, lnet::MessageType::kPut, kPayloadBytes, 128);
       }});
  suite.push_back({.name = "o2ib.null.bulk",
                   .what = "PUTs of 1 MiB a second by PUT_REQ, PUT_ACK and PUT_DONE, descriptors "
                           "only, on one core that is initiator and target of each",
                   .unit = "/s",
                   .bar = Bar{.limit = 1e6, .side = Bar::Side::kAtLeast},
                   .value = [](benchmark::State& state) {
                     rate(state, lnet::MessageType::kPut, NullO2ibSide::kBulkBytes, 128);
                   }});
  suite.push_back({.name = "o2ib.credits",
                   .what = "IMMEDIATE PUTs a second with 8 credits; the counter idle_with_credit "
                           "says how often one waited without need",
                   .unit = "/s",
                   .value = [](benchmark::State& state) {
                     rate(state, lnet::MessageType::kPut, kPayloadBytes, 8);
                   }});
}

}  // namespace plnet::bench
