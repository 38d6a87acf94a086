// SPDX-License-Identifier: BSD-3-Clause
#include "apps/lnet-selftest/sim_options.hpp"

#include <array>
#include <string>

#include <fmt/format.h>

#include "lib/base/whole_number.hpp"
#include "lib/runtime/verbs/verb_row.hpp"

namespace plnet::apps {
namespace {

constexpr auto kOptions = std::to_array<OptionRow>({
    row_makers::text(
        "sim", 0, "N",
        "simulate this number of nodes: 10.1.0.1@tcp to 10.1.0.250@tcp, then 10.1.1.1@tcp"),
    row_makers::text("seed", 0, "N", "of the simulation; 1"),
    row_makers::text("sim-latency", 0, "TIME", "of its network, one way, like 2us or 0.1ms; 10us"),
});
constexpr Duration kLatency = std::chrono::microseconds(10);
constexpr Duration kLatencyMin = std::chrono::nanoseconds(100);
constexpr Duration kLatencyMax = std::chrono::seconds(1);

Outcome<std::uint64_t> read_number(const Arguments& arguments, const char* name, std::uint64_t low,
                                   std::uint64_t high) {
  const std::string& text = arguments.text(name);
  const auto number = whole_number<std::uint64_t>(text);
  if (number && *number >= low && *number <= high) return *number;
  return failure(Errc::kInvalid,
                 fmt::format("--{}: '{}', expected a number from {} to {}", name, text, low, high));
}

Outcome<Duration> read_latency(std::string text) {
  const std::string given = text;
  double scale = 1;
  if (text.ends_with("us")) {
    text.erase(text.size() - 2);
    scale = 1e-6;
  }
  const auto read = run::read_duration(text);
  const Duration latency =
      read ? std::chrono::duration_cast<Duration>(*read * scale) : Duration::zero();
  if (latency >= kLatencyMin && latency <= kLatencyMax) return latency;
  return failure(Errc::kInvalid,
                 fmt::format("--sim-latency: '{}', expected a time from 0.1us to 1s", given));
}

}  // namespace

std::span<const OptionRow> sim_options() {
  return kOptions;
}

Outcome<std::optional<sim::SimulatedRun>> simulation_of(const Arguments& arguments,
                                                        const run::Plan& plan) {
  if (!arguments.has("sim")) {
    if (arguments.has("seed") || arguments.has("sim-latency"))
      return failure(Errc::kInvalid, "--seed and --sim-latency need --sim N");
    return std::nullopt;
  }
  if (plan.baseline || !plan.control.empty())
    return failure(Errc::kInvalid, "--sim: baseline and control need real machines");
  sim::SimulatedRun how{.latency = kLatency};
  const auto nodes = read_number(arguments, "sim", 1, sim::kSelftestNodesMax);
  if (!nodes) return std::unexpected(nodes.error());
  how.nodes = static_cast<unsigned>(*nodes);
  if (arguments.has("seed")) {
    const auto seed = read_number(arguments, "seed", 0, UINT64_MAX);
    if (!seed) return std::unexpected(seed.error());
    how.seed = *seed;
  }
  if (arguments.has("sim-latency")) {
    const auto latency = read_latency(arguments.text("sim-latency"));
    if (!latency) return std::unexpected(latency.error());
    how.latency = *latency;
  }
  if (const auto known = sim::check_nodes(plan, how.nodes); !known)
    return std::unexpected(known.error());
  return how;
}

}  // namespace plnet::apps
