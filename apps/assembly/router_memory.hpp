// SPDX-License-Identifier: BSD-3-Clause
// Memory for router buffers: address space for more of them than are asked for at start, so that
// `lnetctl set large_buffers` can add some to a running node. Real memory is taken for those that
// are used.
#pragma once

#include <vector>

#include "lib/base/arena.hpp"
#include "lib/base/result.hpp"
#include "lib/lnet/flow/router_buffers.hpp"
#include "lib/lnet/node/node_config.hpp"
#include "lib/runtime/cpt/cpt_plan.hpp"
#include "lib/runtime/host/memory.hpp"

namespace plnet::apps {

// There is room for so many times what the node is started with, or the kernel's defaults if that
// is less.
inline constexpr std::uint32_t kRouterBuffersRoom = 4;

// Of one class and shard: of large ones that is 16 TiB.
inline constexpr std::uint32_t kRouterBuffersMost = 1U << 24U;

[[nodiscard]] lnet::BufferCounts router_buffers_of(const lnet::BuffersConfig& config);

// For each shard of the plan, near its CPT. Empty if there is no address space for it, which is an
// error only if the node shall route from the start.
[[nodiscard]] Outcome<std::vector<lnet::RouterMemory>> reserve_router_memory(
    runtime::ArenaMemory& memory, ArenaTable& arenas, const runtime::CptPlan& plan,
    const lnet::NodeConfig& config);

}  // namespace plnet::apps
