// SPDX-License-Identifier: BSD-3-Clause
// The machine to place nodes on: its topology, its network cards and its isolated CPUs.
#pragma once

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "lib/base/result.hpp"
#include "lib/runtime/cpt/topology.hpp"

namespace plnet::pin {

using Json = nlohmann::ordered_json;

inline constexpr std::size_t kNicsMax = 64;    // more than any machine has slots for
inline constexpr std::size_t kIrqsMax = 4096;  // of one card: the largest have 2048 queues

struct Nic {
  std::string name;
  int numa_node = -1;
  unsigned queues = 0;
  std::vector<unsigned> interrupts{};

  bool operator==(const Nic&) const = default;
};

struct Machine {
  runtime::Topology topology{};
  std::vector<Nic> nics{};
  std::vector<unsigned> isolated{};      // isolcpus= and nohz_full=
  std::vector<std::string> governors{};  // that can be set; empty: none

  [[nodiscard]] const Nic* find_nic(std::string_view name) const;
};

// `root`: of /proc and /sys; "" except in tests. Descriptions and files have no information about
// cards.
[[nodiscard]] Outcome<Machine> read_machine(const runtime::MachineSource& source,
                                            const std::string& root);

// For journals. The error names the invalid part of a document.
[[nodiscard]] Json json_of(const Machine& machine);
[[nodiscard]] Outcome<Machine> machine_of(const Json& json);

}  // namespace plnet::pin
