// SPDX-License-Identifier: BSD-3-Clause
// Who makes the load, among the node's metrics: the heaviest few of each kind, looked up anew now
// and then, so that there are never more series than kRows of each. How long the heaviest next hops
// took goes on counting while others are shown.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <optional>
#include <vector>

#include "lib/lnet/load/load_ranking.hpp"
#include "lib/runtime/admin/metrics.hpp"

namespace plnet::node {

class LoadMetrics {
 public:
  static constexpr std::size_t kRows = 10;
  // Bounds of the times of next hops: 8 microseconds to 8 seconds, each twice the one before.
  static constexpr unsigned kFirstBound = 3;
  static constexpr unsigned kLastBound = 23;
  // A window of the tally.
  static constexpr Duration kPeriod = lnet::LoadTally::kWindow;

  // The register outlives it.
  explicit LoadMetrics(runtime::Metrics& metrics) : metrics_(metrics) {}
  ~LoadMetrics() { let_go(); }
  LoadMetrics(const LoadMetrics&) = delete;
  LoadMetrics& operator=(const LoadMetrics&) = delete;

  // Instead of what there was.
  void show(const lnet::LoadSnapshot& snapshot);
  void let_go();

 private:
  struct Row {
    runtime::Metrics::Id id{};
    std::optional<runtime::Metrics::Id> times;
    std::array<std::atomic<std::uint64_t>, 4> values{};
  };

  // Null `times`: there are none of its kind.
  void show(const lnet::LoadRow& row, lnet::LoadBy by, const lnet::HopTimes* times);

  runtime::Metrics& metrics_;
  std::vector<std::unique_ptr<Row>> rows_;
};

}  // namespace plnet::node
