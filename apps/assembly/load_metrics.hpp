// SPDX-License-Identifier: BSD-3-Clause
// Who makes the load, among the node's metrics: the heaviest few of each kind, looked up anew now
// and then, so that there are never more series than kRows of each.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <vector>

#include "lib/lnet/load/load_ranking.hpp"
#include "lib/runtime/admin/metrics.hpp"

namespace plnet::apps {

class LoadMetrics {
 public:
  static constexpr std::size_t kRows = 10;
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
    std::array<std::atomic<std::uint64_t>, 4> values{};
  };

  void show(const lnet::LoadRow& row, lnet::LoadBy by);

  runtime::Metrics& metrics_;
  std::vector<std::unique_ptr<Row>> rows_;
};

}  // namespace plnet::apps
