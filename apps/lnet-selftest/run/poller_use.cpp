// SPDX-License-Identifier: BSD-3-Clause
#include "apps/lnet-selftest/run/poller_use.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace plnet::run {
namespace {

std::uint64_t count_of(const runtime::Json& json, const char* key) {
  const auto found = json.find(key);
  return found != json.end() && found->is_number() ? found->get<std::uint64_t>() : 0;
}

double growth(std::uint64_t before, std::uint64_t after) {
  return after > before ? static_cast<double>(after - before) : 0;
}

std::optional<PollerUse> use_of(const NodeTimes& before, const NodeTimes& after) {
  PollerUse use{.node = after.node, .role = after.role};
  double busy = 0;
  double longest = 0;
  double all = 0;
  for (const ShardTimes& now : after.shards) {
    const auto then = std::ranges::find(before.shards, now.shard, &ShardTimes::shard);
    if (then == before.shards.end() || now.busy_nsec < then->busy_nsec) return std::nullopt;
    const double worked = growth(then->busy_nsec, now.busy_nsec);
    const double past = worked + growth(then->free_nsec, now.free_nsec);
    if (past <= 0) return std::nullopt;
    use.shards.push_back({now.cpt, now.shard, now.cpu, worked / past * 100});
    busy += worked;
    all += past;
    longest = std::max(longest, past);
  }
  if (all <= 0) return std::nullopt;
  const double seconds = longest / 1e9;
  use.duty_percent = busy / all * 100;
  use.cycle_rate = busy / 1e9 * after.cycles_per_second / seconds;
  use.forward_rate = growth(before.forwarded, after.forwarded) / seconds;
  return use;
}

}  // namespace

std::string_view text_of(Role role) {
  switch (role) {
    case Role::kClient: return "client";
    case Role::kServer: return "server";
    case Role::kRouter: break;
  }
  return "router";
}

std::optional<NodeTimes> read_times(std::string node, Role role, const runtime::Json& cpts,
                                    const runtime::Json& statistics) {
  NodeTimes times{.node = std::move(node), .role = role};
  const auto list = cpts.is_object() ? cpts.find("cpt") : cpts.end();
  if (list == cpts.end() || !list->is_array()) return std::nullopt;
  for (const runtime::Json& cpt : *list) {
    const auto shards = cpt.is_object() ? cpt.find("shards") : cpt.end();
    if (shards == cpt.end() || !shards->is_array()) return std::nullopt;
    for (const runtime::Json& shard : *shards) {
      if (!shard.is_object() || !shard.contains("busy_nsec")) return std::nullopt;
      times.shards.push_back(
          {.cpt = static_cast<unsigned>(count_of(cpt, "cpt")),
           .shard = static_cast<unsigned>(count_of(shard, "shard")),
           .cpu = static_cast<unsigned>(count_of(shard, "cpu")),
           .busy_nsec = count_of(shard, "busy_nsec"),
           .free_nsec = count_of(shard, "idle_nsec") + count_of(shard, "asleep_nsec")});
      times.cycles_per_second = static_cast<double>(count_of(shard, "cycles per second"));
    }
  }
  const auto counted = statistics.is_object() ? statistics.find("statistics") : statistics.end();
  if (counted != statistics.end() && counted->is_object())
    times.forwarded = count_of(*counted, "route_count");
  return times;
}

std::vector<PollerUse> use_between(const PollerTimes& before, const PollerTimes& after) {
  std::vector<PollerUse> uses;
  for (const NodeTimes& now : after) {
    const auto then = std::ranges::find(before, now.node, &NodeTimes::node);
    if (then == before.end()) continue;
    if (auto use = use_of(*then, now)) uses.push_back(std::move(*use));
  }
  return uses;
}

std::string text_of(const PollerUse& use) {
  std::string text =
      fmt::format("{} ({}): duty {:.0f} %", use.node, text_of(use.role), use.duty_percent);
  if (use.shards.size() > 1) {
    std::string shards;
    for (const ShardUse& shard : use.shards)
      shards += fmt::format("{}CPU {}: {:.0f} %", shards.empty() ? "" : ", ", shard.cpu,
                            shard.duty_percent);
    text += fmt::format(" ({})", shards);
  }
  const bool routes = use.role == Role::kRouter;
  if (use.cycles_each)
    text += fmt::format(", {:.0f} cycles per {}", *use.cycles_each, routes ? "message" : "RPC");
  if (routes) text += fmt::format(", {:.0f} messages/s forwarded", use.forward_rate);
  return text;
}

}  // namespace plnet::run
