// SPDX-License-Identifier: BSD-3-Clause
// The effect of a next hop that reads nothing, or little, on other traffic: a flow through a router
// while messages of others to such a hop fill all their shares, beside the same flow alone.
#include <cstdint>
#include <string>
#include <utility>

#include "bench/harness/harness.hpp"
#include "bench/router/relay_runs.hpp"
#include "bench/router/suite.hpp"

namespace plnet::bench {
namespace {

constexpr std::uint64_t kLookEvery = 1024;  // turns between two services of the other flow
constexpr std::uint64_t kNoLimit = UINT64_MAX / (std::uint64_t{1} << 21U);
constexpr int kTurnsToFill = 20'000;

enum class OtherHop : std::uint8_t { kNone, kDead, kSlow };

struct Shape {
  std::uint32_t payload_bytes = 0;
  std::uint64_t under_way = 0;
};
constexpr Shape kPages{.payload_bytes = 4096, .under_way = 64};
constexpr Shape kBulk{.payload_bytes = std::uint32_t{1} << 20U, .under_way = 4};

// Sends as much as the router accepts; the hop reads the arriving messages rarely, or never.
void look_after(Flow& other, OtherHop hop) {
  if (hop == OtherHop::kNone) return;
  other.send(kNoLimit);
  if (hop == OtherHop::kSlow) other.receive(other.wire_bytes());
}

void beside(benchmark::State& state, const Shape& shape, OtherHop hop) {
  RoutedFlow routed;
  if (!routed.ends.valid()) return state.SkipWithError(kNotReady);
  FlowEnds more = routed.connect();
  if (!more.valid()) return state.SkipWithError(kNotReady);
  Flow flow(std::move(routed.ends), shape.payload_bytes);
  Flow other(std::move(more), shape.payload_bytes);
  const RelayThread thread(state, relay_of(*routed.router));
  if (!thread.ready()) return;
  for (int i = 0; i < kTurnsToFill && hop != OtherHop::kNone; ++i)
    other.send(kNoLimit);

  std::uint64_t turns = 0;
  const std::uint64_t first = flow.arrived();
  std::uint64_t wanted = first;
  for ([[maybe_unused]] auto _ : state) {
    wanted += shape.under_way;
    while (flow.arrived() < wanted && !flow.broken()) {
      flow.turn(flow.arrived() + shape.under_way);
      if (++turns % kLookEvery == 0) look_after(other, hop);
    }
  }
  const auto messages = static_cast<double>(flow.arrived() - first);
  state.counters["value"] = benchmark::Counter(messages, benchmark::Counter::kIsRate);
  state.counters["other_messages_held"] = static_cast<double>(other.begun() - other.arrived());

  const auto unsettled = [](const Flow& each) { return !each.settled() && !each.broken(); };
  while (unsettled(flow) || unsettled(other)) {
    flow.turn(flow.begun());
    other.turn(other.begun());
  }
  if (flow.broken() || other.broken()) state.SkipWithError("a connection broke");
}

void add(Suite& suite, const std::string& name, const std::string& what, const Shape& shape,
         OtherHop hop) {
  suite.push_back(
      {.name = "router.fairness." + name,
       .what = what,
       .unit = "msg/s",
       .timing = Timing::kReal,
       .round_seconds = 0.2,
       .bar = Bar{.of = Bar::Of::kRatio, .limit = 0.95, .side = Bar::Side::kAtLeast},
       .value = [=](benchmark::State& state) { beside(state, shape, hop); },
       .floor = [=](benchmark::State& state) { beside(state, shape, OtherHop::kNone); }});
}

}  // namespace

void add_fairness_benchmarks(Suite& suite) {
  add(suite, "dead", "4 KiB PUTs while another next hop takes nothing; floor: there is none",
      kPages, OtherHop::kDead);
  add(suite, "slow", "4 KiB PUTs while another next hop takes little; floor: there is none", kPages,
      OtherHop::kSlow);
  add(suite, "dead.bulk", "1 MiB PUTs while another next hop takes nothing; floor: there is none",
      kBulk, OtherHop::kDead);
}

}  // namespace plnet::bench
