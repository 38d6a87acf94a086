// SPDX-License-Identifier: BSD-3-Clause
// The CPUs available to a plan: the set, the number of cores, the CPUs reserved for the system, and
// the order in which shards take them.
#pragma once

#include <cstddef>
#include <set>
#include <string>
#include <vector>

#include "lib/runtime/cpt/kernel_layout.hpp"
#include "lib/runtime/cpt/topology.hpp"

namespace plnet::runtime {

[[nodiscard]] UsableCpus usable_cpus(const Topology& topology, const std::set<unsigned>& reserved);

[[nodiscard]] std::size_t count_cores(const UsableCpus& usable);

// Adds the CPUs that are best reserved for the system. Returns the reason for the choice.
[[nodiscard]] std::string choose_reserved(const Topology& topology, const UsableCpus& usable,
                                          std::set<unsigned>& reserved);

// The CPUs of a partition in the order in which shards take them: the first sibling of each core,
// then the second of each, cores in machine order.
[[nodiscard]] UsableCpus taking_order(const Topology& topology, const std::vector<unsigned>& cpus);

}  // namespace plnet::runtime
