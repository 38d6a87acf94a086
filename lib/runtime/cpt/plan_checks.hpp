// SPDX-License-Identifier: BSD-3-Clause
// The planner's checks of requested lists, and the warnings about a finished plan.
#pragma once

#include <span>

#include "lib/base/result.hpp"
#include "lib/runtime/cpt/cpt_plan.hpp"

namespace plnet::runtime {

// Checks that need no machine: counts, names, a NIC queue that two CPTs request.
[[nodiscard]] Outcome<void> check_list(std::span<const CptRequest> list);

// The hardware thread of the request. The error does not name the shard.
[[nodiscard]] Outcome<const HardwareThread*> find_requested_cpu(const ShardRequest& shard,
                                                                const Topology& topology);

// Sets shares_cpu and shares_core.
void mark_sharing(CptPlan& plan);

// Fills the distances of all CPTs; between CPTs it is the largest between nodes of their CPUs
// (lustre-release lnet/lnet/lib-cpt.c: cfs_cpt_distance_calculate()).
void measure_distances(CptPlan& plan, const Topology& topology);

// Adds a warning for each part of the request that this division ignores.
void warn_of_no_effect(CptPlan& plan, const CptPlanRequest& request);

// Adds the warnings that follow from the placement.
void warn_of_placement(CptPlan& plan, const Topology& topology);

}  // namespace plnet::runtime
