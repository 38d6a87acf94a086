// SPDX-License-Identifier: BSD-3-Clause
#include "lib/lnet/node/node_config.hpp"

#include <algorithm>
#include <limits>
#include <set>

#include <fmt/format.h>

#include "lib/base/interface_name.hpp"
#include "lib/lnet/names/cpt_hash.hpp"
#include "lib/lnet/names/ip2nets_text.hpp"
#include "lib/lnet/names/networks_text.hpp"
#include "lib/lnet/names/nid_text.hpp"
#include "lib/lnet/names/text_part.hpp"
#include "lib/lnet/peers/health.hpp"
#include "lib/lnet/wire/ping_buffer.hpp"

namespace plnet::lnet {
namespace {

constexpr std::int32_t kAnyNumber = std::numeric_limits<std::int32_t>::max();
using Values = ParameterValues;

constexpr std::array<GlobalVariable, 12> kGlobalVariables{{
    {"numa_range", &Values::numa_range, 0, kAnyNumber},
    {"max_interfaces", &Values::max_interfaces, 0, kAnyNumber},
    {"discovery", &Values::discovery, 0, 1},
    {"drop_asym_route", &Values::drop_asym_route, 0, 1},
    {"retry_count", &Values::retry_count, 0, kAnyNumber},
    {"transaction_timeout", &Values::transaction_timeout_s, 1, kAnyNumber},
    {"health_sensitivity", &Values::health_sensitivity, 0, kHealthMax},
    {"recovery_interval", &Values::recovery_interval_s, 1, kAnyNumber},
    {"router_sensitivity", &Values::router_sensitivity, 0, 100},
    {"response_tracking", &Values::response_tracking, 0, 3},
    {"recovery_limit", &Values::recovery_limit_s, 0, kAnyNumber},
    {"max_recovery_ping_interval", &Values::max_recovery_ping_interval_s, 1, kAnyNumber},
}};

using Issues = std::vector<NodeConfigIssue>;

void check_parameters(const Values& values, Issues& issues) {
  for (const GlobalVariable& variable : kGlobalVariables) {
    const std::int32_t value = values.*variable.member;
    if (value >= variable.low && value <= variable.high) continue;
    issues.push_back(
        {fmt::format("global.{}", variable.name),
         fmt::format("{} is out of range, expected {} to {}", value, variable.low, variable.high)});
  }
  if (values.retry_count >= values.transaction_timeout_s) {
    issues.push_back({"global.transaction_timeout",
                      fmt::format("{}, expected more than retry_count, which is {}",
                                  values.transaction_timeout_s, values.retry_count)});
  }
  if (values.retry_count > 0 && values.health_sensitivity == 0) {
    issues.push_back({"global.retry_count",
                      fmt::format("{} with health_sensitivity 0, expected 0: without health "
                                  "nothing is sent again",
                                  values.retry_count)});
  }
}

// An interface with several addresses may have an NI for each, if these name their NIDs.
bool share_interface(const NiConfig& a, const NiConfig& b) {
  if (a.nid && b.nid) return false;
  return std::ranges::any_of(a.interfaces, [&b](const std::string& name) {
    return std::ranges::find(b.interfaces, name) != b.interfaces.end();
  });
}

void check_ni(NetId net, const NiConfig& ni, const std::string& path, Issues& issues) {
  const auto add = [&](std::string what) { issues.push_back({path, std::move(what)}); };
  if (ni.nid && ni.nid->net() != net) {
    add(fmt::format("NID {} is not on network {}", text_of(*ni.nid), text_of_net(net)));
  }
  for (const std::string& name : ni.interfaces) {
    if (!is_interface_name(name)) {
      add(fmt::format("interface '{}', expected {}", name, kInterfaceNameExpected));
    }
    if (std::ranges::count(ni.interfaces, name) > 1) {
      return add(fmt::format("interface '{}' is named twice", name));
    }
  }
  for (const std::uint16_t cpt : ni.cpts) {
    if (cpt >= kCptsMax) add(fmt::format("CPT {}, expected less than {}", cpt, kCptsMax));
  }
  for (const LndTunable& tunable : ni.lnd_tunables) {
    if (auto sound = check_lnd_tunable(net, tunable); !sound) add(sound.error().what);
  }
}

void check_nets(const std::vector<NetConfig>& nets, Issues& issues) {
  std::set<NetId> seen;
  for (std::size_t i = 0; i < nets.size(); ++i) {
    const NetConfig& net = nets[i];
    const std::string path = fmt::format("net[{}]", i);
    const std::string name = text_of_net(net.net);
    if (net.net == kNetAny || type_of_net(net.net) == static_cast<unsigned>(NetType::kLoopback)) {
      issues.push_back({path, fmt::format("network '{}' cannot be configured", name)});
      continue;
    }
    if (!seen.insert(net.net).second) {
      issues.push_back({path, fmt::format("network {} is there twice", name)});
    }
    if (net.nis.empty()) issues.push_back({path, fmt::format("network {} has no NI", name)});
    for (std::size_t k = 0; k < net.nis.size(); ++k) {
      const std::string here = fmt::format("{}.local NI(s)[{}]", path, k);
      check_ni(net.net, net.nis[k], here, issues);
      for (std::size_t before = 0; before < k; ++before) {
        const bool same = is_same_ni(net.nis[before], net.nis[k]);
        if (!same && !share_interface(net.nis[before], net.nis[k])) continue;
        issues.push_back(
            {here, fmt::format("the same interface or NID as NI {} of network {}", before, name)});
        break;
      }
    }
  }
}

void check_routes(const NodeConfig& config, Issues& issues) {
  for (std::size_t i = 0; i < config.routes.size(); ++i) {
    const RouteConfig& route = config.routes[i];
    const auto add = [&](std::string what) {
      issues.push_back({fmt::format("route[{}]", i), std::move(what)});
    };
    if (route.hops != kHopsUndefined && (route.hops < 1 || route.hops > kHopsMax)) {
      add(fmt::format("invalid hop count {}, must be between 1 and {}", route.hops, kHopsMax));
    }
    if (route.gateway.net() == route.net) {
      add(fmt::format("gateway {} is on the network that it shall lead to",
                      text_of(route.gateway)));
    }
    if (route.gateway.is_loopback() || route.gateway.is_any()) {
      add(fmt::format("{} cannot be a gateway", text_of(route.gateway)));
    }
    if (config.net(route.net) != nullptr) {
      add(fmt::format("network {} is a local one, it needs no route", text_of_net(route.net)));
    }
  }
}

void check_peers(const std::vector<PeerConfig>& peers, Issues& issues) {
  for (std::size_t i = 0; i < peers.size(); ++i) {
    const PeerConfig& peer = peers[i];
    const auto add = [&](std::string what) {
      issues.push_back({fmt::format("peer[{}]", i), std::move(what)});
    };
    if (peer.nids.empty() || peer.nids.front() != peer.primary) {
      add("the primary NID is not the first of its NIDs");
    }
    if (peer.nids.size() > kInterfacesMax) {
      add(fmt::format("{} NIDs, expected at most {}", peer.nids.size(), kInterfacesMax));
    }
    for (const Nid& nid : peer.nids) {
      if (nid.is_loopback() || nid.is_any()) add(fmt::format("{} is no peer", text_of(nid)));
    }
    if (!peer.multi_rail && peer.nids.size() > 1) {
      add("not Multi-Rail, expected only the primary NID");
    }
  }
}

void check_udsps(const std::vector<Udsp>& udsps, Issues& issues) {
  if (udsps.size() > kUdspsMax) {
    issues.push_back(
        {"udsp", fmt::format("{} policies, expected at most {}", udsps.size(), kUdspsMax)});
  }
  for (std::size_t i = 0; i < udsps.size(); ++i) {
    const auto completed = complete_udsp(udsps[i]);
    if (!completed) issues.push_back({fmt::format("udsp[{}]", i), completed.error().what});
  }
}

void check_faults(const std::vector<FaultSpec>& faults, Issues& issues) {
  if (faults.size() > kFaultRulesMax) {
    issues.push_back({"fault", fmt::format("{} fault rules, expected at most {}", faults.size(),
                                           kFaultRulesMax)});
  }
  for (std::size_t i = 0; i < faults.size(); ++i) {
    const std::string path = fmt::format("fault[{}]", i);
    const auto completed = complete(faults[i]);
    if (!completed) issues.push_back({path, completed.error().what});
    if (std::ranges::count(faults, faults[i]) > 1) {
      issues.push_back({path, "the same rule is there already"});
    }
  }
}

}  // namespace

std::int32_t ParameterValues::lnd_timeout_s() const {
  return std::max((transaction_timeout_s - 1) / (retry_count + 1), 1);
}

const std::array<GlobalVariable, 12>& global_variables() {
  return kGlobalVariables;
}

const GlobalVariable* find_global_variable(std::string_view name) {
  const auto* const found = std::ranges::find(kGlobalVariables, name, &GlobalVariable::name);
  return found == kGlobalVariables.end() ? nullptr : found;
}

Outcome<void> set_global_variable(ParameterValues& values, const GlobalVariable& variable,
                                  std::int64_t value) {
  if (value < variable.low || value > variable.high) {
    return failure(Errc::kOutOfRange,
                   fmt::format("{}: {} is out of range, expected {} to {}", variable.name, value,
                               variable.low, variable.high));
  }
  Values changed = values;
  changed.*variable.member = static_cast<std::int32_t>(value);
  if (changed.max_interfaces < static_cast<std::int32_t>(kInterfacesMin)) {
    changed.max_interfaces = Values{}.max_interfaces;
  }
  if (changed.health_sensitivity == 0 && values.health_sensitivity != 0) changed.retry_count = 0;
  Issues issues;
  check_parameters(changed, issues);
  if (!issues.empty()) {
    return failure(Errc::kInvalid, fmt::format("{}: {}", variable.name, issues.front().what));
  }
  values = changed;
  return {};
}

const NetConfig* NodeConfig::net(NetId id) const {
  const auto found = std::ranges::find(nets, id, &NetConfig::net);
  return found == nets.end() ? nullptr : &*found;
}

const RouteConfig* NodeConfig::route(NetId to, const Nid& gateway) const {
  const auto found = std::ranges::find_if(routes, [&](const RouteConfig& route) {
    return route.net == to && route.gateway == gateway;
  });
  return found == routes.end() ? nullptr : &*found;
}

const PeerConfig* NodeConfig::peer(const Nid& primary) const {
  const auto found = std::ranges::find(peers, primary, &PeerConfig::primary);
  return found == peers.end() ? nullptr : &*found;
}

std::string_view NodeConfig::module_option(std::string_view module, std::string_view name) const {
  const auto found = std::ranges::find_if(module_options, [&](const ModuleOption& option) {
    return option.module == module && option.name == name;
  });
  return found == module_options.end() ? std::string_view{} : found->value;
}

void drop_what_was_on(NodeConfig& config, std::span<const NetId> nets) {
  const auto gone = [nets](const Nid& nid) {
    return std::ranges::find(nets, nid.net()) != nets.end();
  };
  std::erase_if(config.routes, [&](const RouteConfig& route) { return gone(route.gateway); });
  std::erase_if(config.peers, [&](const PeerConfig& peer) { return gone(peer.primary); });
  for (PeerConfig& peer : config.peers)
    std::erase_if(peer.nids, gone);
}

bool is_same_ni(const NiConfig& a, const NiConfig& b) {
  if (a.nid && b.nid) return *a.nid == *b.nid;
  // One of the two may have got the NID of its interface.
  return a.interfaces == b.interfaces &&
         (!a.interfaces.empty() || a.nid.has_value() == b.nid.has_value());
}

std::vector<NodeConfigIssue> check_node_config(const NodeConfig& config) {
  Issues issues;
  check_nets(config.nets, issues);
  check_routes(config, issues);
  for (const std::int32_t count :
       {config.buffers.tiny, config.buffers.small, config.buffers.large}) {
    if (count < 0) issues.push_back({"buffers", fmt::format("{}, expected 0 or more", count)});
  }
  check_peers(config.peers, issues);
  if (!config.ip2nets_text.empty()) {
    if (auto rules = parse_ip2nets(config.ip2nets_text); !rules) {
      issues.push_back({"net", rules.error().what});
    }
  }
  check_faults(config.faults, issues);
  if (config.access.size() > kAccessRulesMax) {
    issues.push_back({"access", fmt::format("{} access rules, expected at most {}",
                                            config.access.size(), kAccessRulesMax)});
  }
  check_udsps(config.udsps, issues);
  check_parameters(config.parameters, issues);
  return issues;
}

// lustre-release lnet/utils/lnetconfig/liblnetconfig_lnd.c: the fields that the show functions
// print.
std::vector<std::string_view> lnd_tunable_names(NetId net) {
  switch (static_cast<NetType>(type_of_net(net))) {
    case NetType::kTcp: return {"conns_per_peer", "timeout", "tos"};
    case NetType::kO2ib:
      return {"peercredits_hiw",
              "map_on_demand",
              "concurrent_sends",
              "fmr_pool_size",
              "fmr_flush_trigger",
              "fmr_cache",
              "ntx",
              "conns_per_peer",
              "timeout",
              "tos"};
    case NetType::kKfi:
      return {"prov_major_version", "prov_minor_version", "auth_key",
              "traffic_class",      "traffic_class_num",  "timeout"};
    case NetType::kEfa: return {"nqps"};
    case NetType::kGni: return {"timeout"};
    default: return {};
  }
}

Outcome<void> check_lnd_tunable(NetId net, const LndTunable& tunable) {
  if (tunable.name == kDriverTunable) {
    if (std::holds_alternative<std::string>(tunable.value)) return {};
    return failure(Errc::kInvalid, "driver: expected a name in quotes, such as 'null'");
  }
  const auto names = lnd_tunable_names(net);
  if (std::ranges::find(names, tunable.name) == names.end()) {
    std::string known;
    for (const std::string_view name : names)
      append_piece(known, ", ", name);
    return failure(Errc::kInvalid,
                   fmt::format("network {} has no lnd tunable '{}', expected {}", text_of_net(net),
                               tunable.name, known.empty() ? "none" : known));
  }
  const auto* const number = std::get_if<std::int64_t>(&tunable.value);
  if (tunable.name == "traffic_class") return {};
  if (number == nullptr) {
    return failure(Errc::kInvalid, fmt::format("{}: '{}' is not a number", tunable.name,
                                               std::get<std::string>(tunable.value)));
  }
  constexpr std::int64_t kConnectionsMax = 127;
  constexpr std::int64_t kTosMax = 255;
  if (tunable.name == "conns_per_peer" && (*number < -1 || *number > kConnectionsMax)) {
    return failure(Errc::kInvalid, "invalid conns-per-peer value (valid range 0-127)");
  }
  if (tunable.name == "timeout" && (*number < -1 || *number > kLndTimeoutMaxS)) {
    return failure(Errc::kInvalid,
                   fmt::format("timeout: {}, expected -1 to {} seconds", *number, kLndTimeoutMaxS));
  }
  if (tunable.name == "tos" && (*number < -1 || *number > kTosMax)) {
    return failure(Errc::kInvalid, "Invalid ToS argument, expected -1 to 255");
  }
  return {};
}

}  // namespace plnet::lnet
