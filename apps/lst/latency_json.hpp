// SPDX-License-Identifier: BSD-3-Clause
// How a node tells the latencies of its tests over its control socket, and what a reader makes of
// two such answers.
#pragma once

#include <optional>
#include <string_view>

#include "lib/base/result.hpp"
#include "lib/runtime/control/protocol.hpp"
#include "lib/selftest/test_latency.hpp"

namespace plnet::lst {

// {"ping": {"max": ns, "buckets": [[bucket, count], …]}, "read": …, "write": …}
[[nodiscard]] runtime::Json latency_json(const selftest::TestLatency& latency);

struct LatencyFigures {
  std::uint64_t count = 0;
  double p50_us = 0;
  double p90_us = 0;
  double p99_us = 0;
  double p999_us = 0;
  double max_us = 0;
};
// Of what came between two answers of one node; `test` is "ping", "read" or "write". count is 0 if
// there was nothing. The error: an answer is not as latency_json() writes it, or they are not of
// one life of a node.
[[nodiscard]] Outcome<LatencyFigures> latency_between(const runtime::Json& before,
                                                      const runtime::Json& after,
                                                      std::string_view test);

}  // namespace plnet::lst
