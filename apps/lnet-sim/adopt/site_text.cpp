// SPDX-License-Identifier: BSD-3-Clause
#include "apps/lnet-sim/adopt/site_text.hpp"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>

#include "apps/lnet-sim/plan/node_names.hpp"

namespace plnet::sim {

namespace {

template <class... Arguments>
void append(std::string& text, fmt::format_string<Arguments...> form, Arguments&&... arguments) {
  fmt::format_to(std::back_inserter(text), form, std::forward<Arguments>(arguments)...);
}

// A note may have several lines.
void add_comment(std::string& text, std::string_view what) {
  text += "# ";
  for (const char c : what)
    text += c == '\n' ? std::string("\n#   ") : std::string(1, c);
  text += "\n";
}

std::string quoted(const std::vector<std::string>& nids) {
  std::string list;
  for (const std::string& nid : nids)
    list += fmt::format("{}\"{}\"", list.empty() ? "" : ", ", nid);
  return list;
}

void add_net(std::string& text, const NetPlan& net) {
  append(text, "  - {{name: {}, kind: {}, interfaces: {}", net.name, traits_of(net.kind).name,
         net.interfaces);
  if (net.kind == NetKind::kTcp)
    append(text, ", peer_credits: {}, credits: {}", net.peer_credits, net.credits);
  text += "}\n";
}

void add_group(std::string& text, const SiteConfig& site, const GroupPlan& group) {
  append(text, "  - name: {}\n    nodes: {}\n    shards: [{}]\n", group.name, group.nodes,
         group.shards.front());
  std::string nets;
  for (const unsigned net : group.nets)
    nets += fmt::format("{}{}", nets.empty() ? "" : ", ", net_name(site, net));
  append(text, "    nets: [{}]\n", nets);
  if (!group.nids.empty()) append(text, "    nids: [{}]\n", quoted(group.nids));
  if (group.router) {
    using lnet::BufferClass;
    append(text, "    router: true\n    buffers: {{tiny: {}, small: {}, large: {}}}\n",
           group.buffers[BufferClass::kTiny], group.buffers[BufferClass::kSmall],
           group.buffers[BufferClass::kLarge]);
    if (group.peer_buffer_credits > 0)
      append(text, "    peer_buffer_credits: {}\n", group.peer_buffer_credits);
  }
  std::string talks;
  for (const unsigned other : group.talks_to)
    talks += fmt::format("{}{}", talks.empty() ? "" : ", ", group_name(site, other));
  if (!talks.empty()) append(text, "    talks_to: [{}]\n", talks);
  if (!group.routes.empty()) text += "    routes:\n";
  for (const RoutePlan& route : group.routes) {
    append(text, "      - {{net: {}, via: {}", net_name(site, route.net),
           group_name(site, route.via));
    if (route.hops != lnet::kRouteHopsUndefined) append(text, ", hops: {}", route.hops);
    if (route.priority > 0) append(text, ", priority: {}", route.priority);
    text += "}\n";
  }
}

void add_parameters(std::string& text, const SiteConfig& site) {
  append(text,
         "# LNet's parameters: alive_router_check_interval, router_ping_timeout, "
         "check_routers_before_use;\n# the others have their own names.\n"
         "gateways: {{check_interval_s: {}, ping_timeout_s: {}, check_before_use: {}}}\n",
         site.gateways.check_interval_s, site.gateways.ping_timeout_s,
         site.gateways.check_before_use);
  append(text,
         "health: {{retry_count: {}, health_sensitivity: {}, router_sensitivity: {}, "
         "recovery_interval_s: {}}}\n",
         site.health.retry_count, site.health.health_sensitivity, site.health.router_sensitivity,
         site.health.recovery_interval_s);
  append(text, "transaction_timeout_s: {}\nlnd_timeout_s: {}\ndiscovery: {}\n",
         site.transaction_timeout_s, site.lnd_timeout_s, site.discovery);
}

void add_traffic(std::string& text, const SiteConfig& site) {
  const TrafficPlan& traffic = site.traffic;
  const auto pause = std::chrono::duration_cast<std::chrono::milliseconds>(traffic.pause).count();
  append(text,
         "# The workload, to be adapted: each client reads from a server of its groups, `window` "
         "reads at a\n# time, and then pauses for up to `pause`.\n"
         "traffic:\n  {{operations: {}, window: {}, size_min: {}, size_max: {}, pause: {}ms, "
         "put_wildcard: 0,\n   put_unique: 0, put_lazy: 0, put_managed: 0, get: 100, "
         "abandon_percent: 0, unlink_percent: 0,\n   scattered: false}}\n",
         traffic.operations, traffic.window, traffic.size_min, traffic.size_max, pause);
  append(text, "time: {}s\n", std::chrono::duration_cast<std::chrono::seconds>(site.time).count());
}

}  // namespace

std::string site_text(const AdoptedSite& adopted, std::string_view made_by) {
  const SiteConfig& site = adopted.site;
  std::string text;
  add_comment(text, fmt::format("Made by: {}", made_by));
  if (!adopted.notes.empty()) text += "# Not carried over, or assumed:\n";
  for (const std::string& note : adopted.notes)
    add_comment(text, "  " + note);
  append(text, "name: {}\nseed: {}\nnets:\n", site.name, site.seed);
  for (const NetPlan& net : site.nets)
    add_net(text, net);
  text += "groups:\n";
  for (const GroupPlan& group : site.groups)
    add_group(text, site, group);
  add_parameters(text, site);
  add_traffic(text, site);
  return text;
}

}  // namespace plnet::sim
