// SPDX-License-Identifier: BSD-3-Clause
// The latency of messages that arrive at random: through our router at 70 % of its capacity, and at
// the same rate through a bare relay and without a relay.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "bench/harness/harness.hpp"
#include "bench/router/open_loop.hpp"
#include "bench/router/relay_runs.hpp"
#include "bench/router/suite.hpp"

namespace plnet::bench {
namespace {

constexpr std::uint32_t kPayloadBytes = 4096;
constexpr double kLoad = 0.7;
constexpr std::uint64_t kUnderWay = 64;  // more than the flow ever has under way
constexpr auto kWarmUp = std::chrono::milliseconds(25);
constexpr auto kCalibration = std::chrono::milliseconds(40);
// All rounds depend on their median, so that a single stall does not decide.
constexpr std::size_t kCalibrations = 9;

struct Percentiles {
  double p50_us = 0;
  double p99_us = 0;
  double generator_busy = 0;  // share of its time
};

// State shared by all rounds of a benchmark.
struct Load {
  double rate = 0;           // messages a second; 0: not yet known
  std::size_t together = 1;  // due messages that leave with one system call
};
using SharedLoad = std::shared_ptr<Load>;

double saturated_rate(Flow& flow, const Clock& clock) {
  const auto until = [&](Instant end) {
    while (clock.now() < end && !flow.broken())
      flow.turn(flow.arrived() + kUnderWay);
  };
  until(clock.now() + kWarmUp);
  std::array<double, kCalibrations> rates{};
  for (double& rate : rates) {
    const std::uint64_t before = flow.arrived();
    const Instant start = clock.now();
    until(start + kCalibration);
    const auto messages = static_cast<double>(flow.arrived() - before);
    rate = messages / std::chrono::duration<double>(clock.now() - start).count();
  }
  while (!flow.settled() && !flow.broken())
    flow.turn(flow.begun());
  std::ranges::nth_element(rates, rates.begin() + kCalibrations / 2);
  return rates[kCalibrations / 2];
}

// `loop` determines the duration: the benchmark's own, or a number of turns.
Percentiles open_loop(Flow& flow, const Clock& clock, double rate,
                      const std::function<void(const std::function<void()>&)>& loop) {
  OpenLoop open(flow, clock, rate);
  loop([&] { open.turn(); });
  open.settle();
  return {open.percentile_us(50), open.percentile_us(99), open.busy()};
}

void for_state(benchmark::State& state, const std::function<void()>& turn) {
  for ([[maybe_unused]] auto _ : state)
    turn();
}

void tell(benchmark::State& state, const Percentiles& seen, double value) {
  state.counters["value"] = value;
  state.counters["p50_us"] = seen.p50_us;
  state.counters["p99_us"] = seen.p99_us;
  state.counters["generator_busy"] = seen.generator_busy;
}

Percentiles through_router(benchmark::State& state, const SharedLoad& load) {
  RoutedFlow routed;
  if (!routed.ends.valid()) {
    state.SkipWithError(kNotReady);
    return {};
  }
  Flow flow(std::move(routed.ends), kPayloadBytes, load->together);
  const RelayThread thread(state, relay_of(*routed.router));
  if (!thread.ready()) return {};
  if (load->rate == 0) load->rate = kLoad * saturated_rate(flow, routed.clock);
  state.counters["rate"] = load->rate;
  const auto seen =
      open_loop(flow, routed.clock, load->rate, [&](const auto& turn) { for_state(state, turn); });
  if (flow.broken()) state.SkipWithError("a connection broke");
  return seen;
}

// Without a relay the same time has too many turns: half of the number is enough.
Percentiles through_nothing(const Clock& clock, const Load& load, double seconds) {
  SocketPair pair = connect_pair();
  Flow flow({.from = nid_of(0x7f000002),
             .to = nid_of(0x7f000003, 1),
             .source = std::move(pair.near),
             .sink = std::move(pair.far)},
            kPayloadBytes, load.together);
  const Instant end = clock.now() + Duration(static_cast<std::int64_t>(seconds * 1e9));
  return open_loop(flow, clock, load.rate, [&](const auto& turn) {
    while (clock.now() < end && !flow.broken())
      turn();
  });
}

// The added median latency relative to no relay.
void report_added(benchmark::State& state, const Percentiles& seen, const Load& load) {
  const runtime::TscClock clock;
  const Percentiles direct = through_nothing(clock, load, 0.2);
  tell(state, seen, seen.p50_us - direct.p50_us);
  state.counters["direct_p50_us"] = direct.p50_us;
}

void added(benchmark::State& state, const SharedLoad& load) {
  const Percentiles seen = through_router(state, load);
  if (load->rate > 0) report_added(state, seen, *load);
}

void tail(benchmark::State& state, const SharedLoad& load) {
  const Percentiles seen = through_router(state, load);
  tell(state, seen, seen.p99_us);
}

double spread_of(const Percentiles& seen) {
  return seen.p50_us > 0 ? seen.p99_us / seen.p50_us : 0;
}

void spread(benchmark::State& state, const SharedLoad& load) {
  const Percentiles seen = through_router(state, load);
  tell(state, seen, spread_of(seen));
}

// At the same rate as the router.
Percentiles through_splice(benchmark::State& state, const SharedLoad& load) {
  BareRelay bare(RelayKind::kSplice);
  if (!bare.ends.valid()) {
    state.SkipWithError("no port is free");
    return {};
  }
  const runtime::TscClock clock;
  Flow flow(std::move(bare.ends), kPayloadBytes, load->together);
  const Relay relay = bare.relay();
  const RelayThread thread(state, relay);
  if (!thread.ready()) return {};
  const auto seen =
      open_loop(flow, clock, load->rate, [&](const auto& turn) { for_state(state, turn); });
  if (flow.broken()) state.SkipWithError("a connection broke");
  return seen;
}

void bare_added(benchmark::State& state, const SharedLoad& load) {
  report_added(state, through_splice(state, load), *load);
}

void bare_tail(benchmark::State& state, const SharedLoad& load) {
  const Percentiles seen = through_splice(state, load);
  tell(state, seen, seen.p99_us);
}

void bare_spread(benchmark::State& state, const SharedLoad& load) {
  const Percentiles seen = through_splice(state, load);
  tell(state, seen, spread_of(seen));
}

// A figure of the router, and the same of a splice at the same load.
using Measure = void (*)(benchmark::State&, const SharedLoad&);

struct Comparison {
  std::string name;
  std::string what;
  std::string unit;
  SharedLoad load;
  Measure router;
  Measure splice;
  std::optional<Bar> bar;
};

void add(Suite& suite, const Comparison& one) {
  suite.push_back({.name = one.name,
                   .what = one.what,
                   .unit = one.unit,
                   .timing = Timing::kReal,
                   .round_seconds = 0.2,
                   .bar = one.bar,
                   .value = [one](benchmark::State& state) { one.router(state, one.load); },
                   .floor = [one](benchmark::State& state) { one.splice(state, one.load); }});
}

}  // namespace

void add_latency_benchmarks(Suite& suite) {
  const auto load = std::make_shared<Load>();
  const auto dense = std::make_shared<Load>(Load{.together = kUnderWay});
  add(suite, {.name = "router.tcp.latency",
              .what = "4 KiB PUTs at random, 70 % load: added to the median; floor: by a splice",
              .unit = "us",
              .load = load,
              .router = added,
              .splice = bare_added,
              .bar = Bar{.limit = 10}});
  add(suite, {.name = "router.tcp.latency.dense",
              .what = "the same, all that is due leaves the source with one system call",
              .unit = "us",
              .load = dense,
              .router = added,
              .splice = bare_added,
              .bar = {}});
  add(suite, {.name = "router.tcp.latency.tail",
              .what = "at the load of router.tcp.latency: the 99th percentile; floor: by a splice",
              .unit = "us",
              .load = load,
              .router = tail,
              .splice = bare_tail,
              .bar = Bar{.of = Bar::Of::kRatio, .limit = 1.5}});
  add(suite, {.name = "router.tcp.latency.spread",
              .what = "at that load: the 99th percentile over the median; floor: by a splice",
              .unit = "times",
              .load = load,
              .router = spread,
              .splice = bare_spread,
              .bar = Bar{.limit = 3}});
}

}  // namespace plnet::bench
