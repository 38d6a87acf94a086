// SPDX-License-Identifier: BSD-3-Clause
#include "node/host/open_families.hpp"

#include <algorithm>

#include "lib/base/check.hpp"
#include "node/host/machine.hpp"

namespace plnet::node {

Outcome<std::unique_ptr<OpenFamilies>> OpenFamilies::open(Families families,
                                                          const runtime::Settings& settings,
                                                          Machine& machine) {
  std::vector<std::unique_ptr<FamilyHost>> hosts;
  for (const NetworkFamily* family : families) {
    auto host = family->open(
        {.settings = settings, .machine = machine, .arenas = machine.arenas_of(*family)});
    if (!host) return std::unexpected(host.error());
    hosts.push_back(std::move(*host));
  }
  return std::make_unique<OpenFamilies>(families, std::move(hosts));
}

FamilyHost& OpenFamilies::host_of(const NetworkFamily& family) const {
  const auto there = std::ranges::find(families_, &family);
  PLNET_CHECK(there != families_.end(), "a family of the table");
  return *hosts_[static_cast<std::size_t>(there - families_.begin())];
}

FamilyHost* OpenFamilies::host_of(std::string_view name) const {
  const auto there = std::ranges::find(families_, name, &NetworkFamily::name);
  return there == families_.end() ? nullptr : &host_of(**there);
}

FamilyHost* OpenFamilies::host_of(lnet::NetId net, const lnet::NiConfig& ni) const {
  const auto family = family_of(families_, net, ni);
  return family ? &host_of(**family) : nullptr;
}

}  // namespace plnet::node
