// SPDX-License-Identifier: BSD-3-Clause
// Results of sweeps whose measurements are made up.
#pragma once

#include <cmath>
#include <map>
#include <numbers>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "apps/lnet-pin/run/journal.hpp"
#include "lib/base/random.hpp"

namespace plnet::pin {

inline constexpr const char* kTwoNodes = "pack:2 [numa] core:2 pu:1";

// By placement; 0 or less: the measurement fails.
using Speeds = std::map<std::size_t, double>;

// Each placement has its own throughput, with noise and with a drift that all placements share.
class MadeUpStage final : public Stage {
 public:
  explicit MadeUpStage(Speeds speeds = {}, std::uint64_t seed = 1)
      : speeds_(std::move(speeds)), random_(seed) {}

  Outcome<Figures> measure(std::size_t placement) override {
    ++measured_;
    if (measured_ == stop_after_) return failure(Errc::kCancelled, "interrupted");
    const auto speed = speeds_.find(placement);
    if (failures_ > 0) {
      --failures_;
      return failure(Errc::kNoMemory, "no huge pages");
    }
    if (speed != speeds_.end() && speed->second <= 0) return failure(Errc::kIo, "host has gone");
    const double noise = std::exp(0.01 * normal());
    Figures figures{.throughput_mibps = (speed == speeds_.end() ? 1000.0 : speed->second) * noise};
    figures.rpc_rate = figures.throughput_mibps;
    figures.p99_us = 1e6 / figures.throughput_mibps;
    figures.busy_cores = 1;
    figures.cpu_seconds = 2;
    figures.harness_cpu_seconds = 0.01;
    if (steal_ > 0) {
      figures.steal_percent = steal_;
      steal_ = 0;
    }
    return figures;
  }

  void stop_after(std::size_t count) { stop_after_ = count; }
  void steal_once(double percent) { steal_ = percent; }
  void fail_next(unsigned count) { failures_ = count; }
  [[nodiscard]] std::size_t measured() const { return measured_; }

 private:
  double normal() {
    return std::sqrt(-2 * std::log1p(-random_.unit())) *
           std::cos(2 * std::numbers::pi * random_.unit());
  }

  Speeds speeds_;
  Random random_;
  std::size_t measured_ = 0;
  std::size_t stop_after_ = 0;
  double steal_ = 0;
  unsigned failures_ = 0;
};

inline Results results_of(const std::string& text, const char* machine = kTwoNodes) {
  Results results{.version = "0.0.0", .begun = "2026-01-01T00:00:00Z", .sweep_text = text};
  auto read = read_machine({.synthetic = machine}, "");
  EXPECT_TRUE(read);
  results.machine = std::move(*read);
  results.environment = {{"cpu", "<made up>"}};
  auto sweep = read_sweep(text, "sweep.yaml");
  EXPECT_TRUE(sweep) << (sweep ? "" : sweep.error().what);
  auto plan = make_plan(std::move(*sweep), results.machine);
  EXPECT_TRUE(plan) << (plan ? "" : plan.error().what);
  results.plan = std::move(*plan);
  return results;
}

inline Ending sweep_made_up(Results& results, MadeUpStage& stage) {
  const ManualClock clock;
  const SweeperHooks hooks{.keep = [](const Entry&) { return Outcome<void>{}; }};
  auto ending = sweep_all(results.plan, results.ledger, stage, hooks, clock);
  EXPECT_TRUE(ending);
  return ending.value_or(Ending::kNothing);
}

}  // namespace plnet::pin
