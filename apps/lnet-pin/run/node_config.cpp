// SPDX-License-Identifier: BSD-3-Clause
// The configuration files of the nodes of a sweep.
#include <fmt/format.h>

#include "apps/lnet-pin/plan/placement.hpp"
#include "apps/lnet-pin/plan/plan.hpp"
#include "apps/lnet-pin/run/lab.hpp"
#include "lib/runtime/control/yaml_printer.hpp"
#include "lib/runtime/cpt/plan_report.hpp"

namespace plnet::pin {
namespace {

constexpr unsigned kArenaFloorMib = 48;  // LNet's own, sockets' and a session's
constexpr unsigned kShardMib = 24;
constexpr unsigned kServerMibMax = 256;  // of the key plnet.selftest.server_mib
constexpr unsigned kClientMibMax = 1024;

// Interfaces of kfi networks have a name; those of others are found by the NID's address.
Json interface_of(const Lab& lab, Role role, std::size_t side) {
  const std::string nid = lab.nid(role, side);
  if (!nid.substr(nid.find('@') + 1).starts_with("kfi")) return {{"nid", nid}};
  return {{"interfaces", {{"0", fmt::format("cxi{}", side)}}}};
}

// The memif of a side: its server listens. A router connects to its neighbours of both sides.
Json soft_nic(const Lab& lab, Role role, std::size_t side) {
  const bool listens =
      role == Role::kServer || (role == Role::kClient && lab.sweep().workload.routed);
  const std::string nid = lab.nid(role, side);
  const std::string port =
      fmt::format("net_memif{0},role={1},id=0,socket-abstract=no,socket={2}/memif{0}.sock", side,
                  listens ? "server" : "client", lab.folder());
  return {{"name", fmt::format("cxi{}", side)},
          {"backend", "soft"},
          {"port", port},
          {"address", nid.substr(0, nid.find('@'))}};
}

Json nic_of(const Lab& lab, Role role, std::size_t side) {
  const auto host = lab.sweep().hosts.find(role);
  if (host == lab.sweep().hosts.end()) return soft_nic(lab, role, side);
  Json nic{{"name", fmt::format("cxi{}", side)}};
  for (const auto& [key, value] : host->second.kfi)
    nic[key] = value;
  return nic;
}

std::vector<std::size_t> sides_of(const Lab& lab, Role role) {
  if (role == Role::kRouter) return {0, 1};
  return {lab.side_of(role)};
}

void add_networks(const Lab& lab, Role role, const Placement* placement, Json& config) {
  const Workload& load = lab.sweep().workload;
  config["net"] = Json::array();
  Json nics = Json::array();
  for (const std::size_t side : sides_of(lab, role)) {
    const std::string& network = load.networks[load.routed ? side : 0];
    Json item = interface_of(lab, role, side);
    if (placement != nullptr && placement->sides_apart) item["CPT"] = fmt::format("[{}]", side);
    config["net"].push_back({{"net type", network}, {"local NI(s)", Json::array({item})}});
    if (network.starts_with("kfi")) nics.push_back(nic_of(lab, role, side));
  }
  if (!nics.empty()) config["plnet"]["kfi"]["interfaces"] = std::move(nics);
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
    if (placement == nullptr) request.list.front().memory_node = -1;  // the node of its first CPU
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
