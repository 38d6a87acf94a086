// SPDX-License-Identifier: BSD-3-Clause
#include "node/host/settled_config.hpp"

#include <algorithm>
#include <utility>

#include "lib/lnet/node/nets_by_address.hpp"
#include "lib/runtime/host/local_addresses.hpp"

namespace plnet::node {

using lnet::NetConfig;
using lnet::NiConfig;
using lnet::Nid;
using lnet::NodeConfig;

Outcome<void> settle_on_machine(NodeConfig& wanted, const NodeConfig& now,
                                std::vector<std::string>* notes) {
  if (!lnet::needs_addresses(wanted, now)) {
    lnet::settle_site_routes(wanted);
    return {};
  }
  const auto known = runtime::local_addresses();
  if (!known) return std::unexpected(known.error());
  std::vector<lnet::InterfaceAddress> local;
  for (const runtime::LocalAddress& each : *known) {
    local.push_back({.interface = each.interface,
                     .address = {.size = each.is_v6 ? std::uint8_t{16} : std::uint8_t{4},
                                 .bytes_be = each.bytes_be}});
  }
  if (auto applied = lnet::apply_ip2nets(wanted, local); !applied) return applied;
  auto other_nids = lnet::assign_nids(wanted, now, local);
  if (notes != nullptr) *notes = std::move(other_nids);
  lnet::settle_site_routes(wanted);
  return {};
}

void settle_forwarding(NodeConfig& wanted) {
  const auto is_ours = [&wanted](const Nid& gateway) {
    return std::ranges::any_of(wanted.nets, [&gateway](const NetConfig& net) {
      return std::ranges::any_of(net.nis, [&](const NiConfig& ni) { return ni.nid == gateway; });
    });
  };
  if (std::ranges::any_of(wanted.routes_if_ours, is_ours)) wanted.routing = true;
  wanted.routes_if_ours.clear();
}

bool will_route(NodeConfig config) {
  if (settle_on_machine(config, {})) settle_forwarding(config);
  return config.routing;
}

}  // namespace plnet::node
