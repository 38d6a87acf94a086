// SPDX-License-Identifier: BSD-3-Clause
// Facts that figures depend on besides the plan: this machine, as reported by its kernel.
#pragma once

#include <string>
#include <vector>

#include "lib/runtime/control/protocol.hpp"

namespace plnet::run {

struct Interface {
  std::string name;
  std::vector<std::string> addresses;
};
// Interfaces that are up, without loopback.
[[nodiscard]] std::vector<Interface> interfaces_of_machine();

struct EnvironmentFacts {
  std::string version;
  std::string date;
  std::vector<Interface> interfaces;
  std::vector<std::string> nids{};  // of nodes of this machine
  std::string root;                 // of /proc and /sys; "" except in tests
};
// CPU, cores, NUMA nodes, governor, kernel, hypervisor, huge pages; for each interface MTU, speed,
// driver, queues, the NIs on it; the CPUs of its device's interrupts. "unknown" for unavailable
// facts.
[[nodiscard]] runtime::Json environment_of(const EnvironmentFacts& facts);

}  // namespace plnet::run
