// SPDX-License-Identifier: BSD-3-Clause
#include "lib/runtime/cpt/plan_report.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "lib/runtime/cpt/number_list.hpp"

namespace plnet::runtime {
namespace {

using Json = nlohmann::ordered_json;

Json queues_to_json(const std::vector<NicQueues>& all) {
  Json queues = Json::object();
  for (const NicQueues& entry : all) {
    queues[entry.interface] = format_number_list(entry.queues);
  }
  return queues;
}

Json shard_to_json(const PlannedShard& shard) {
  Json json;
  json["shard"] = shard.number;
  json["cpu"] = shard.cpu;
  json["core"] = shard.core;
  json["smt"] = shard.smt;
  json["package"] = shard.package;
  json["l3"] = shard.l3;
  json["numa node"] = shard.numa_node;
  const auto flag = [&](const char* name, bool set) {
    if (set) {
      json[name] = true;
    }
  };
  flag("shares cpu", shard.shares_cpu);
  flag("shares core", shard.shares_core);
  flag("remote memory", shard.remote_memory);
  flag("outside mask", shard.outside_mask);
  return json;
}

Json cpt_to_json(const PlannedCpt& cpt, std::size_t number, const Topology& topology) {
  Json json;
  json["cpt"] = number;
  json["memory node"] = cpt.memory_node;
  json["shards"] = Json::array();
  for (const PlannedShard& shard : cpt.shards) {
    json["shards"].push_back(shard_to_json(shard));
  }
  if (!cpt.spare_cpus.empty()) {
    json["spare cpus"] = format_number_list(cpt.spare_cpus);
  }
  if (!cpt.nic_queues.empty()) {
    json["nic queues"] = queues_to_json(cpt.nic_queues);
  }
  std::string to_cpts;  // written as the kernel's cpu_partition_distance does
  for (std::size_t i = 0; i < cpt.distance_to_cpt.size(); ++i) {
    to_cpts += fmt::format("{}{}:{}", i == 0 ? "" : " ", i, cpt.distance_to_cpt[i]);
  }
  json["distance to cpts"] = to_cpts;
  std::string to_nodes;
  for (std::size_t i = 0; i < cpt.distance_to_node.size(); ++i) {
    to_nodes +=
        fmt::format("{}{}:{}", i == 0 ? "" : " ", topology.nodes[i].node, cpt.distance_to_node[i]);
  }
  json["distance to nodes"] = to_nodes;
  return json;
}

Json adapters_to_json(const std::vector<AdapterPlace>& adapters, const CptPlan& plan) {
  Json list = Json::array();
  for (const AdapterPlace& adapter : adapters) {
    Json json{{"name", adapter.name}, {"kind", adapter.rdma ? "rdma" : "network"}};
    json["numa node"] = adapter.numa_node;
    for (std::size_t i = 0; i < plan.cpts.size() && adapter.numa_node >= 0; ++i) {
      if (static_cast<int>(plan.cpts[i].memory_node) != adapter.numa_node) continue;
      json["near cpt"] = i;
      break;
    }
    list.push_back(std::move(json));
  }
  return list;
}

Json request_shard_to_json(const ShardRequest& shard) {
  Json json;
  const auto number = [&](const char* name, int value) {
    if (value >= 0) {
      json[name] = value;
    }
  };
  number("cpu", shard.cpu);
  number("core", shard.core);
  number("smt", shard.smt);
  return json;
}

}  // namespace

Json plan_to_json(const CptPlan& plan, const Topology& topology) {
  Json json;
  json["by"] = name_of(plan.by);
  json["reason"] = plan.reason;
  Json& machine = json["machine"];
  machine["name"] = topology.name;
  machine["cpus"] = topology.cpu_list();
  if (!topology.offline_cpus.empty()) {
    machine["offline cpus"] = format_number_list(topology.offline_cpus);
  }
  machine["cores"] = topology.cores;
  machine["packages"] = topology.packages;
  machine["numa nodes"] = topology.node_list();
  machine["distances"] = topology.distances_known ? "measured" : "assumed";
  if (!topology.adapters.empty()) {
    machine["adapters"] = adapters_to_json(topology.adapters, plan);
  }
  json["cpts"] = Json::array();
  for (std::size_t i = 0; i < plan.cpts.size(); ++i) {
    json["cpts"].push_back(cpt_to_json(plan.cpts[i], i, topology));
  }
  json["reserved cpus"] = format_number_list(plan.reserved_cpus);
  json["admin cpus"] = format_number_list(plan.admin_cpus);
  json["warnings"] = Json::array();
  for (const PlanWarning& warning : plan.warnings) {
    json["warnings"].push_back({{"kind", name_of(warning.kind)}, {"text", warning.text}});
  }
  return json;
}

Json request_to_json(const CptPlanRequest& request) {
  Json cpts;
  cpts["by"] = name_of(request.by);
  if (request.partitions != 0) {
    cpts["partitions"] = request.partitions;
  }
  if (request.by == CptPlanRequest::By::kPattern) {
    cpts["pattern"] = request.pattern;
  }
  if (request.shards_per_cpt != 0) {
    cpts["shards_per_cpt"] = request.shards_per_cpt;
  }
  if (!request.reserved_cpus.empty()) {
    cpts["reserved_cpus"] = format_number_list(request.reserved_cpus);
  }
  for (const CptRequest& cpt : request.list) {
    Json entry;
    entry["shards"] = Json::array();
    for (const ShardRequest& shard : cpt.shards) {
      entry["shards"].push_back(request_shard_to_json(shard));
    }
    if (cpt.memory_node >= 0) {
      entry["memory node"] = cpt.memory_node;
    }
    if (!cpt.nic_queues.empty()) {
      entry["nic queues"] = queues_to_json(cpt.nic_queues);
    }
    cpts["list"].push_back(std::move(entry));
  }
  Json json;
  json["plnet"]["cpts"] = std::move(cpts);
  return json;
}

}  // namespace plnet::runtime
