// SPDX-License-Identifier: BSD-3-Clause
#include "apps/lnet-selftest/sim/simulated_run.hpp"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "apps/lnet-selftest/sim/resident_memory.hpp"
#include "apps/lnet-selftest/sim/sim_desk.hpp"
#include "lib/base/counted.hpp"
#include "lib/lnet/names/nid_text.hpp"
#include "lib/selftest/console/distribution.hpp"

namespace plnet::sim {

namespace {

// Simulated time between checks for an interrupt: about a second of real time with thousands of
// nodes under load.
constexpr Duration kSlice = std::chrono::milliseconds(5);
// Beyond that, requests wait in the portal, and a plan measures little else.
constexpr std::size_t kRequestsMax = 8192;
constexpr std::size_t kSinksMax = 4;
constexpr std::size_t kSpareUnits = 4;

double seconds_of(Duration duration) {
  return std::chrono::duration<double>(duration).count();
}

run::Json environment_of(SelftestSite& site, const SimulatedRun& how, double real_seconds,
                         std::uint64_t bytes_per_node) {
  return {{"simulated", counted(how.nodes, "node") + " in one process; all times are simulated"},
          {"seed", how.seed},
          {"latency_us", seconds_of(how.latency) * 1e6},
          {"trace", fmt::format("{:016x}", site.loop().digest())},
          {"events", site.loop().events_run()},
          {"simulated_s", seconds_of(site.loop().now().time_since_epoch())},
          {"took_s", real_seconds},
          {"node_kib", bytes_per_node / 1024}};
}

void conduct(run::Conductor& conductor, SelftestSite& site,
             const std::function<bool()>& interrupted) {
  while (!conductor.over()) {
    // After an interrupt the conductor may still wait, and simulated time must pass for it.
    const bool stopping = interrupted();
    if (stopping) conductor.interrupt();
    const Instant next = conductor.step(site.loop().now());
    while (site.loop().now() < next && !conductor.over() && (stopping || !interrupted()))
      (void)site.loop().run_until(std::min(next, site.loop().now() + kSlice));
  }
}

}  // namespace

SelftestHostLimits limits_of(const run::Plan& plan) {
  const selftest::Distribution share{.clients = static_cast<std::uint32_t>(plan.from.size()),
                                     .servers = static_cast<std::uint32_t>(plan.to.size()),
                                     .distribute = plan.distribution.distribute,
                                     .span = plan.distribution.span};
  const std::uint32_t concurrency = std::ranges::max(plan.concurrencies);
  const std::size_t units = std::size_t{share.span} * concurrency;
  SelftestHostLimits limits;
  limits.units = units + kSpareUnits;
  limits.requests = share.server_loop(concurrency) + kSpareUnits;
  // A node may be on both sides. Nodes that began a test are peers, and so is the console.
  limits.peers = std::min<std::size_t>(share.span + share.server_loop(1) + 1,
                                       plan.from.size() + plan.to.size() + 1);
  limits.sinks = 0;
  for (const run::Operation each : plan.tests) {
    constexpr std::size_t kPage = selftest::SinkMemory::kPage;
    const std::size_t size = (std::ranges::max(plan.sizes) + kPage - 1) / kPage * kPage;
    if (each == run::Operation::kRead) limits.sink_bytes = units * size;
    if (each == run::Operation::kWrite) limits.sinks = std::min(limits.requests, kSinksMax);
  }
  limits.sinks = std::max<std::size_t>(limits.sinks, 1);
  limits.requests = std::min(limits.requests, kRequestsMax);
  return limits;
}

Outcome<void> check_nodes(const run::Plan& plan, unsigned nodes) {
  std::set<std::string, std::less<>> known;
  for (unsigned i = 0; i < nodes; ++i)
    known.insert(
        lnet::text_of(lnet::ProcessId{.nid = SelftestSite::nid_of(i), .pid = lnet::kLustrePid}));
  for (const auto& side : {plan.from, plan.to}) {
    const auto stranger =
        std::ranges::find_if(side, [&](const std::string& node) { return !known.contains(node); });
    if (stranger != side.end()) {
      return failure(Errc::kInvalid,
                     fmt::format("'{}' is not one of the {} simulated nodes, {} to {}", *stranger,
                                 nodes, lnet::text_of(SelftestSite::nid_of(0)),
                                 lnet::text_of(SelftestSite::nid_of(nodes - 1))));
    }
  }
  return {};
}

run::Report simulate(const run::Plan& plan, const SimulatedRun& how, run::Watcher& watcher,
                     const Clock& real_clock, const std::function<bool()>& interrupted) {
  const Instant began = real_clock.now();
  const std::uint64_t before = resident_bytes();
  SelftestSiteSetup setup{.nodes = how.nodes, .seed = how.seed, .node = limits_of(plan)};
  setup.shape.link.latency_min = how.latency;
  setup.shape.link.latency_spread = how.latency;
  SelftestSite site(setup);
  site.start();
  SimDesk desk(site, plan);
  run::Conductor conductor(plan, {.key = 1}, desk, watcher);
  conduct(conductor, site, interrupted);
  const std::uint64_t grown = resident_bytes() - std::min(before, resident_bytes());

  run::Report report{.plan = plan,
                     .measurements = conductor.measurements(),
                     .complete = conductor.complete(),
                     .interrupted = conductor.interrupted(),
                     .failure = conductor.failure(),
                     .left_behind = conductor.left_behind(),
                     .highest_rates = conductor.highest_rates(),
                     .latency_note = "of all RPCs of all simulated clients, in simulated time"};
  const std::string missing = site.close();
  if (report.failure.empty() && !missing.empty()) report.failure = "at the end: " + missing;
  report.simulated = fmt::format("{}, seed {}", counted(how.nodes, "simulated node"), how.seed);
  report.environment =
      environment_of(site, how, seconds_of(real_clock.now() - began), grown / how.nodes);
  return report;
}

}  // namespace plnet::sim
