// SPDX-License-Identifier: BSD-3-Clause
#include "node/net/kfi/family.hpp"

#include <utility>

#include <linux/capability.h>

#include "lib/runtime/host/eal.hpp"
#include "node/host/useless_option.hpp"
#include "node/net/kfi/host.hpp"
#include "node/net/kfi/options.hpp"
#include "node/net/kfi/room.hpp"
#include "node/net/kfi/rules.hpp"
#include "node/net/kfi/settings.hpp"
#include "node/net/kfi/verbs.hpp"

namespace plnet::node {
namespace {

// DPDK's memory for the packets of a port: full rings and caches, with room for the headers.
constexpr std::uint32_t kOrdinaryMtu = 1500;
constexpr std::size_t kPortMib = 8;
constexpr std::size_t kLargePortMib = 32;

}  // namespace

Outcome<void> KfiFamily::check_options(const lnet::NodeConfig& config) const {
  const auto options = kfi_options_of(config);
  return options ? Outcome<void>{} : std::unexpected(options.error());
}

std::string_view KfiFamily::why_useless(std::string_view module, std::string_view option) const {
  const bool is_ours = module.empty() || module == "kkfilnd";
  return is_ours ? why_ignored(kfilnd::tunable_table(), option) : std::string_view{};
}

std::unique_ptr<FamilyRules> KfiFamily::rules(const lnet::NodeConfig& config,
                                              const runtime::Settings* settings,
                                              const FamilyHost* host) const {
  if (host != nullptr) return host->rules();
  const auto options = kfi_options_of(config);
  return std::make_unique<UnopenedKfiRules>(options.value_or(KfiOptions{}),
                                            settings == nullptr
                                                ? std::vector<KfiInterface>{}
                                                : settings->sections.of<KfiSettings>().interfaces);
}

Outcome<FamilyNeeds> KfiFamily::needs(const runtime::Settings& settings) const {
  FamilyNeeds needs;
  for (const KfiInterface& interface : settings.sections.of<KfiSettings>().interfaces) {
    // Processes of one host read each other's memory by libfabric's shm.
    if (interface.backend == KfiBackend::kOfi) needs.capabilities.push_back(CAP_SYS_PTRACE);
    if (interface.backend != KfiBackend::kSoft) continue;
    // DPDK's port may be a device of the bus, or a socket of AF_XDP with its program.
    needs.capabilities.insert(needs.capabilities.end(),
                              {CAP_SYS_ADMIN, CAP_SYS_RAWIO, CAP_SYS_RESOURCE, CAP_BPF});
    needs.eal_mib += interface.mtu > kOrdinaryMtu ? kLargePortMib : kPortMib;
    if (runtime::is_bus_device(interface.port)) needs.pci.push_back(interface.port);
  }
  const auto memory = kfi_memory_of(settings);
  if (!memory) return std::unexpected(memory.error());
  for (const KfiMemory& each : *memory)
    needs.arenas.push_back({.bytes = std::uint64_t{each.bytes_each} * each.nis});
  return needs;
}

Outcome<std::unique_ptr<FamilyHost>> KfiFamily::open(const FamilyParts& parts) const {
  return KfiHost::create(parts);
}

void KfiFamily::add_verbs(runtime::VerbTable& verbs, FamilyAccess& access) const {
  add_kfi_verbs(verbs, access);
}

}  // namespace plnet::node
