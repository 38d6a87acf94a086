// SPDX-License-Identifier: BSD-3-Clause
// The report of a run: the same figures as text, JSON, CSV and a self-contained page.
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
  std::map<std::string, std::string> configurations{};  // of known nodes, as exported
  std::vector<NodeCpt> cpts{};                          // of this machine's nodes that report them
  std::map<std::string, std::string> hosts{};           // of nodes whose NIDs do not show them:
                                                        // report_hosts.hpp
  std::string simulated{};  // description of the simulation, if no machine was
                            // measured
  bool complete = false;
  bool interrupted = false;
  std::string failure{};
  std::string left_behind{};
  std::vector<HighestRate> highest_rates{};
  std::string floor_note{};           // explains floors; "": there are none
  std::string latency_note{};         // the clients behind percentiles, or the reason for missing
                                      // ones
  std::vector<std::string> missed{};  // missed thresholds
};

// "complete", "interrupted: …", "failed: …"
[[nodiscard]] std::string outcome_of(const Report& report);

[[nodiscard]] Json json_of(const Report& report);
// Invalid UTF-8, possible in names of this machine, is replaced.
[[nodiscard]] std::string dump_of(const Json& json, int indent = -1);
[[nodiscard]] std::string text_of(const Report& report);
// A line for each repeat of each point.
[[nodiscard]] std::string csv_of(const Report& report);
[[nodiscard]] std::string html_of(const Report& report);

// One line of the table in displays and reports, and its heading.
struct TableColumns {
  bool latency = true;
  bool rate = false;  // of an open loop
};
[[nodiscard]] std::string table_head(TableColumns columns);
[[nodiscard]] std::string table_row(const PointFigures& point, TableColumns columns);
// "ping, concurrency 8: 41000/s keep p99:200 us", for this number of clients.
[[nodiscard]] std::string text_of(const HighestRate& highest, const RateGoal& goal,
                                  std::size_t clients);

// The answers of the search, a line each; "" without a search.
[[nodiscard]] std::string highest_rates_text(const Report& report);

// The name of a fact in a report for people: "kernel_command_line" as "kernel command line".
[[nodiscard]] std::string label_of(std::string_view key);

// --- Thresholds ---

// A sentence for each threshold that a point has missed.
[[nodiscard]] std::vector<std::string> missed_limits(const Limits& limits,
                                                     const std::vector<PointFigures>& points);

}  // namespace plnet::run
