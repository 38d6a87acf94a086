// SPDX-License-Identifier: BSD-3-Clause
#include "apps/lnet-selftest/lst/latency_json.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <utility>
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

// Zeros for nodes that know no pace.
PaceFigures pace_of(const Json& answer) {
  const auto found = answer.find("pace");
  if (found == answer.end() || !found->is_object()) return {};
  const auto number = [&found](const char* name) -> std::uint64_t {
    const auto at = found->find(name);
    return at != found->end() && at->is_number_unsigned() ? at->template get<std::uint64_t>() : 0;
  };
  return {number("begun"), number("waited"), number("dropped")};
}

// The upper bound of the bucket that contains the `share` quantile, in microseconds.
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

Json latency_json(const selftest::TestLatency& latency, const selftest::PaceStatistics& paced) {
  using selftest::PaceCount;
  Json json = Json::object();
  for (const auto& [test, histogram] : selftest::kTestLatencies)
    json[test] = json_of(latency.*histogram);
  json["pace"] = {{"begun", paced.get(PaceCount::kBegun)},
                  {"waited", paced.get(PaceCount::kWaited)},
                  {"dropped", paced.get(PaceCount::kDropped)}};
  return json;
}

Outcome<LatencySeen> latency_between(const Json& before, const Json& after, std::string_view test) {
  const auto then = counts_of(before, test);
  if (!then) return std::unexpected(then.error());
  auto now = counts_of(after, test);
  if (!now) return std::unexpected(now.error());
  for (std::size_t i = 0; i < now->size(); ++i) {
    if ((*now)[i] < (*then)[i]) return failure(Errc::kStale, "the node restarted in between");
    (*now)[i] -= (*then)[i];
  }
  LatencySeen seen{.buckets = std::move(*now)};
  const PaceFigures first = pace_of(before);
  const PaceFigures last = pace_of(after);
  seen.pace = {last.begun - first.begun, last.waited - first.waited, last.dropped - first.dropped};
  return seen;
}

LatencyFigures figures_of(const LatencySeen& seen) {
  LatencyFigures figures;
  figures.count = std::accumulate(seen.buckets.begin(), seen.buckets.end(), std::uint64_t{0});
  if (figures.count == 0) return figures;
  figures.p50_us = percentile_us(seen.buckets, figures.count, 0.5);
  figures.p90_us = percentile_us(seen.buckets, figures.count, 0.9);
  figures.p99_us = percentile_us(seen.buckets, figures.count, 0.99);
  figures.p999_us = percentile_us(seen.buckets, figures.count, 0.999);
  figures.max_us = percentile_us(seen.buckets, figures.count, 1);
  return figures;
}

void add_to(LatencySeen& sum, const LatencySeen& one) {
  sum.buckets.resize(std::max(sum.buckets.size(), one.buckets.size()));
  for (std::size_t i = 0; i < one.buckets.size(); ++i)
    sum.buckets[i] += one.buckets[i];
  sum.pace.begun += one.pace.begun;
  sum.pace.waited += one.pace.waited;
  sum.pace.dropped += one.pace.dropped;
}

}  // namespace plnet::lst
