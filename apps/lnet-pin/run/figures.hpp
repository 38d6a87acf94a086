// SPDX-License-Identifier: BSD-3-Clause
// One measurement of one placement: the traffic, the placed node, and the disturbances.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include <nlohmann/json.hpp>

#include "lib/base/result.hpp"

namespace plnet::pin {

struct Figures {
  double throughput_mibps = 0;
  double rpc_rate = 0;
  std::optional<double> p50_us{};
  std::optional<double> p99_us{};
  std::uint64_t errors = 0;

  // Figures of the placed node; absent if it is on another machine, or if this one has none.
  std::optional<double> busy_cores{};   // average over the measurement
  std::optional<double> cpu_seconds{};  // over its whole life
  std::optional<double> duty_percent{};
  std::optional<double> longest_turn_us{};
  std::optional<double> hops{};            // between its shards
  std::optional<double> remote_buffers{};  // buffers on another NUMA node
  // "cycles", "instructions", "llc_misses", "remote_reads".
  std::map<std::string, double> counters{};
  std::optional<double> joules{};  // of the processor packages

  // Disturbances.
  double steal_percent = 0;            // on the CPUs of the placement
  double throttled = 0;                // number of thermal throttling events
  std::optional<double> preempted{};   // involuntary context switches of its threads
  std::optional<double> migrations{};  // of its threads

  double harness_cpu_seconds = 0;  // of lnet-pin and the traffic engine
};

[[nodiscard]] nlohmann::ordered_json json_of(const Figures& figures);
[[nodiscard]] Outcome<Figures> figures_of(const nlohmann::ordered_json& json);

// Empty: undisturbed. Else the disturbance.
[[nodiscard]] std::string disturbance_of(const Figures& figures, double steal_max_percent);

}  // namespace plnet::pin
