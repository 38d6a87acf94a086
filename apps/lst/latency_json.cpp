// SPDX-License-Identifier: BSD-3-Clause
#include "apps/lst/latency_json.hpp"

#include <cmath>
#include <string>
#include <vector>

namespace plnet::lst {
namespace {

using runtime::Json;
using Counts = std::vector<std::uint64_t>;

Json json_of(const Histogram& histogram) {
  HistogramSnapshot now;
  histogram.snapshot(now);
  Json buckets = Json::array();
  for (std::size_t i = 0; i < HistogramSnapshot::kBuckets; ++i) {
    if (now.in_bucket(i) > 0) buckets.push_back(Json::array({i, now.in_bucket(i)}));
  }
  return {{"max", now.max()}, {"buckets", std::move(buckets)}};
}

Outcome<Counts> counts_of(const Json& answer, std::string_view test) {
  const auto damaged = [] { return failure(Errc::kInvalid, "no latencies of a node"); };
  const std::string name(test);
  if (!answer.is_object() || !answer.contains(name)) return damaged();
  const Json& histogram = answer[name];
  if (!histogram.is_object() || !histogram.contains("buckets")) return damaged();
  Counts counts(HistogramSnapshot::kBuckets);
  for (const Json& each : histogram["buckets"]) {
    if (!each.is_array() || each.size() != 2 || !each[0].is_number_unsigned() ||
        !each[1].is_number_unsigned()) {
      return damaged();
    }
    const auto bucket = each[0].get<std::uint64_t>();
    if (bucket >= counts.size()) return damaged();
    counts[bucket] = each[1].get<std::uint64_t>();
  }
  return counts;
}

// The top of the bucket in which the `share` of all is reached, in microseconds.
double percentile_us(const Counts& counts, std::uint64_t all, double share) {
  const auto wanted = static_cast<std::uint64_t>(std::ceil(static_cast<double>(all) * share));
  std::uint64_t seen = 0;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    seen += counts[i];
    if (seen >= wanted && seen > 0)
      return static_cast<double>(HistogramSnapshot::top_of(i)) / 1000.0;
  }
  return 0;
}

}  // namespace

Json latency_json(const selftest::TestLatency& latency) {
  return {{"ping", json_of(latency.ping)},
          {"read", json_of(latency.read)},
          {"write", json_of(latency.write)}};
}

Outcome<LatencyFigures> latency_between(const Json& before, const Json& after,
                                        std::string_view test) {
  const auto then = counts_of(before, test);
  if (!then) return std::unexpected(then.error());
  auto now = counts_of(after, test);
  if (!now) return std::unexpected(now.error());
  LatencyFigures figures;
  for (std::size_t i = 0; i < now->size(); ++i) {
    std::uint64_t& count = (*now)[i];
    if (count < (*then)[i]) return failure(Errc::kStale, "the node began anew in between");
    count -= (*then)[i];
    figures.count += count;
  }
  if (figures.count == 0) return figures;
  figures.p50_us = percentile_us(*now, figures.count, 0.5);
  figures.p90_us = percentile_us(*now, figures.count, 0.9);
  figures.p99_us = percentile_us(*now, figures.count, 0.99);
  figures.p999_us = percentile_us(*now, figures.count, 0.999);
  figures.max_us = percentile_us(*now, figures.count, 1);
  return figures;
}

}  // namespace plnet::lst
