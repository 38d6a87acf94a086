// SPDX-License-Identifier: BSD-3-Clause
#include <fmt/format.h>

#include "apps/lnet-selftest/run/report.hpp"
#include "lib/base/counted.hpp"

namespace plnet::run {

std::vector<std::string> missed_limits(const Limits& limits,
                                       const std::vector<PointFigures>& points) {
  std::vector<std::string> missed;
  for (const PointFigures& point : points) {
    const std::string name = text_of(point.point);
    const double throughput = point.throughput_mibps.median;
    // Pings have no payload.
    if (limits.throughput_min_mibps && point.point.operation != Operation::kPing &&
        throughput < *limits.throughput_min_mibps) {
      missed.push_back(fmt::format("{}: {:.2f} MiB/s, expected at least {:.2f}", name, throughput,
                                   *limits.throughput_min_mibps));
    }
    if (limits.rate_min_rps && point.rpc_rate.median < *limits.rate_min_rps) {
      missed.push_back(fmt::format("{}: {:.0f} RPC/s, expected at least {:.0f}", name,
                                   point.rpc_rate.median, *limits.rate_min_rps));
    }
    if (limits.p99_max_us && !point.p99_us) {
      missed.push_back(fmt::format("{}: no latency is known, expected at most {:.0f} us", name,
                                   *limits.p99_max_us));
    } else if (limits.p99_max_us && point.p99_us->median > *limits.p99_max_us) {
      missed.push_back(fmt::format("{}: 99 % took up to {:.0f} us, expected at most {:.0f}", name,
                                   point.p99_us->median, *limits.p99_max_us));
    }
    if (limits.errors_max && point.errors > *limits.errors_max) {
      missed.push_back(fmt::format("{}: {}, expected at most {}", name,
                                   counted(point.errors, "error"), *limits.errors_max));
    }
  }
  return missed;
}

}  // namespace plnet::run
