// SPDX-License-Identifier: BSD-3-Clause
// The configuration files of the nodes of a sweep.
#include <fmt/format.h>

#include "apps/lnet-pin/plan/placement.hpp"
#include "apps/lnet-pin/plan/plan.hpp"
#include "apps/lnet-pin/run/lab.hpp"
#include "lib/runtime/control/yaml_printer.hpp"
#include "lib/runtime/cpt/plan_report.hpp"
#include "node/net/lab_nic.hpp"

namespace plnet::pin {
namespace {

constexpr unsigned kArenaFloorMib = 48;  // for LNet, sockets and a session
constexpr unsigned kShardMib = 24;
constexpr unsigned kServerMibMax = 256;  // of the key plnet.selftest.server_mib
constexpr unsigned kClientMibMax = 1024;

std::string interface_name(const node::LabNic& nic, std::size_t side) {
  return fmt::format("{}{}", nic.interface_name, side);
}

Json interface_of(const Lab& lab, Role role, std::size_t side) {
  const node::LabNic& nic = lab.nic(side);
  if (!nic.is_named()) return {{"nid", lab.nid(role, side)}};
  return {{"interfaces", {{"0", interface_name(nic, side)}}}};
}

// The server's end of a wire listens; a router connects to its neighbours on both sides.
node::LabPort port_of(const Lab& lab, Role role, std::size_t side) {
  const std::string nid = lab.nid(role, side);
  return {
      .wire = side,
      .listens = role == Role::kServer || (role == Role::kClient && lab.sweep().workload.routed),
      .folder = lab.folder(),
      .address = nid.substr(0, nid.find('@'))};
}

Json named_nic(const Lab& lab, Role role, std::size_t side) {
  const node::LabNic& nic = lab.nic(side);
  Json keys{{"name", interface_name(nic, side)}};
  if (lab.is_in_software(side)) {
    for (const auto& [key, value] : nic.keys(port_of(lab, role, side)))
      keys[key] = value;
    return keys;
  }
  const auto& given = lab.sweep().hosts.at(role).nics;
  if (const auto found = given.find(nic.section); found != given.end()) {
    for (const auto& [key, value] : found->second)
      keys[key] = value;
  }
  return keys;
}

std::vector<std::size_t> sides_of(const Lab& lab, Role role) {
  if (role == Role::kRouter) return {0, 1};
  return {lab.side_of(role)};
}

void add_networks(const Lab& lab, Role role, const Placement* placement, Json& config) {
  const Workload& load = lab.sweep().workload;
  config["net"] = Json::array();
  for (const std::size_t side : sides_of(lab, role)) {
    const std::string& network = load.networks[load.routed ? side : 0];
    Json item = interface_of(lab, role, side);
    if (placement != nullptr && placement->sides_apart) item["CPT"] = fmt::format("[{}]", side);
    config["net"].push_back({{"net type", network}, {"local NI(s)", Json::array({item})}});
    if (const node::LabNic& nic = lab.nic(side); nic.is_named())
      config["plnet"][nic.section]["interfaces"].push_back(named_nic(lab, role, side));
  }
  if (role == Role::kRouter) {
    config["routing"] = Json::array({{{"enable", 1}}});
  } else if (load.routed) {
    const std::size_t side = lab.side_of(role);
    config["route"] = Json::array(
        {{{"net", load.networks[1 - side]}, {"gateway", lab.nid(Role::kRouter, side)}}});
  }
}

}  // namespace

std::string node_config(const Lab& lab, Role role, const Placement* placement,
                        const std::vector<unsigned>& others) {
  Placement plain;
  if (placement == nullptr) {
    plain.idle = "sleep";
    plain.cpts.push_back({.cpus = others});
    if (others.empty()) plain.cpts.clear();
  }
  const Placement& placed = placement != nullptr ? *placement : plain;
  Json config;
  if (!placed.cpts.empty()) {
    runtime::CptPlanRequest request = request_of(placed);
    if (placement == nullptr) request.list.front().memory_node = -1;  // the node of the first CPU
    config = runtime::request_to_json(request);
  }
  config["plnet"]["pollers"]["idle"] = placed.idle;
  const Workload& load = lab.sweep().workload;
  const auto shards = static_cast<unsigned>(std::max<std::size_t>(placed.cpus().size(), 1));
  const unsigned bulk = (load.size >> 20U) + 1;
  const unsigned under_way = load.concurrency * bulk;
  config["plnet"]["memory"]["arena_mib"] =
      kArenaFloorMib + kShardMib * shards + 2 * std::min(under_way, kClientMibMax);
  if (role != Role::kRouter) {
    config["plnet"]["selftest"] = {{"client_mib", std::clamp(under_way, 16U, kClientMibMax)},
                                   {"server_mib", std::clamp(under_way, 8U, kServerMibMax)}};
  }
  add_networks(lab, role, placement, config);
  return config.dump(1) + "\n";
}

}  // namespace plnet::pin
