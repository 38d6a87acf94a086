// SPDX-License-Identifier: BSD-3-Clause
#include "lib/runtime/config/lnet_document.hpp"

#include "lib/lnet/wire/ping_buffer.hpp"
#include "lib/runtime/config/lnet_items.hpp"

namespace plnet::runtime {
namespace {

using lnet::NodeConfig;

// Replaces values that stand for others.
void resolve_values(NodeConfig& config, const NodeConfig& base) {
  // -1: the count does not change.
  if (config.buffers.tiny < 0) config.buffers.tiny = base.buffers.tiny;
  if (config.buffers.small < 0) config.buffers.small = base.buffers.small;
  if (config.buffers.large < 0) config.buffers.large = base.buffers.large;
  // For all variables at once, as lnet::set_global_variable() does for each.
  lnet::ParameterValues& values = config.parameters;
  if (values.max_interfaces >= 0 &&
      values.max_interfaces < static_cast<std::int32_t>(lnet::kInterfacesMin)) {
    values.max_interfaces = lnet::ParameterValues{}.max_interfaces;
  }
  const bool retries_named = values.retry_count != base.parameters.retry_count;
  if (values.health_sensitivity == 0 && !retries_named) values.retry_count = 0;
}

// Checks the whole configuration. Its indices are not those of the document, so an issue names the
// section.
void check_whole(const NodeConfig& config, SettingsIssues& issues) {
  if (!issues.empty()) return;
  for (const lnet::NodeConfigIssue& issue : check_node_config(config)) {
    const std::string path = issue.path.substr(0, issue.path.find('['));
    issues.push_back({path, path, issue.what});
  }
}

// Removes routes and peers on networks that are removed, as `net del` does.
void drop_dependents(NodeConfig& config, const NodeConfig& base) {
  std::vector<lnet::NetId> gone;
  for (const lnet::NetConfig& net : base.nets) {
    if (config.net(net.net) == nullptr) gone.push_back(net.net);
  }
  lnet::drop_what_was_on(config, gone);
}

}  // namespace

Document document_of(const Settings& settings) {
  Document document{.settings = settings, .items = {}};
  const NodeConfig& config = settings.lnet;
  LnetItems& items = document.items;
  for (const lnet::NetConfig& net : config.nets)
    items.nets.emplace_back().net = net;
  if (!config.ip2nets_text.empty()) items.nets.emplace_back().ip2net = config.ip2nets_text;
  items.ip2nets = config.ip2nets;
  for (const lnet::RouteConfig& route : config.routes)
    items.routes.push_back({.route = route, .gateways = {route.gateway}});
  for (const lnet::PeerConfig& peer : config.peers) {
    PeerItem& item = items.peers.emplace_back();
    item.peer = peer;
    for (const lnet::Nid& nid : peer.nids)
      item.nis.push_back({{nid}});
  }
  for (std::size_t i = 0; i < config.udsps.size(); ++i)
    items.udsps.push_back({.policy = config.udsps[i], .index = i});
  items.faults = config.faults;
  return document;
}

void add_items(Document& document, const NodeConfig& base, SettingsIssues& issues) {
  NodeConfig& config = document.settings.lnet;
  resolve_values(config, base);
  add_nets(config, document.items, issues);
  add_routes(config, document.items, issues);
  add_peers(config, document.items, issues);
  add_udsps(config, document.items, issues);
  add_faults(config, document.items, issues);
  check_whole(config, issues);
}

void remove_items(Document& document, const NodeConfig& base, SettingsIssues& issues) {
  NodeConfig& config = document.settings.lnet;
  resolve_values(config, base);
  remove_nets(config, document.items, issues);
  remove_routes(config, document.items, issues);
  remove_peers(config, document.items, issues);
  drop_dependents(config, base);
  remove_udsps(config, document.items, issues);
  remove_faults(config, document.items, issues);
  check_whole(config, issues);
}

}  // namespace plnet::runtime
