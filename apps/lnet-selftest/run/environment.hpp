// SPDX-License-Identifier: BSD-3-Clause
// What figures depend on besides the plan: this machine, as its kernel tells.
#pragma once

#include <string>
#include <vector>

#include "lib/runtime/control/protocol.hpp"

namespace plnet::run {

struct Interface {
  std::string name;
  std::vector<std::string> addresses;
};
// Those that are up and no loopback.
[[nodiscard]] std::vector<Interface> interfaces_of_machine();

struct EnvironmentFacts {
  std::string version;
  std::string date;
  std::vector<Interface> interfaces;
  std::vector<std::string> nids{};  // of nodes of this machine
  std::string root;                 // of /proc and /sys; "" but for tests
};
// CPU, cores, NUMA nodes, governor, kernel, hypervisor, huge pages; of each interface MTU, speed,
// driver, queues, the NIs on it; which CPUs the interrupts of its device go to. "unknown" where
// nobody tells.
[[nodiscard]] runtime::Json environment_of(const EnvironmentFacts& facts);

}  // namespace plnet::run
