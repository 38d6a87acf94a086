// SPDX-License-Identifier: BSD-3-Clause
// Memory for router buffers: address space for more buffers than the node starts with, so that
// `lnetctl set large_buffers` can add some to a running node. Only used buffers take real memory.
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

// Room for this many times the buffers at the start, or the kernel's default if that is more.
inline constexpr std::uint32_t kRouterBuffersRoom = 4;

// Buffers of one class on a shard: 16 TiB of large ones.
inline constexpr std::uint32_t kRouterBuffersMost = 1U << 24U;

// Parts of the memory that a NUMA node could give at start, as divisors. Buffer pools without a
// configured count begin with a quarter of it at most, and grow to a half, all pools together. The
// rest is for the system's sockets and other programs.
inline constexpr std::uint64_t kRouterFirstPart = 4;
inline constexpr std::uint64_t kRouterMostPart = 2;

// Growth of automatic pools over the kernel's defaults. The limit is there since the receive record
// for each buffer is made at start.
inline constexpr lnet::BufferCounts kRouterGrowth{{2, 2, 4}};

// Forwarded messages on a shard at a time; more buffers are useless.
inline constexpr std::uint32_t kForwardsMost = 65536;

// Bytes that a NUMA node can provide; 0: unknown.
using AvailableMemory = std::function<std::uint64_t(unsigned numa_node)>;

[[nodiscard]] lnet::BufferCounts router_buffers_of(const lnet::BuffersConfig& config);

// The most messages in buffers of a shard at a time, however the pools grow.
[[nodiscard]] std::uint32_t forwards_of_shard(const lnet::BuffersConfig& config, unsigned shards);

// The budget of one of `sharing` shards on a NUMA node; `available` is 0 if that is unknown.
[[nodiscard]] lnet::PoolBudget pool_budget(std::uint64_t available, unsigned sharing,
                                           const lnet::BuffersConfig& config, unsigned shards);

// For each shard of the plan, near its CPT. Empty if there is no address space for it, which is an
// error only if the node routes from the start.
[[nodiscard]] Outcome<std::vector<lnet::RouterMemory>> reserve_router_memory(
    runtime::ArenaMemory& memory, ArenaTable& arenas, const runtime::CptPlan& plan,
    const lnet::NodeConfig& config, const AvailableMemory& available);

}  // namespace plnet::node
