// SPDX-License-Identifier: BSD-3-Clause
// Measured properties of a machine that matter to pollers.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "apps/lnet-pin/plan/machine.hpp"
#include "apps/lnet-pin/probe/cpu_users.hpp"
#include "apps/lnet-pin/probe/speeds.hpp"

namespace plnet::pin {

struct ProbeSetup {
  double seconds = 60;  // approximate total
  std::string root{};   // of /proc and /sys; "" except in tests
};

struct MemoryRow {
  unsigned cpu = 0;
  unsigned node = 0;
  Pages pages = Pages::kSmall;
  MemorySpeed speed{};
};
struct CpuRow {
  unsigned cpu = 0;
  double ghz = 0;
  double busy_ghz = 0;  // while all others compute as well
  double system_call_ns = 0;
  double wake_up_ns = 0;  // by another CPU, the first other one
  Noise noise{};
  double steal_percent = 0;  // over the whole probe
  std::string governor{};
};

struct Probe {
  Machine machine{};
  std::vector<unsigned> cpus{};  // the measured ones, in the order of rows and columns
  std::vector<std::vector<double>> line_ns{};  // 0: not measured
  std::vector<MemoryRow> memory{};
  std::vector<CpuRow> rows{};
  std::vector<CpuUsers> users{};
  std::string turbo{};  // "on", "off", "unknown"
  std::vector<std::string> disturbances{};
};

// Called before each step; false ends the probe early.
using ProbeProgress = std::function<bool(std::string_view what, double done)>;

[[nodiscard]] Outcome<Probe> probe_machine(Machine machine, const ProbeSetup& setup,
                                           const ProbeProgress& progress);

[[nodiscard]] std::string text_of(const Probe& probe);
[[nodiscard]] Json json_of(const Probe& probe);

}  // namespace plnet::pin
