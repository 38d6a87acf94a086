// SPDX-License-Identifier: BSD-3-Clause
// The memory of ten thousand nodes in one process: maximum resident size.
#include <sys/resource.h>

#include "apps/lnet-sim/site/site.hpp"
#include "bench/harness/harness.hpp"

namespace plnet::bench {

namespace {

constexpr unsigned kNodes = 10'000;

double resident_max_mib() {
  struct rusage usage{};
  (void)::getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;
}

// Each discovers three others and exchanges a few messages with them.
void nodes(benchmark::State& state) {
  sim::SiteConfig config;
  config.nodes = kNodes;
  config.time = std::chrono::seconds(1);
  config.traffic.operations = 6;
  config.traffic.window = 2;
  config.traffic.size_max = 1024;
  config.traffic.pause = std::chrono::milliseconds(500);
  config.traffic.put_unique = config.traffic.put_lazy = config.traffic.put_managed = 0;
  config.traffic.partners = 3;
  sim::SiteReport report;
  for (auto _ : state)
    report = sim::run_site(config);
  if (!report.violation.empty()) state.SkipWithError("a violation");
  state.counters["value"] = resident_max_mib();
  state.counters["messages"] = static_cast<double>(report.wire.offered);
  state.counters["operations"] = static_cast<double>(report.operations.begun);
}

}  // namespace

void add_benchmarks(Suite& suite) {
  suite.push_back({.name = "sim.nodes",
                   .what = "resident memory of 10 000 nodes that discover and talk to three others",
                   .unit = "MiB",
                   .once = true,
                   .bar = Bar{.limit = 2048},
                   .value = nodes});
}

}  // namespace plnet::bench
