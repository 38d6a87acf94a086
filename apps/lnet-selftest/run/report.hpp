// SPDX-License-Identifier: BSD-3-Clause
// What a run leaves: the same figures as text, JSON, CSV and a page that needs nothing else.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "apps/lnet-selftest/run/figures.hpp"
#include "apps/lnet-selftest/run/plan.hpp"
#include "apps/lnet-selftest/run/rate_search.hpp"
#include "lib/runtime/control/protocol.hpp"

namespace plnet::run {

using runtime::Json;

inline constexpr const char* kReportFormat = "lnet-selftest run 1";

struct Report {
  Plan plan{};
  std::vector<Measurement> measurements{};
  Json environment = Json::object();
  std::vector<NodeCpt> cpts{};                 // of nodes of this machine that tell
  std::map<std::string, std::string> hosts{};  // of nodes whose NIDs do not tell: report_hosts.hpp
  std::string simulated{};                     // what with, if no machine was measured
  bool complete = false;
  bool interrupted = false;
  std::string failure{};
  std::string left_behind{};
  std::vector<HighestRate> highest_rates{};
  std::string floor_note{};           // of what floors are; "": there are none
  std::string latency_note{};         // of whom percentiles are, or why there are none
  std::vector<std::string> missed{};  // thresholds
};

// "complete", "interrupted: …", "failed: …"
[[nodiscard]] std::string outcome_of(const Report& report);

[[nodiscard]] Json json_of(const Report& report);
// Whatever is in it: names of this machine may have bytes that are no UTF-8, which are replaced.
[[nodiscard]] std::string dump_of(const Json& json, int indent = -1);
[[nodiscard]] std::string text_of(const Report& report);
// A line for each repeat of each point.
[[nodiscard]] std::string csv_of(const Report& report);
[[nodiscard]] std::string html_of(const Report& report);

// One line of the table that runs and reports show, and what stands above it.
struct TableColumns {
  bool latency = true;
  bool rate = false;  // of an open loop
};
[[nodiscard]] std::string table_head(TableColumns columns);
[[nodiscard]] std::string table_row(const PointFigures& point, TableColumns columns);
// "ping, concurrency 8: 41000/s keep p99:200 us". Searched for with so many clients.
[[nodiscard]] std::string text_of(const HighestRate& highest, const RateGoal& goal,
                                  std::size_t clients);

// --- Thresholds ---

// A sentence for each that a point has not met.
[[nodiscard]] std::vector<std::string> missed_limits(const Limits& limits,
                                                     const std::vector<PointFigures>& points);

}  // namespace plnet::run
