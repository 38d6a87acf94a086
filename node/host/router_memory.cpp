// SPDX-License-Identifier: BSD-3-Clause
#include "node/host/router_memory.hpp"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

namespace plnet::node {

using lnet::BufferClass;
using lnet::BufferCounts;
using lnet::RouterMemory;

namespace {

// The largest size of each class without a configured count.
BufferCounts grown(const lnet::BuffersConfig& config, unsigned shards) {
  BufferCounts counts = lnet::buffers_of_shard(router_buffers_of(config), shards);
  const lnet::PoolFlags automatic = lnet::automatic_pools(router_buffers_of(config));
  for (const BufferClass each : lnet::kAllBufferClasses)
    counts[each] *= automatic[each] ? kRouterGrowth[each] : 1;
  return counts;
}

unsigned shards_on(const runtime::CptPlan& plan, unsigned memory_node) {
  std::size_t count = 0;
  for (const auto& cpt : plan.cpts)
    count += cpt.memory_node == memory_node ? cpt.shards.size() : 0;
  return static_cast<unsigned>(count);
}

}  // namespace

BufferCounts router_buffers_of(const lnet::BuffersConfig& config) {
  const auto asked = [](std::int32_t count) {
    return static_cast<std::uint32_t>(std::max(0, count));
  };
  return {{asked(config.tiny), asked(config.small), asked(config.large)}};
}

std::uint32_t forwards_of_shard(const lnet::BuffersConfig& config, unsigned shards) {
  const BufferCounts counts = grown(config, shards);
  const auto sum = std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(sum, kForwardsMost));
}

lnet::PoolBudget pool_budget(std::uint64_t available, unsigned sharing,
                             const lnet::BuffersConfig& config, unsigned shards) {
  lnet::PoolBudget budget;
  budget.most = grown({}, shards);
  budget.records = forwards_of_shard(config, shards);
  if (available == 0) return budget;
  budget.first_bytes = available / kRouterFirstPart / sharing;
  budget.most_bytes = available / kRouterMostPart / sharing;
  return budget;
}

Outcome<std::vector<RouterMemory>> reserve_router_memory(runtime::ArenaMemory& memory,
                                                         ArenaTable& arenas,
                                                         const runtime::CptPlan& plan,
                                                         const lnet::NodeConfig& config,
                                                         const AvailableMemory& available) {
  const auto shards = static_cast<unsigned>(plan.shard_count);
  BufferCounts most = lnet::buffers_of_shard(router_buffers_of(config.buffers), shards);
  const BufferCounts usual = lnet::buffers_of_shard({}, shards);
  for (const BufferClass each : lnet::kAllBufferClasses) {
    if (most[each] > kRouterBuffersMost) {
      return failure(Errc::kOutOfRange,
                     fmt::format("buffers: {} on each shard, expected at most {}", most[each],
                                 kRouterBuffersMost));
    }
    most[each] =
        std::min(kRouterBuffersRoom * std::max(most[each], usual[each]), kRouterBuffersMost);
  }

  std::vector<RouterMemory> of_shards;
  for (const auto& cpt : plan.cpts) {
    if (cpt.shards.empty()) continue;
    const auto added = memory.add(arenas, {.bytes = cpt.shards.size() * RouterMemory::bytes(most),
                                           .numa_node = static_cast<int>(cpt.memory_node),
                                           .reserve_only = true});
    if (!added) {
      if (config.routing) return std::unexpected(added.error());
      return std::vector<RouterMemory>{};
    }
    const lnet::PoolBudget budget = pool_budget(
        available(cpt.memory_node), shards_on(plan, cpt.memory_node), config.buffers, shards);
    for (std::size_t i = 0; i < cpt.shards.size(); ++i) {
      of_shards.push_back(
          {.at = {*added, i * RouterMemory::bytes(most)}, .most = most, .budget = budget});
    }
  }
  return of_shards;
}

}  // namespace plnet::node
