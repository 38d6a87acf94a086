// SPDX-License-Identifier: BSD-3-Clause
#include "apps/assembly/router_memory.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace plnet::apps {

using lnet::BufferClass;
using lnet::BufferCounts;
using lnet::RouterMemory;

BufferCounts router_buffers_of(const lnet::BuffersConfig& config) {
  const auto asked = [](std::int32_t count) {
    return static_cast<std::uint32_t>(std::max(0, count));
  };
  return {{asked(config.tiny), asked(config.small), asked(config.large)}};
}

Outcome<std::vector<RouterMemory>> reserve_router_memory(runtime::ArenaMemory& memory,
                                                         ArenaTable& arenas,
                                                         const runtime::CptPlan& plan,
                                                         const lnet::NodeConfig& config) {
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
    for (std::size_t i = 0; i < cpt.shards.size(); ++i)
      of_shards.push_back({.at = {*added, i * RouterMemory::bytes(most)}, .most = most});
  }
  return of_shards;
}

}  // namespace plnet::apps
