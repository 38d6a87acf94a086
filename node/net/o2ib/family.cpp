// SPDX-License-Identifier: BSD-3-Clause
#include "node/net/o2ib/family.hpp"

#include <algorithm>
#include <utility>

#include "node/host/machine.hpp"
#include "node/host/settled_config.hpp"
#include "node/host/useless_option.hpp"
#include "node/net/o2ib/host.hpp"
#include "node/net/o2ib/maker.hpp"
#include "node/net/o2ib/rules.hpp"

namespace plnet::node {
namespace {

unsigned nis_of(const lnet::NodeConfig& settled) {
  unsigned count = 0;
  for (const lnet::NetConfig& net : settled.nets) {
    if (lnet::type_of_net(net.net) != static_cast<unsigned>(lnet::NetType::kO2ib)) continue;
    count += static_cast<unsigned>(std::ranges::count_if(net.nis, [](const lnet::NiConfig& ni) {
      const auto driver =
          std::ranges::find(ni.lnd_tunables, lnet::kDriverTunable, &lnet::LndTunable::name);
      return driver == ni.lnd_tunables.end() ||
             driver->value == decltype(driver->value)(std::string(O2ibFamily::kName));
    }));
  }
  return count;
}

unsigned nis_configured(const runtime::Settings& settings) {
  lnet::NodeConfig settled = settings.lnet;
  (void)settle_on_machine(settled, {});
  return nis_of(settled);
}

// At least two, so that an NI can be added by hand. None on a machine without RDMA.
unsigned o2ib_nis_of(const runtime::Settings& settings) {
  const std::uint32_t asked = settings.sections.of<O2ibSettings>().nis;
  if (asked != 0) return asked;
  const unsigned configured = nis_configured(settings);
  if (configured == 0 && verbs_ports().empty()) return 0;
  return std::clamp(configured, 2U, kO2ibNisMax);
}

std::uint64_t o2ib_bytes_each(const O2ibOptions& options, const O2ibSettings& settings) {
  o2iblnd::O2ibLndConfig config;
  config.tunables = options.tunables;
  config.connections_max = settings.connections;
  return message_memory_bytes(config);
}

}  // namespace

Outcome<void> O2ibFamily::check_options(const lnet::NodeConfig& config) const {
  const auto options = o2ib_options_of(config);
  return options ? Outcome<void>{} : std::unexpected(options.error());
}

std::string_view O2ibFamily::why_useless(std::string_view module, std::string_view option) const {
  const bool is_ours = module.empty() || module == "ko2iblnd";
  return is_ours ? why_ignored(o2iblnd::tunable_table(), option) : std::string_view{};
}

bool O2ibFamily::is_live(const lnet::ModuleOption& option) const {
  return is_live_o2ib_option(option);
}

Outcome<void> O2ibFamily::set_option(lnet::NodeConfig& config, std::string_view option,
                                     std::string_view value) const {
  return set_o2ib_option(config, option, value);
}

std::unique_ptr<FamilyRules> O2ibFamily::rules(const lnet::NodeConfig& config,
                                               const runtime::Settings* /*settings*/,
                                               const FamilyHost* host) const {
  const auto options = o2ib_options_of(config);
  // Rules open devices. The host is only const here; its owner may change it.
  auto* const o2ib = const_cast<O2ibHost*>(static_cast<const O2ibHost*>(host));
  return std::make_unique<O2ibRules>(options.value_or(O2ibOptions{}), o2ib);
}

Outcome<FamilyNeeds> O2ibFamily::needs(const runtime::Settings& settings) const {
  const auto options = o2ib_options_of(settings.lnet);
  if (!options) return std::unexpected(options.error());
  FamilyNeeds needs;
  const O2ibSettings& own = settings.sections.of<O2ibSettings>();
  const unsigned nis = o2ib_nis_of(settings);
  needs.locks_memory = nis_configured(settings) > 0;
  if (nis == 0) return needs;
  needs.arenas.push_back({.bytes = nis * o2ib_bytes_each(*options, own),
                          .for_each_shard = true,
                          .taken_when_used = true});
  return needs;
}

Outcome<std::unique_ptr<FamilyHost>> O2ibFamily::open(const FamilyParts& parts) const {
  const auto options = o2ib_options_of(parts.settings.lnet);
  if (!options) return std::unexpected(options.error());
  O2ibHost::Parts own{.cpt_of_shard = parts.machine.cpt_of_shard(),
                      .options = *options,
                      .settings = parts.settings.sections.of<O2ibSettings>(),
                      .arenas = &parts.machine.arenas()};
  for (const auto& cpt : parts.machine.cpts().cpts)
    own.node_of_cpt.push_back(cpt.memory_node);
  own.room.shards = static_cast<unsigned>(own.cpt_of_shard.size());
  if (!parts.arenas.empty()) {
    own.room.arena = parts.arenas.front();
    own.room.bytes_each = o2ib_bytes_each(*options, own.settings);
    own.room.nis = static_cast<unsigned>(parts.machine.arenas().arena(own.room.arena).size /
                                         (own.room.bytes_each * own.room.shards));
  }
  return std::make_unique<O2ibHost>(std::move(own));
}

}  // namespace plnet::node
