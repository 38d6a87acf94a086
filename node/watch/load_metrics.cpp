// SPDX-License-Identifier: BSD-3-Clause
#include "node/watch/load_metrics.hpp"

#include <span>
#include <string>
#include <utility>

namespace plnet::node {
namespace {

// Delays come last: only next hops have them.
constexpr auto kInfo = std::to_array<CounterInfo>({
    {"messages_per_second", "", CounterKind::kGauge, "estimated, of the last 10 to 20 seconds"},
    {"bytes_per_second", "", CounterKind::kGauge, "estimated, of the last 10 to 20 seconds"},
    {"p50", "ns", CounterKind::kGauge, "median time of its messages in the network driver"},
    {"p99", "ns", CounterKind::kGauge, "99th percentile of their time in the network driver"},
});
constexpr std::size_t kRates = 2;
constexpr runtime::HistogramInfo kTimes{"duration", "ns",
                                        "time of messages in the network driver, estimated"};

std::uint64_t ns_of(Duration duration) {
  return static_cast<std::uint64_t>(duration.count());
}

// One message in kSampleMean was sampled.
runtime::HistogramFigures figures_of(const lnet::HopTimes& times) {
  constexpr std::uint64_t kEach = lnet::LoadTally::kSampleMean;
  runtime::HistogramFigures figures{
      .buckets = {}, .count = times.count() * kEach, .sum = ns_of(times.sum()) * kEach};
  std::uint64_t below = 0;
  std::size_t at = 0;
  for (unsigned bits = LoadMetrics::kFirstBound; bits <= LoadMetrics::kLastBound; ++bits) {
    const Duration bound = std::chrono::microseconds(std::uint64_t{1} << bits);
    for (const std::size_t end = lnet::HopTimes::bucket_of(bound); at < end; ++at)
      below += times.in_bucket(at);
    figures.buckets.push_back({.bound = ns_of(bound), .below = below * kEach});
  }
  return figures;
}

}  // namespace

void LoadMetrics::show(const lnet::LoadSnapshot& snapshot) {
  let_go();
  const auto times = times_of_all_hops(snapshot);
  for (const lnet::LoadBy by : lnet::kLoadBys) {
    for (const lnet::LoadRow& row : heaviest(snapshot, by, kRows)) {
      const auto its = by == lnet::LoadBy::kHop ? times.find(row.name) : times.end();
      show(row, by, its == times.end() ? nullptr : &its->second);
    }
  }
}

void LoadMetrics::show(const lnet::LoadRow& row, lnet::LoadBy by, const lnet::HopTimes* times) {
  auto shown = std::make_unique<Row>();
  shown->values[0] = row.messages;
  shown->values[1] = row.bytes;
  if (row.delay) {
    shown->values[2] = ns_of(row.delay->p50);
    shown->values[3] = ns_of(row.delay->p99);
  }
  const std::size_t count = row.delay ? kInfo.size() : kRates;
  const std::string name(name_of(by));
  shown->id = metrics_.add(
      "top_" + name, {{name, row.name}},
      {.info = std::span(kInfo).first(count), .values = std::span(shown->values).first(count)});
  if (times != nullptr)
    shown->times = metrics_.add("top_" + name, {{name, row.name}}, kTimes, figures_of(*times));
  rows_.push_back(std::move(shown));
}

void LoadMetrics::let_go() {
  for (const auto& row : rows_) {
    metrics_.remove(row->id);
    if (const auto& times = row->times) metrics_.remove(*times);
  }
  rows_.clear();
}

}  // namespace plnet::node
