// SPDX-License-Identifier: BSD-3-Clause
#include "apps/lnet-sim/adopt/node_facts.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "lib/lnet/names/nid_text.hpp"

namespace plnet::sim {

using namespace lnet;

namespace {

NetFacts& net_of(NodeFacts& node, NetId net) {
  if (NetFacts* const known = node.on(net)) return *known;
  return node.nets.emplace_back(NetFacts{.net = net});
}

// The networks of the file, and the NIDs that its NIs name.
void add_configured(NodeFacts& node, const NodeConfig& config) {
  for (const NetConfig& net : config.nets) {
    if (net.net == make_net(NetType::kLoopback)) continue;
    NetFacts& facts = net_of(node, net.net);
    facts.interfaces = std::max<std::size_t>(net.nis.size(), 1);
    for (const NiConfig& ni : net.nis) {
      if (ni.nid) facts.nids.push_back(*ni.nid);
    }
    // All or none; and a file of several nodes has the NIDs of one of them.
    if (facts.nids.size() != facts.interfaces || node.file->nodes > 1) facts.nids.clear();
  }
}

std::expected<void, std::string> add_given(NodeFacts& node) {
  const ConfigFile& file = *node.file;
  for (NetFacts& net : node.nets) {
    const bool given =
        std::ranges::any_of(file.nids, [&](const Nid& nid) { return nid.net() == net.net; });
    if (given) net.nids.clear();
  }
  for (const Nid& nid : file.nids)
    net_of(node, nid.net()).nids.push_back(nid);
  for (const NetFacts& net : node.nets) {
    if (net.nids.size() % file.nodes == 0) continue;
    return std::unexpected(fmt::format("{}: {} NIDs on {}, expected as many for each of {} nodes",
                                       file.title, net.nids.size(), text_of_net(net.net),
                                       file.nodes));
  }
  return {};
}

// A node is a router if it is told to be one, or is a gateway of the site's `routes`. Without its
// NIDs: if all these routes lead to networks of its own.
bool is_router(const NodeFacts& node, const NodeConfig& config) {
  if (config.routing) return true;
  const auto is_own = [&](const Nid& gateway) { return node.has(gateway); };
  if (std::ranges::any_of(config.routes_if_ours, is_own)) return true;
  const bool unknown =
      std::ranges::any_of(node.nets, [](const NetFacts& net) { return net.nids.empty(); });
  return unknown && node.nets.size() > 1 && !config.routes_if_ours.empty() && config.routes.empty();
}

}  // namespace

NetFacts* NodeFacts::on(NetId net) {
  const auto found = std::ranges::find(nets, net, &NetFacts::net);
  return found == nets.end() ? nullptr : &*found;
}

bool NodeFacts::has(const Nid& nid) const {
  return std::ranges::any_of(nets, [&](const NetFacts& net) {
    return std::ranges::find(net.nids, nid) != net.nids.end();
  });
}

std::expected<NodeFacts, std::string> facts_of(const ConfigFile& file,
                                               std::vector<std::string>& notes) {
  const NodeConfig& config = file.settings.lnet;
  NodeFacts node{.file = &file};
  add_configured(node, config);
  if (auto added = add_given(node); !added) return std::unexpected(added.error());
  if (node.nets.empty() && (!config.ip2nets.empty() || !config.ip2nets_text.empty())) {
    return std::unexpected(fmt::format(
        "{0}: its ip2nets rules choose networks by the node's addresses, expected its NIDs: "
        "{0}=NID,NID",
        file.title));
  }
  if (node.nets.empty()) {
    return std::unexpected(
        fmt::format("{0}: no network in it, expected `net` or `options lnet networks=…`, or its "
                    "NIDs: {0}=NID,NID",
                    file.title));
  }
  node.router = is_router(node, config);
  if (node.router && !config.routing)
    notes.push_back(
        fmt::format("{}: taken for a router, for it is a gateway of its own `routes`", file.title));
  return node;
}

}  // namespace plnet::sim
