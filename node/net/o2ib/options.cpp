// SPDX-License-Identifier: BSD-3-Clause
#include "node/net/o2ib/options.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "lib/base/interface_name.hpp"
#include "lib/runtime/config/yaml_text.hpp"
#include "node/host/module_option.hpp"

namespace plnet::node {
namespace {

using lnet::LndTunable;

constexpr std::string_view kO2ibModule = "ko2iblnd";
constexpr std::string_view kInterfaceOption = "ipif_name";

const o2iblnd::TunableInfo* info_of(std::string_view name) {
  const auto table = o2iblnd::tunable_table();
  const auto found = std::ranges::find(table, name, &o2iblnd::TunableInfo::name);
  return found == table.end() ? nullptr : &*found;
}

Outcome<void> take(O2ibOptions& options, const lnet::ModuleOption& option) {
  const auto wrong = [&option](std::string expected) {
    return failure(Errc::kInvalid, fmt::format("options {} {}={}: expected {}", kO2ibModule,
                                               option.name, option.value, expected));
  };
  if (option.name == kInterfaceOption) {
    if (!is_interface_name(option.value)) return wrong(std::string(kInterfaceNameExpected));
    options.interface = option.value;
    return {};
  }
  const o2iblnd::TunableInfo* const info = info_of(option.name);
  if (info == nullptr) return {};  // an option of another module
  const auto number = runtime::parse_integer(option.value);
  if (number && o2iblnd::set_tunable(options.tunables, option.name, *number)) return {};
  return wrong(fmt::format("a number from {} to {}", info->least, info->most));
}

// lnetctl's names of an NI's tunables, where they differ from those of the module.
std::string_view option_of(std::string_view tunable) {
  return tunable == "peercredits_hiw" ? "peer_credits_hiw" : tunable;
}

}  // namespace

bool operator==(const O2ibOptions& a, const O2ibOptions& b) {
  return a.interface == b.interface &&
         std::ranges::all_of(o2iblnd::tunable_table(), [&](const o2iblnd::TunableInfo& info) {
           return a.tunables.*info.field == b.tunables.*info.field;
         });
}

Outcome<O2ibOptions> o2ib_options_of(const lnet::NodeConfig& config) {
  O2ibOptions options;
  for (const lnet::ModuleOption& option : config.module_options) {
    if (option.module != kO2ibModule) continue;
    if (auto taken = take(options, option); !taken) return std::unexpected(taken.error());
  }
  return options;
}

bool is_live_o2ib_option(const lnet::ModuleOption& option) {
  return option.module == kO2ibModule && o2iblnd::changes_live(option.name);
}

Outcome<void> set_o2ib_option(lnet::NodeConfig& config, std::string_view name,
                              std::string_view value) {
  const std::string prefix = fmt::format("{}.", kO2ibModule);
  if (name.starts_with(prefix)) name.remove_prefix(prefix.size());
  if (info_of(name) == nullptr && name != kInterfaceOption)
    return failure(Errc::kNotFound, fmt::format("{} has no option '{}'", kO2ibModule, name));
  lnet::NodeConfig wanted = config;
  put_module_option(wanted, kO2ibModule, name, value);
  if (auto fits = o2ib_options_of(wanted); !fits) return std::unexpected(fits.error());
  if (!o2iblnd::changes_live(name)) return needs_restart(kO2ibModule, name, value);
  config = std::move(wanted);
  return {};
}

o2iblnd::Tunables o2ib_tunables_of_ni(const o2iblnd::Tunables& of_all,
                                      std::span<const LndTunable> own) {
  o2iblnd::Tunables tunables = of_all;
  for (const LndTunable& tunable : own) {
    const auto* const number = std::get_if<std::int64_t>(&tunable.value);
    if (number == nullptr || *number == -1) continue;
    const o2iblnd::TunableInfo* const info = info_of(option_of(tunable.name));
    if (info != nullptr) tunables.*info->field = std::clamp(*number, info->least, info->most);
  }
  return tunables;
}

o2iblnd::Tunables o2ib_tunables_in_force(const o2iblnd::Tunables& of_all,
                                         std::span<const LndTunable> own,
                                         const lnet::NiTunables& of_ni) {
  o2iblnd::Tunables tunables = o2ib_tunables_of_ni(of_all, own);
  tunables.credits = of_ni.credits;
  tunables.peer_credits = of_ni.peer_credits;
  return tunables;
}

// lustre-release lnet/utils/lnetconfig/liblnetconfig_lnd.c: lustre_o2iblnd_show_tun()
std::vector<LndTunable> o2ib_lnd_tunables(const o2iblnd::Tunables& tunables,
                                          Duration lnet_timeout) {
  const auto number = [](unsigned value) { return std::int64_t{value}; };
  const unsigned depth = o2iblnd::peer_credits(tunables);
  const Duration timeout = o2iblnd::lnd_timeout(tunables, lnet_timeout);
  return {
      {"peercredits_hiw", number(o2iblnd::credits_high_water(tunables, o2iblnd::kVersion2, depth))},
      {"map_on_demand", tunables.map_on_demand},
      {"concurrent_sends", number(o2iblnd::concurrent_sends(tunables, o2iblnd::kVersion2))},
      {"fmr_pool_size", tunables.fmr_pool_size},
      {"fmr_flush_trigger", tunables.fmr_flush_trigger},
      {"fmr_cache", tunables.fmr_cache},
      {"ntx", tunables.ntx},
      {"conns_per_peer", number(o2iblnd::connections_per_peer(tunables))},
      {"timeout", std::chrono::duration_cast<std::chrono::seconds>(timeout).count()},
      {"tos", tunables.tos}};
}

std::vector<LndTunable> o2ib_parameters(const O2ibOptions& options) {
  std::vector<LndTunable> parameters;
  for (const o2iblnd::TunableInfo& info : o2iblnd::tunable_table())
    parameters.push_back({std::string(info.name), options.tunables.*info.field});
  parameters.push_back({std::string(kInterfaceOption), options.interface});
  return parameters;
}

}  // namespace plnet::node
