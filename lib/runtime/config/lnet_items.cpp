// SPDX-License-Identifier: BSD-3-Clause
#include "lib/runtime/config/lnet_items.hpp"

#include <cstdint>
#include <string>
#include <vector>

#include "lib/lnet/wire/ping_buffer.hpp"

namespace plnet::runtime {
namespace {

using lnet::NodeConfig;

// `base` with the values of the document, which are no items.
NodeConfig with_values(const NodeConfig& base, const LnetDocument& document) {
  NodeConfig config = base;
  config.routing = document.routing;
  config.buffers = document.buffers;
  // -1: as it was
  if (config.buffers.tiny < 0) config.buffers.tiny = base.buffers.tiny;
  if (config.buffers.small < 0) config.buffers.small = base.buffers.small;
  if (config.buffers.large < 0) config.buffers.large = base.buffers.large;
  lnet::ParameterValues& values = config.parameters;
  values = document.parameters;
  // As lnet::set_global_variable() does it, one by one.
  if (values.max_interfaces >= 0 &&
      values.max_interfaces < static_cast<std::int32_t>(lnet::kInterfacesMin)) {
    values.max_interfaces = lnet::ParameterValues{}.max_interfaces;
  }
  const bool retries_named = values.retry_count != base.parameters.retry_count;
  if (values.health_sensitivity == 0 && !retries_named) values.retry_count = 0;
  return config;
}

// What only the whole can tell. Indices of the node are not those of the document: the section is
// named instead.
void check_whole(const NodeConfig& config, SettingsIssues& issues) {
  if (!issues.empty()) return;
  for (const lnet::NodeConfigIssue& issue : check_node_config(config)) {
    const std::string path = issue.path.substr(0, issue.path.find('['));
    issues.push_back({path, path, issue.what});
  }
}

// As when a network is deleted by itself.
void drop_what_leads_nowhere(NodeConfig& config, const NodeConfig& base) {
  std::vector<lnet::NetId> gone;
  for (const lnet::NetConfig& net : base.nets) {
    if (config.net(net.net) == nullptr) gone.push_back(net.net);
  }
  lnet::drop_what_was_on(config, gone);
}

}  // namespace

NodeConfig add_items(const NodeConfig& base, const LnetDocument& document, SettingsIssues& issues) {
  NodeConfig config = with_values(base, document);
  add_nets(config, document, issues);
  add_routes(config, document, issues);
  add_peers(config, document, issues);
  add_udsps(config, document, issues);
  add_faults(config, document, issues);
  set_access(config, document, issues);
  check_whole(config, issues);
  return config;
}

NodeConfig remove_items(const NodeConfig& base, const LnetDocument& document,
                        SettingsIssues& issues) {
  NodeConfig config = with_values(base, document);
  remove_nets(config, document, issues);
  remove_routes(config, document, issues);
  remove_peers(config, document, issues);
  drop_what_leads_nowhere(config, base);
  remove_udsps(config, document, issues);
  remove_faults(config, document, issues);
  set_access(config, document, issues);
  check_whole(config, issues);
  return config;
}

}  // namespace plnet::runtime
