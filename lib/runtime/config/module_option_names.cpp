// SPDX-License-Identifier: BSD-3-Clause
#include "lib/runtime/config/module_option_names.hpp"

#include <string>
#include <vector>

#include <fmt/format.h>

#include "lib/lnet/names/lnd_modules.hpp"
#include "lib/runtime/config/config_error.hpp"
#include "lib/runtime/config/schema.hpp"
#include "lib/runtime/config/value_text.hpp"

namespace plnet::runtime {
namespace {

constexpr auto kKeptOfLnet = std::to_array<std::string_view>(
    {"accept", "accept_port", "accept_port_bulk", "accept_backlog", "accept_timeout",
     "peer_buffer_credits", "auto_down", "check_routers_before_use", "avoid_asym_router_failure",
     "alive_router_check_interval", "live_router_check_interval", "dead_router_check_interval",
     "router_ping_timeout"});

// Checked against lustre-release v2_17_0 lnet/lnet/{api-ni,lib-ptl,module}.c: module_param lines;
// lnet/klnds/socklnd/socklnd_modparams.c; lnet/selftest/{brw_test,ping_test}.c.
constexpr auto kUseless = std::to_array<UselessOption>({
    {"lnet", "config_on_load", "a node brings LNet up when it starts"},
    {"lnet", "enable_sysctl_setup", "limits of the system are the site's"},
    {"lnet", "rnet_htable_size", "tables have the size that their contents need"},
    {"lnet", "use_tcp_bonding", "the kernel has none any more; give the network several NIs"},
    {"lnet", "local_nid_dist_zero", "no Lustre client or server asks for distances here"},
    {"lnet", "cpu_npartitions", "see plnet.cpts"},
    {"lnet", "cpu_pattern", "see plnet.cpts"},
    {"lnet", "lock_prim_nid", "no Lustre client or server here names primary NIDs"},
    {"lnet", "portal_rotor", "a PUT goes to the shard whose buffer matches it"},
    {"ksocklnd", "protocol", "each connection agrees on its version with the peer"},
    {"ksocklnd", "backoff_init", "Linux has no such TCP option; see sock_timeout"},
    {"ksocklnd", "backoff_max", "Linux has no such TCP option; see sock_timeout"},
    {"lnet_selftest", "brw_srv_workitems",
     "a shard serves 256 RPCs at a time; see plnet.selftest.server_mib"},
    {"lnet_selftest", "ping_srv_workitems", "a shard serves 256 RPCs at a time"},
    {"lnet_selftest", "brw_inject_errors", "faults are made by rules; see lnetctl fault"},
});

// These have no effect. Earlier versions kept them, so their backups have them.
constexpr auto kOnceKeptOfLnet = std::to_array<std::string_view>({"lock_prim_nid", "portal_rotor"});

struct KeyOfOption {
  std::string_view option;
  std::string_view key;
};
// Options of the module lnet besides kVariables.
constexpr auto kKeys = std::to_array<KeyOfOption>({
    {"networks", "net"},
    {"ip2nets", "net[].ip2net"},
    {"routes", "route"},
    {"forwarding", "routing.enable"},
    {"tiny_router_buffers", "buffers.tiny"},
    {"small_router_buffers", "buffers.small"},
    {"large_router_buffers", "buffers.large"},
    {"lnet_peer_discovery_disabled", "global.discovery"},
    {"cpu_npartitions", "plnet.cpts.partitions"},
    {"cpu_pattern", "plnet.cpts.pattern"},
});

constexpr auto kSelftestOptionKeys = std::to_array<KeyOfOption>({
    {"session_timeout", "plnet.selftest.session_timeout_sec"},
    {"rpc_timeout", "plnet.selftest.rpc_timeout_sec"},
});

// "" if the option has no key.
std::string key_of(std::string_view module, std::string_view option) {
  if (module == kSelftestModule) {
    const auto* const own = std::ranges::find(kSelftestOptionKeys, option, &KeyOfOption::option);
    return own == kSelftestOptionKeys.end() ? "" : std::string(own->key);
  }
  if (module != "lnet") return "";
  const auto* const key = std::ranges::find(kKeys, option, &KeyOfOption::option);
  if (key != kKeys.end()) return std::string(key->key);
  const auto* const variable = std::ranges::find(kVariables, option, &VariableOption::name);
  return variable == kVariables.end() ? "" : fmt::format("global.{}", variable->variable);
}

Outcome<void> unknown_option(std::string_view module, std::string_view option) {
  const auto kept = kept_of(module);
  std::vector<std::string_view> known(kept.begin(), kept.end());
  if (module == kSelftestModule) {
    for (const KeyOfOption& each : kSelftestOptionKeys)
      known.push_back(each.option);
  }
  if (module == "lnet") {
    for (const KeyOfOption& each : kKeys)
      known.push_back(each.option);
    for (const VariableOption& each : kVariables)
      known.push_back(each.name);
  }
  return failure(Errc::kInvalid, fmt::format("module {} has no such option{}", module,
                                             did_you_mean(option, known)));
}

}  // namespace

const UselessOption* find_useless_option(std::string_view module, std::string_view name) {
  const auto* const found = std::ranges::find_if(kUseless, [&](const UselessOption& each) {
    return each.name == name && (module.empty() || each.module == module);
  });
  return found == kUseless.end() ? nullptr : found;
}

std::span<const std::string_view> kept_of(std::string_view module) {
  if (module == "lnet") return kKeptOfLnet;
  const auto* const found = std::ranges::find(lnet::kLndModules, module, &lnet::LndModule::name);
  return found == lnet::kLndModules.end() ? std::span<const std::string_view>{} : found->options;
}

Outcome<void> check_module_option(std::string_view name) {
  const std::size_t dot = name.find('.');
  if (dot == std::string_view::npos) {
    return failure(Errc::kInvalid, "expected MODULE.OPTION, such as ksocklnd.nagle");
  }
  const std::string_view module = name.substr(0, dot);
  const std::string_view option = name.substr(dot + 1);
  const auto kept = kept_of(module);
  if (kept.empty() && module != kSelftestModule) {
    std::vector<std::string_view> modules{"lnet"};
    for (const lnet::LndModule& each : lnet::kLndModules)
      modules.push_back(each.name);
    return failure(Errc::kInvalid, fmt::format("expected an option of {}{}", any_of(modules),
                                               did_you_mean(module, modules)));
  }
  if (is_in(kept, option)) return {};
  if (module == "lnet" && is_in(kOnceKeptOfLnet, option)) return {};
  if (const std::string key = key_of(module, option); !key.empty()) {
    return failure(Errc::kInvalid, fmt::format("has a key of its own: {}", key));
  }
  if (const UselessOption* const useless = find_useless_option(module, option)) {
    return failure(
        Errc::kInvalid,
        fmt::format("has no effect here ({}), expected the file without it", useless->why));
  }
  return unknown_option(module, option);
}

}  // namespace plnet::runtime
