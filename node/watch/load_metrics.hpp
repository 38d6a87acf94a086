// SPDX-License-Identifier: BSD-3-Clause
// The load by sender among the node's metrics: the heaviest few of each kind, at most kRows series
// each, updated periodically. The times of next hops are counted even while their series are not
// shown.
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
  // Bounds of the histogram of next hops: 8 microseconds to 8 seconds, each twice the one before.
  static constexpr unsigned kFirstBound = 3;
  static constexpr unsigned kLastBound = 23;
  // A window of the tally.
  static constexpr Duration kPeriod = lnet::LoadTally::kWindow;

  // The register outlives this object.
  explicit LoadMetrics(runtime::Metrics& metrics) : metrics_(metrics) {}
  ~LoadMetrics() { let_go(); }
  LoadMetrics(const LoadMetrics&) = delete;
  LoadMetrics& operator=(const LoadMetrics&) = delete;

  // Replaces the present series.
  void show(const lnet::LoadSnapshot& snapshot);
  void let_go();

 private:
  struct Row {
    runtime::Metrics::Id id{};
    std::optional<runtime::Metrics::Id> times;
    std::array<std::atomic<std::uint64_t>, 4> values{};
  };

  // `times` is null if the row is no next hop.
  void show(const lnet::LoadRow& row, lnet::LoadBy by, const lnet::HopTimes* times);

  runtime::Metrics& metrics_;
  std::vector<std::unique_ptr<Row>> rows_;
};

}  // namespace plnet::node
