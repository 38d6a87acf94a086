// SPDX-License-Identifier: BSD-3-Clause
// Watches the placed node from outside while it is measured: processor counters of its threads,
// CPU time, the CPUs that it is on, the power that the packages take.
#pragma once

#include <string>
#include <vector>

#include <sys/types.h>

#include "apps/lnet-pin/run/figures.hpp"
#include "apps/lnet-selftest/run/cpu_times.hpp"
#include "lib/base/clock.hpp"
#include "lib/runtime/admin/descriptor.hpp"

namespace plnet::pin {

class NodeWatch {
 public:
  // `cpus`: of its placement. `root`: of /proc and /sys; "" but for tests.
  NodeWatch(pid_t node, std::vector<unsigned> cpus, std::string root);

  // Now and then while the traffic passes.
  void sample(Instant now);
  // Fills in what has happened since the start. The node is still there. `window`: how long the
  // measurement was; the busiest such time of the samples is taken for it, since only the engine
  // knows when it began.
  void read(Figures& figures, Duration window) const;
  // Why there are no processor counters; "": there are.
  [[nodiscard]] const std::string& counters_note() const { return note_; }

 private:
  struct Counter {
    std::string name;
    runtime::Descriptor file;
  };
  void open_counters(pid_t node);
  [[nodiscard]] double cpu_seconds() const;
  [[nodiscard]] double preempted() const;
  [[nodiscard]] double busiest(Duration window) const;

  pid_t node_;
  std::vector<unsigned> cpus_;
  std::string root_;
  std::vector<Counter> counters_{};
  std::string note_{};
  run::CpuTimes times_{};
  std::vector<std::pair<Instant, double>> samples_{};  // CPU seconds by then
  double throttled_ = 0;
  double joules_ = 0;
};

// Energy of all packages since some moment; 0 if it cannot be read.
[[nodiscard]] double package_joules(const std::string& root);

}  // namespace plnet::pin
