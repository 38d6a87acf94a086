// SPDX-License-Identifier: BSD-3-Clause
// Memory for router buffers: address space for more of them than are asked for at start, so that
// `lnetctl set large_buffers` can add some to a running node. Real memory is taken for those that
// are used.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "lib/base/arena.hpp"
#include "lib/base/result.hpp"
#include "lib/lnet/flow/router_buffers.hpp"
#include "lib/lnet/node/node_config.hpp"
#include "lib/runtime/cpt/cpt_plan.hpp"
#include "lib/runtime/host/memory.hpp"

namespace plnet::node {

// There is room for so many times what the node is started with, or the kernel's defaults if that
// is less.
inline constexpr std::uint32_t kRouterBuffersRoom = 4;

// Of one class and shard: of large ones that is 16 TiB.
inline constexpr std::uint32_t kRouterBuffersMost = 1U << 24U;

// Of the memory that a NUMA node could give at start: buffers whose number nobody has set begin
// with a quarter at most, and grow to a half together with the others. The rest is for the system's
// sockets and for whoever else is there.
inline constexpr std::uint64_t kRouterFirstPart = 4;
inline constexpr std::uint64_t kRouterMostPart = 2;

// They grow to so many times the kernel's default: what a message in one more buffer needs beside
// it, its receive record, is made at start.
inline constexpr lnet::BufferCounts kRouterGrowth{{2, 2, 4}};

// Of a shard at a time; more buffers than that are of no use.
inline constexpr std::uint32_t kForwardsMost = 65536;

// Bytes that a NUMA node could give; 0: unknown.
using AvailableMemory = std::function<std::uint64_t(unsigned numa_node)>;

[[nodiscard]] lnet::BufferCounts router_buffers_of(const lnet::BuffersConfig& config);

// Messages that can be in buffers of a shard at a time, however they grow.
[[nodiscard]] std::uint32_t forwards_of_shard(const lnet::BuffersConfig& config, unsigned shards);

// Of each of so many shards that share so much memory; 0: nobody knows how much that is.
[[nodiscard]] lnet::PoolBudget pool_budget(std::uint64_t available, unsigned sharing,
                                           const lnet::BuffersConfig& config, unsigned shards);

// For each shard of the plan, near its CPT. Empty if there is no address space for it, which is an
// error only if the node shall route from the start.
[[nodiscard]] Outcome<std::vector<lnet::RouterMemory>> reserve_router_memory(
    runtime::ArenaMemory& memory, ArenaTable& arenas, const runtime::CptPlan& plan,
    const lnet::NodeConfig& config, const AvailableMemory& available);

}  // namespace plnet::node
