// SPDX-License-Identifier: BSD-3-Clause
// Observes the placed node from outside during a measurement: processor counters of its threads,
// CPU time, its CPUs, the power of the packages.
#pragma once

#include <cstdint>
#include <expected>
#include <functional>
#include <string>
#include <vector>

#include <sys/types.h>

#include "apps/lnet-pin/run/figures.hpp"
#include "apps/lnet-selftest/run/cpu_times.hpp"
#include "lib/base/clock.hpp"
#include "lib/runtime/admin/descriptor.hpp"

namespace plnet::pin {

// One processor counter. The numbers are those of perf_event_open(2).
struct CounterKind {
  const char* name;
  std::uint32_t type;
  std::uint64_t config;
};
// Opens a counter of a thread: a descriptor that reads its value as eight bytes. The error: errno.
using CounterOpener =
    std::function<std::expected<int, int>(const CounterKind&, pid_t thread, bool with_kernel)>;
[[nodiscard]] std::expected<int, int> open_counter(const CounterKind& kind, pid_t thread,
                                                   bool with_kernel);

class NodeWatch {
 public:
  // `cpus`: of its placement. `root`: of /proc and /sys; "" except in tests.
  NodeWatch(pid_t node, std::vector<unsigned> cpus, std::string root,
            const CounterOpener& opener = open_counter);

  // Call periodically during the traffic.
  void sample(Instant now);
  // Fills in the figures since the start, while the node still runs. `window`: the length of the
  // measurement; the busiest window of this length in the samples counts, since only the engine
  // knows its beginning.
  void read(Figures& figures, Duration window) const;
  // The reason for missing processor counters; "": available.
  [[nodiscard]] const std::string& counters_note() const { return note_; }

 private:
  struct Counter {
    std::string name;
    runtime::Descriptor file;
  };
  void open_counters(const CounterOpener& opener);
  [[nodiscard]] double cpu_seconds() const;
  [[nodiscard]] double preempted() const;
  [[nodiscard]] double busiest(Duration window) const;

  pid_t node_;
  std::vector<unsigned> cpus_;
  std::string root_;
  std::vector<Counter> counters_{};
  std::string note_{};
  run::CpuTimes times_{};
  std::vector<std::pair<Instant, double>> samples_{};  // cumulative CPU seconds
  double throttled_ = 0;
  double joules_ = 0;
};

// Energy of all packages since some moment; 0 if it is not readable.
[[nodiscard]] double package_joules(const std::string& root);

}  // namespace plnet::pin
