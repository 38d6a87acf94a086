// SPDX-License-Identifier: BSD-3-Clause
// How a node tells the latencies of its tests over its control socket, and what a reader makes of
// two such answers.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "lib/base/result.hpp"
#include "lib/runtime/control/protocol.hpp"
#include "lib/selftest/test_latency.hpp"

namespace plnet::lst {

// {"ping": {"max": ns, "buckets": [[bucket, count], …]}, "read": …, "write": …,
//  "pace": {"begun": …, "waited": …, "dropped": …}}
[[nodiscard]] runtime::Json latency_json(const selftest::TestLatency& latency,
                                         const selftest::PaceStatistics& paced);

struct LatencyFigures {
  std::uint64_t count = 0;
  double p50_us = 0;
  double p90_us = 0;
  double p99_us = 0;
  double p999_us = 0;
  double max_us = 0;
};

// What happened at a pace that was set.
struct PaceFigures {
  std::uint64_t begun = 0;
  std::uint64_t waited = 0;
  std::uint64_t dropped = 0;
};

// Of one node, between two of its answers, or of several nodes together.
struct LatencySeen {
  std::vector<std::uint64_t> buckets{};  // of HistogramSnapshot; empty: nothing
  PaceFigures pace{};
};
[[nodiscard]] LatencyFigures figures_of(const LatencySeen& seen);
void add_to(LatencySeen& sum, const LatencySeen& one);

// `test` is "ping", "read" or "write". The error: an answer is not as latency_json() writes it, or
// they are not of one life of a node.
[[nodiscard]] Outcome<LatencySeen> latency_between(const runtime::Json& before,
                                                   const runtime::Json& after,
                                                   std::string_view test);

}  // namespace plnet::lst
