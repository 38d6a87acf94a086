// SPDX-License-Identifier: BSD-3-Clause
#include "node/host/ni_resolver.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "lib/base/check.hpp"
#include "lib/lnet/names/nid_text.hpp"
#include "lib/runtime/host/local_addresses.hpp"
#include "node/host/open_families.hpp"

namespace plnet::node {
namespace {

std::int32_t given(std::int32_t asked, std::int32_t otherwise) {
  return asked == lnet::kDriverDefault ? otherwise : asked;
}

// peer_credits never exceed credits: lustre-release lnet/klnds/socklnd/socklnd.c:
// ksocknal_startup().
lnet::NiTunables tunables_of(const lnet::RequestedTunables& asked,
                             const lnet::NiTunables& defaults) {
  lnet::NiTunables tunables{
      .peer_timeout_s = given(asked.peer_timeout_s, defaults.peer_timeout_s),
      .peer_credits = given(asked.peer_credits, defaults.peer_credits),
      .peer_buffer_credits = given(asked.peer_buffer_credits, defaults.peer_buffer_credits),
      .credits = given(asked.credits, defaults.credits)};
  if (tunables.credits <= 0) tunables.credits = defaults.credits;
  if (tunables.peer_credits <= 0) tunables.peer_credits = defaults.peer_credits;
  tunables.peer_credits = std::min(tunables.peer_credits, tunables.credits);
  tunables.lends_credits = defaults.lends_credits && tunables.peer_credits == defaults.peer_credits;
  return tunables;
}

}  // namespace

NiResolver::NiResolver(Families families, const lnet::NodeConfig& config,
                       const runtime::Settings* settings, const OpenFamilies* open)
    : families_(families) {
  for (const NetworkFamily* family : families_)
    rules_.push_back(
        family->rules(config, settings, open == nullptr ? nullptr : &open->host_of(*family)));
}

NiResolver::NiResolver(const OpenFamilies& open) : families_(open.families()) {
  for (const auto& host : open.hosts())
    rules_.push_back(host->rules());
}

const FamilyRules& NiResolver::rules_of(const NetworkFamily& family) const {
  const auto there = std::ranges::find(families_, &family);
  PLNET_CHECK(there != families_.end(), "a family of the table");
  return *rules_[static_cast<std::size_t>(there - families_.begin())];
}

Outcome<ResolvedNi> NiResolver::resolve(lnet::NetId net, const lnet::NiConfig& ni, std::size_t cpts,
                                        Duration lnet_timeout) const {
  const auto family = family_of(families_, net, ni);
  if (!family) return std::unexpected(family.error());
  if (!ni.nid) {
    return failure(
        Errc::kInvalid,
        fmt::format("network {}: {}", lnet::text_of_net(net),
                    ni.interfaces.empty() ? std::string("expected a NID, or an interface")
                                          : runtime::interface_trouble(ni.interfaces.front())));
  }
  for (const std::uint16_t cpt : ni.cpts) {
    if (cpt < cpts) continue;
    return failure(Errc::kInvalid, fmt::format("NI {}: CPT {}, expected less than {}",
                                               text_of(*ni.nid), cpt, cpts));
  }
  const FamilyRules& rules = rules_of(**family);
  ResolvedNi resolved;
  resolved.family = *family;
  resolved.setup.nid = *ni.nid;
  resolved.setup.cpts = ni.cpts;
  resolved.setup.device_cpt = ni.cpts.empty() ? std::uint16_t{0} : ni.cpts.front();
  resolved.setup.tunables = tunables_of(ni.tunables, rules.defaults());
  resolved.setup.interfaces = ni.interfaces;
  if (auto known = rules.complete(ni, lnet_timeout, resolved.setup); !known) {
    return std::unexpected(known.error());
  }
  return resolved;
}

}  // namespace plnet::node
