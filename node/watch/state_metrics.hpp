// SPDX-License-Identifier: BSD-3-Clause
// The states of NIs, routes, routing and peers among the node's metrics, for alerts: 1 for a state
// that holds, else 0. Updated periodically.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "lib/runtime/admin/metrics.hpp"
#include "node/watch/node_states.hpp"

namespace plnet::node {

class StateMetrics {
 public:
  // The series of peers are counted in pieces, and a scrape comes every some seconds.
  static constexpr Duration kPeriod = std::chrono::seconds(2);

  // The register outlives this object.
  explicit StateMetrics(runtime::Metrics& metrics) : metrics_(metrics) {}
  ~StateMetrics();
  StateMetrics(const StateMetrics&) = delete;
  StateMetrics& operator=(const StateMetrics&) = delete;

  // Series of NIs and routes that are gone end, the others keep their place.
  void show(const NodeStates& states);

 private:
  struct Row {
    runtime::Metrics::Id id{};
    std::atomic<std::uint64_t> value{0};
    bool shown = false;
  };
  using Labels = std::vector<runtime::MetricLabel>;

  void set(const CounterInfo& info, std::string_view object, const Labels& labels,
           std::uint64_t value);
  void set_credits(std::string_view object, const Labels& labels, const CreditStates& credits);

  runtime::Metrics& metrics_;
  std::map<std::string, std::unique_ptr<Row>> rows_;  // by object and labels
};

}  // namespace plnet::node
