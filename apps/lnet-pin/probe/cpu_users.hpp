// SPDX-License-Identifier: BSD-3-Clause
// Other users of each CPU: interrupts, kernel threads bound to it, and the kernel's own settings.
#pragma once

#include <string>
#include <vector>

#include "apps/lnet-pin/plan/machine.hpp"

namespace plnet::pin {

struct CpuUsers {
  unsigned cpu = 0;
  bool isolated = false;                      // isolcpus= or nohz_full=
  std::vector<std::string> interrupts{};      // owners of interrupts with this CPU only, or few
                                              // CPUs
  std::vector<std::string> kernel_threads{};  // bound to it, without those of every CPU

  [[nodiscard]] std::vector<std::string> names() const;
};

// One for each CPU of the machine. `root`: of /proc and /sys; "" except in tests.
[[nodiscard]] std::vector<CpuUsers> users_of_cpus(const Machine& machine, const std::string& root);

}  // namespace plnet::pin
