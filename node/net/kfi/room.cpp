// SPDX-License-Identifier: BSD-3-Clause
#include "node/net/kfi/room.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "lib/kfilnd/wire.hpp"
#include "lib/lnet/names/nid_text.hpp"
#include "node/host/settled_config.hpp"
#include "node/net/kfi/options.hpp"

namespace plnet::node {
namespace {

using lnet::NetConfig;
using lnet::NetId;
using lnet::NiConfig;
using lnet::NodeConfig;
using lnet::text_of_net;

// Room for a second NI, so that `net add` of another network needs no restart.
constexpr unsigned kNisLeast = 2;

}  // namespace

bool is_kfi(const NetConfig& net, const NiConfig& ni) {
  if (lnet::type_of_net(net.net) != static_cast<unsigned>(lnet::NetType::kKfi)) return false;
  const auto driver =
      std::ranges::find(ni.lnd_tunables, lnet::kDriverTunable, &lnet::LndTunable::name);
  return driver == ni.lnd_tunables.end() || driver->value == decltype(driver->value)("kfi");
}

unsigned kfi_process_of(NetId net) {
  return kfilnd::service_of(lnet::Nid::of(lnet::NetType::kKfi, lnet::number_of_net(net), 0));
}

unsigned kfi_nis_of(const KfiInterface& interface, const NodeConfig& settled) {
  if (interface.nis != 0) return interface.nis;
  unsigned nis = 0;
  for (const NetConfig& net : settled.nets) {
    nis += static_cast<unsigned>(std::ranges::count_if(net.nis, [&](const NiConfig& ni) {
      return is_kfi(net, ni) &&
             std::ranges::find(ni.interfaces, interface.name) != ni.interfaces.end();
    }));
  }
  return std::clamp(nis, kNisLeast, kKfiNisMax);
}

Outcome<std::vector<KfiMemory>> kfi_memory_of(const runtime::Settings& settings) {
  std::vector<KfiMemory> all;
  const auto& interfaces = settings.sections.of<KfiSettings>().interfaces;
  if (interfaces.empty()) return all;
  const auto options = kfi_options_of(settings.lnet);
  if (!options) return std::unexpected(options.error());
  const auto bytes = receive_bytes(*options);
  if (!bytes) return std::unexpected(bytes.error());
  NodeConfig settled = settings.lnet;
  // Adding the networks reports a configuration that cannot be settled.
  if (!settle_on_machine(settled, {})) settled = settings.lnet;
  for (const KfiInterface& interface : interfaces)
    all.push_back({.bytes_each = *bytes, .nis = kfi_nis_of(interface, settled)});
  return all;
}

// Queues are not scaled: a NIC has more than all NIs can use. Connections are not either: they
// follow the node's number of peers.
cassini::soft::NodeOptions with_room(cassini::soft::NodeOptions options, unsigned nis) {
  options.nic.limits.list_entries *= nis;
  options.nic.limits.message_states *= nis;
  options.port.messages_max *= nis;
  options.port.message_states *= nis;
  options.port.remembered_responses *= nis;
  return options;
}

Outcome<void> check_kfi_sharing(const NodeConfig& config, const NisOfInterface& nis_of) {
  std::map<std::string, std::map<unsigned, NetId>> taken;  // by interface, then process
  for (const NetConfig& net : config.nets) {
    for (const NiConfig& ni : net.nis) {
      if (!is_kfi(net, ni) || ni.interfaces.empty()) continue;
      const std::string& interface = ni.interfaces.front();
      const unsigned process = kfi_process_of(net.net);
      auto& there = taken[interface];
      const auto [owner, is_new] = there.emplace(process, net.net);
      if (!is_new && owner->second != net.net) {
        return failure(
            Errc::kExists,
            fmt::format("network {}: on interface {} it would be process {}, which network {} is; "
                        "expected numbers that differ modulo {}",
                        text_of_net(net.net), interface, process, text_of_net(owner->second),
                        kfilnd::kServiceGranule));
      }
      if (there.size() <= nis_of(interface)) continue;
      return failure(Errc::kNoSpace,
                     fmt::format("network {}: interface {} has room for {} NIs, expected `nis: {}` "
                                 "or more among `plnet: kfi: interfaces` (needs a restart)",
                                 text_of_net(net.net), interface, nis_of(interface), there.size()));
    }
  }
  return {};
}

}  // namespace plnet::node
