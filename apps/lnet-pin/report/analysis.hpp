// SPDX-License-Identifier: BSD-3-Clause
// The statistics of a journal, for each aim of choosing a placement.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "apps/lnet-pin/run/journal.hpp"
#include "apps/lnet-pin/stats/effects.hpp"
#include "apps/lnet-pin/stats/paired.hpp"

namespace plnet::pin {

enum class Aim : std::uint8_t { kThroughput, kP99, kEfficiency, kWatt };

struct AimRow {
  Aim aim;
  std::string_view name;  // on the command line
  std::string_view title;
  std::string_view unit;
  bool higher_is_better;
};
inline constexpr std::array<AimRow, 4> kAims{{
    {Aim::kThroughput, "throughput", "throughput", "MiB/s", true},
    {Aim::kP99, "p99", "latency, 99th percentile", "µs", false},
    {Aim::kEfficiency, "efficiency", "throughput per busy core", "MiB/s", true},
    {Aim::kWatt, "watt", "throughput per watt", "MiB/s", true},
}};
[[nodiscard]] const AimRow& row_of(Aim aim);
[[nodiscard]] std::optional<Aim> aim_named(std::string_view name);

struct PlacementResult {
  std::size_t placement = 0;
  std::size_t rounds = 0;  // with a figure
  Interval interval{};     // of the median
  Comparison versus{};     // the baseline
};

struct AimAnalysis {
  Aim aim = Aim::kThroughput;
  std::vector<PlacementResult> results{};  // those with a figure, best first
  Effects effects{};
  std::size_t effect_rounds = 0;  // common to all of these placements

  [[nodiscard]] const PlacementResult* find(std::size_t placement) const;
};

struct Analysis {
  std::vector<AimAnalysis> aims{};           // those with figures
  std::optional<double> overhead_percent{};  // CPU time of lnet-pin over that of the placed node
  std::size_t measurements = 0;
  std::size_t disturbed = 0;
  std::size_t failed = 0;

  [[nodiscard]] const AimAnalysis* find(Aim aim) const;
};

// Equal results give an equal analysis, with any number of threads.
[[nodiscard]] Analysis analyse(const Results& results, unsigned resamples = Bootstrap{}.resamples);

// Pings count messages, transfers count bytes.
[[nodiscard]] std::string_view unit_of(Aim aim, const Plan& plan);

}  // namespace plnet::pin
