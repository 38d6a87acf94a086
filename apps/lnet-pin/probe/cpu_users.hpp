// SPDX-License-Identifier: BSD-3-Clause
// The other users of each CPU: interrupts, kernel threads that are bound to it, and the kernel's
// own settings.
#pragma once

#include <string>
#include <vector>

#include "apps/lnet-pin/plan/machine.hpp"

namespace plnet::pin {

struct CpuUsers {
  unsigned cpu = 0;
  bool isolated = false;                      // isolcpus= or nohz_full=
  std::vector<std::string> interrupts{};      // their owners, that go to this CPU only or among few
  std::vector<std::string> kernel_threads{};  // bound to it, without those that every CPU has

  [[nodiscard]] std::vector<std::string> names() const;
};

// One for each CPU of the machine. `root`: of /proc and /sys; "" but for tests.
[[nodiscard]] std::vector<CpuUsers> users_of_cpus(const Machine& machine, const std::string& root);

}  // namespace plnet::pin
