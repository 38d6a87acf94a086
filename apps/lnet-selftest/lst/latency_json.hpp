// SPDX-License-Identifier: BSD-3-Clause
// The format of test latencies in a node's answer on its control socket, and the difference of two
// such answers.
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

// Counts at a configured pace.
struct PaceFigures {
  std::uint64_t begun = 0;
  std::uint64_t waited = 0;
  std::uint64_t dropped = 0;
};

// Latencies of one node between two of its answers, or of several nodes together.
struct LatencySeen {
  std::vector<std::uint64_t> buckets{};  // of HistogramSnapshot; empty: none
  PaceFigures pace{};
};
[[nodiscard]] LatencyFigures figures_of(const LatencySeen& seen);
void add_to(LatencySeen& sum, const LatencySeen& one);

// `test` is "ping", "read" or "write". Errors: an answer is not in the format of latency_json(), or
// the two are of different lives of a node.
[[nodiscard]] Outcome<LatencySeen> latency_between(const runtime::Json& before,
                                                   const runtime::Json& after,
                                                   std::string_view test);

}  // namespace plnet::lst
