// SPDX-License-Identifier: BSD-3-Clause
// The cost of a simulated message: LNet, LND, drivers and the ledger on one core, PUTs of 64 bytes
// among a few nodes without faults.
#include <array>
#include <memory>

#include "apps/lnet-sim/site/site.hpp"
#include "bench/harness/harness.hpp"

namespace plnet::bench {

namespace {

sim::SiteConfig site_of(sim::NetKind kind, bool ack) {
  sim::SiteConfig site;
  site.nodes = 16;
  site.nets = {{.kind = kind}};
  site.discovery = false;
  site.traffic.operations = 1'000'000'000;
  site.traffic.window = 64;
  site.traffic.burst = 64;
  site.traffic.size_min = site.traffic.size_max = 64;
  site.traffic.pause = std::chrono::microseconds(2);
  site.traffic.put_unique = site.traffic.put_lazy = site.traffic.put_managed = 0;
  site.traffic.get = 0;
  site.traffic.ack_percent = ack ? 100 : 0;
  site.traffic.abandon_percent = site.traffic.loopback_percent = 0;
  site.traffic.partners = 3;
  site.traffic.scattered = false;
  site.traffic.poison_percent = 5;
  site.lazy_memory = false;
  return site;
}

void rate(benchmark::State& state, sim::NetKind kind, bool ack) {
  static std::array<std::unique_ptr<sim::Site>, 4> sites;
  auto& site = sites[(kind == sim::NetKind::kO2ib ? 2U : 0U) + (ack ? 1U : 0U)];
  if (!site) {
    site = std::make_unique<sim::Site>(site_of(kind, ack));
    site->start();
    site->run_for(std::chrono::milliseconds(20));
  }
  const sim::WireTally& wire = site->world().wire;
  const std::uint64_t before = wire.offered;
  const std::uint64_t events = site->world().loop.events_run();
  constexpr std::int64_t kBatch = 20'000;
  while (state.KeepRunningBatch(kBatch)) {
    const std::uint64_t goal = wire.offered + kBatch;
    while (wire.offered < goal && !site->world().ledger.violated())
      site->run_for(std::chrono::microseconds(5));
  }
  if (site->world().ledger.violated()) state.SkipWithError("a violation");
  state.counters["events_per_message"] =
      static_cast<double>(site->world().loop.events_run() - events) /
      static_cast<double>(wire.offered - before);
}

}  // namespace

void add_benchmarks(Suite& suite) {
  suite.push_back(
      {.name = "sim.rate",
       .what = "a simulated PUT of 64 bytes over TCP, checked by the ledger",
       .round_seconds = 0.1,
       .bar = Bar{.limit = 1000},
       .value = [](benchmark::State& state) { rate(state, sim::NetKind::kTcp, false); }});
  suite.push_back(
      {.name = "sim.rate.ack",
       .what = "the same with ACK: a message is the PUT or its ACK",
       .round_seconds = 0.1,
       .value = [](benchmark::State& state) { rate(state, sim::NetKind::kTcp, true); }});
  suite.push_back(
      {.name = "sim.rate.o2ib",
       .what = "a simulated PUT of 64 bytes over o2ib, checked by the ledger",
       .round_seconds = 0.1,
       .value = [](benchmark::State& state) { rate(state, sim::NetKind::kO2ib, false); }});
}

}  // namespace plnet::bench
