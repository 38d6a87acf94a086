// SPDX-License-Identifier: BSD-3-Clause
// Detects placements that differ only by the names of CPUs, caches and nodes.
#pragma once

#include <span>
#include <string>

#include "apps/lnet-pin/plan/placement.hpp"

namespace plnet::pin {

// Equal keys: some exchange of siblings, cores, caches and NUMA nodes, and of CPTs with one
// another, converts one placement to the other, and preserves distances, network cards and reserved
// CPUs. `others`: CPUs of the other nodes. On machines with too many exchanges to try all, equal
// placements may have different keys, but never the reverse.
[[nodiscard]] std::string symmetry_key(const Placement& placement, const Machine& machine,
                                       std::span<const unsigned> others);

}  // namespace plnet::pin
