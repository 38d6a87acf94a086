// SPDX-License-Identifier: BSD-3-Clause
// Which placements are the same but for the names of CPUs, caches and nodes.
#pragma once

#include <span>
#include <string>

#include "apps/lnet-pin/plan/placement.hpp"

namespace plnet::pin {

// Equal keys: some exchange of siblings, cores, caches and NUMA nodes, and of CPTs with one
// another, turns one placement into the other, and keeps distances, network cards and the CPUs that
// are set apart. `others`: CPUs of the other nodes. On machines whose exchanges are too many to try
// all, equal placements may have different keys, never the other way round.
[[nodiscard]] std::string symmetry_key(const Placement& placement, const Machine& machine,
                                       std::span<const unsigned> others);

}  // namespace plnet::pin
