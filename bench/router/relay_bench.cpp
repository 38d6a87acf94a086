// SPDX-License-Identifier: BSD-3-Clause
// Our router beside plain byte relays. Both ends of the flow are in one thread on the first CPU,
// the relay has the second to itself; the bytes are the same each time.
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include <time.h>

#include "bench/harness/harness.hpp"
#include "bench/router/relay_runs.hpp"
#include "bench/router/suite.hpp"

namespace plnet::bench {
namespace {

constexpr std::uint32_t kBulkBytes = std::uint32_t{1} << 20U;
constexpr std::uint32_t kPageBytes = 4096;
// Windows of TCP and pauses of the router (drivers/net/tcp/coalescer.hpp) have settled by then.
constexpr auto kWarmUp = std::chrono::milliseconds(50);
constexpr double kGib = 1024.0 * 1024 * 1024;

struct Shape {
  std::uint32_t payload_bytes = 0;
  std::uint64_t under_way = 1;
  std::uint32_t relay_bytes_min = kRelayBytesMin;  // the router's setting
  std::size_t together = 1;                        // messages that leave their source with one
                                                   // system call
};
const Shape kBulk{.payload_bytes = kBulkBytes, .under_way = 4};
const Shape kCopied{.payload_bytes = kBulkBytes, .under_way = 4, .relay_bytes_min = 0};
const Shape kOnePage{.payload_bytes = kPageBytes, .under_way = 1};
const Shape kManyPages{.payload_bytes = kPageBytes, .under_way = 64};
const Shape kDensePages{.payload_bytes = kPageBytes, .under_way = 64, .together = 64};

enum class Figure : std::uint8_t { kGibRate, kRate, kCpuPerGib, kCpuPerMessage };

void tell(benchmark::State& state, Figure figure, const Shape& shape, std::uint64_t messages,
          double relay_cpu_s) {
  const auto count = static_cast<double>(messages);
  const double gib = count * shape.payload_bytes / kGib;
  using benchmark::Counter;
  switch (figure) {
    case Figure::kGibRate: state.counters["value"] = Counter(gib, Counter::kIsRate); break;
    case Figure::kRate: state.counters["value"] = Counter(count, Counter::kIsRate); break;
    case Figure::kCpuPerGib: state.counters["value"] = relay_cpu_s / gib; break;
    case Figure::kCpuPerMessage: state.counters["value"] = relay_cpu_s * 1e9 / count; break;
  }
  state.counters["relay_cpu_s_per_gib"] = relay_cpu_s / gib;
}

void measure(benchmark::State& state, Flow& flow, const Relay& relay, const Shape& shape,
             Figure figure) {
  const RelayThread thread(state, relay);
  if (!thread.ready()) return;
  const auto turn = [&] { flow.turn(flow.arrived() + shape.under_way); };
  const auto until = [&](std::uint64_t arrived) {
    while (flow.arrived() < arrived && !flow.broken())
      turn();
  };
  const runtime::TscClock clock;
  for (const Instant end = clock.now() + kWarmUp; clock.now() < end && !flow.broken();)
    turn();
  const std::uint64_t first = flow.arrived();
  const double cpu = thread.cpu_seconds();
  // Counts messages, not turns: turns without one take almost no time.
  std::uint64_t wanted = first;
  for ([[maybe_unused]] auto _ : state)
    until(wanted += shape.under_way);
  tell(state, figure, shape, flow.arrived() - first, thread.cpu_seconds() - cpu);
  while (!flow.settled() && !flow.broken())
    flow.turn(flow.begun());
  if (flow.broken()) state.SkipWithError("a connection broke");
}

void by_router(benchmark::State& state, const Shape& shape, Figure figure) {
  RoutedFlow routed(shape.relay_bytes_min);
  if (!routed.ends.valid()) return state.SkipWithError(kNotReady);
  Flow flow(std::move(routed.ends), shape.payload_bytes, shape.together);
  measure(state, flow, relay_of(*routed.router), shape, figure);
}

void by_bytes(benchmark::State& state, RelayKind kind, const Shape& shape, Figure figure) {
  BareRelay bare(kind);
  if (!bare.ends.valid()) return state.SkipWithError("no port is free");
  Flow flow(std::move(bare.ends), shape.payload_bytes, shape.together);
  measure(state, flow, bare.relay(), shape, figure);
}

struct Comparison {
  std::string name;
  std::string what;
  std::string unit;
  Shape shape;
  Figure figure;
  RelayKind beside;
  std::optional<Bar> bar;
};

void add(Suite& suite, const Comparison& one) {
  suite.push_back(
      {.name = one.name,
       .what = one.what,
       .unit = one.unit,
       .timing = Timing::kReal,
       .round_seconds = 0.2,
       .bar = one.bar,
       .value = [=](benchmark::State& state) { by_router(state, one.shape, one.figure); },
       .floor =
           [=](benchmark::State& state) { by_bytes(state, one.beside, one.shape, one.figure); }});
}

Bar ratio_at_least(double limit) {
  return {.of = Bar::Of::kRatio, .limit = limit, .side = Bar::Side::kAtLeast};
}
Bar ratio_at_most(double limit) {
  return {.of = Bar::Of::kRatio, .limit = limit, .side = Bar::Side::kAtMost};
}

}  // namespace

void add_benchmarks(Suite& suite) {
  add(suite, {.name = "router.tcp.bulk",
              .what = "PUTs of 1 MiB through a router; floor: spliced from socket to socket",
              .unit = "GiB/s",
              .shape = kBulk,
              .figure = Figure::kGibRate,
              .beside = RelayKind::kSplice,
              .bar = ratio_at_least(0.9)});
  add(suite, {.name = "router.tcp.bulk.cpu",
              .what = "the same: CPU seconds of the relay for each GiB",
              .unit = "s/GiB",
              .shape = kBulk,
              .figure = Figure::kCpuPerGib,
              .beside = RelayKind::kSplice,
              .bar = ratio_at_most(1.1)});
  add(suite, {.name = "router.tcp.copy",
              .what = "the same, and the router copies all of it (relay_bytes_min 0)",
              .unit = "GiB/s",
              .shape = kCopied,
              .figure = Figure::kGibRate,
              .beside = RelayKind::kSplice,
              .bar = {}});
  add(suite, {.name = "router.tcp.copy.cpu",
              .what = "the same: CPU seconds of the relay for each GiB",
              .unit = "s/GiB",
              .shape = kCopied,
              .figure = Figure::kCpuPerGib,
              .beside = RelayKind::kSplice,
              .bar = {}});
  add(suite, {.name = "router.tcp.4k",
              .what = "PUTs of 4 KiB one by one through a router; floor: a relay that sleeps",
              .unit = "msg/s",
              .shape = kOnePage,
              .figure = Figure::kRate,
              .beside = RelayKind::kEpoll,
              .bar = ratio_at_least(1.7)});
  add(suite, {.name = "router.tcp.4k.full",
              .what = "the same, as many under way as go through",
              .unit = "msg/s",
              .shape = kManyPages,
              .figure = Figure::kRate,
              .beside = RelayKind::kEpoll,
              .bar = ratio_at_least(1.5)});
  add(suite, {.name = "router.tcp.4k.full.cpu",
              .what = "the same: CPU time of the relay for each message",
              .unit = "ns",
              .shape = kManyPages,
              .figure = Figure::kCpuPerMessage,
              .beside = RelayKind::kEpoll,
              .bar = ratio_at_most(0.6)});
  add(suite, {.name = "router.tcp.4k.dense",
              .what = "the same, all that may leave the source leaves with one system call",
              .unit = "msg/s",
              .shape = kDensePages,
              .figure = Figure::kRate,
              .beside = RelayKind::kEpoll,
              .bar = {}});
  add(suite, {.name = "router.tcp.4k.dense.cpu",
              .what = "the same: CPU time of the relay for each message",
              .unit = "ns",
              .shape = kDensePages,
              .figure = Figure::kCpuPerMessage,
              .beside = RelayKind::kEpoll,
              .bar = {}});
  add_fairness_benchmarks(suite);
  add_latency_benchmarks(suite);
}

}  // namespace plnet::bench
