// SPDX-License-Identifier: BSD-3-Clause
#include "apps/assembly/load_metrics.hpp"

#include <span>
#include <string>
#include <utility>

namespace plnet::apps {
namespace {

// Delays last: only next hops have them.
constexpr auto kInfo = std::to_array<CounterInfo>({
    {"messages_per_second", "", CounterKind::kGauge, "estimated, of the last 10 to 20 seconds"},
    {"bytes_per_second", "", CounterKind::kGauge, "estimated, of the last 10 to 20 seconds"},
    {"p50", "ns", CounterKind::kGauge, "half of its messages were with the network driver so long"},
    {"p99", "ns", CounterKind::kGauge, "99 % were with the network driver no longer"},
});
constexpr std::size_t kRates = 2;

std::uint64_t ns_of(Duration duration) {
  return static_cast<std::uint64_t>(duration.count());
}

}  // namespace

void LoadMetrics::show(const lnet::LoadSnapshot& snapshot) {
  let_go();
  for (const lnet::LoadBy by : lnet::kLoadBys) {
    for (const lnet::LoadRow& row : heaviest(snapshot, by, kRows))
      show(row, by);
  }
}

void LoadMetrics::show(const lnet::LoadRow& row, lnet::LoadBy by) {
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
  rows_.push_back(std::move(shown));
}

void LoadMetrics::let_go() {
  for (const auto& row : rows_)
    metrics_.remove(row->id);
  rows_.clear();
}

}  // namespace plnet::apps
