// SPDX-License-Identifier: BSD-3-Clause
#include "node/host/network_family.hpp"

#include <algorithm>
#include <variant>

#include <fmt/format.h>

#include "lib/lnet/names/nid_text.hpp"

namespace plnet::node {
namespace {

using lnet::NetType;

NetType type_of(lnet::NetId net) {
  return static_cast<NetType>(lnet::type_of_net(net));
}

Outcome<const NetworkFamily*> family_named(Families families, const std::string& name) {
  std::string known;
  for (const NetworkFamily* family : families) {
    if (family->name() == name) return family;
    known += (known.empty() ? "" : ", ") + std::string(family->name());
  }
  return failure(Errc::kNotSupported,
                 fmt::format("driver '{}' does not exist, expected {}", name, known));
}

// All types but `lo`, which is part of every node and of no configuration.
std::string types_served(Families families) {
  std::string names;
  for (const NetworkFamily* family : families) {
    const auto type = family->default_of();
    if (type) names += (names.empty() ? "" : ", ") + lnet::text_of_net(lnet::make_net(*type));
  }
  return names;
}

std::string experiments_of(Families families) {
  std::string text;
  for (const NetworkFamily* family : families) {
    if (family->experiment().empty()) continue;
    text += fmt::format(", and for experiments the driver {0} (lnd tunables: driver: '{0}'), {1}",
                        family->name(), family->experiment());
  }
  return text;
}

}  // namespace

Outcome<void> NetworkFamily::set_option(lnet::NodeConfig& /*config*/, std::string_view option,
                                        std::string_view /*value*/) const {
  return failure(Errc::kNotFound, fmt::format("{} has no option '{}'", name(), option));
}

std::unique_ptr<FamilyRules> NetworkFamily::rules(const lnet::NodeConfig& /*config*/,
                                                  const runtime::Settings* /*settings*/,
                                                  const FamilyHost* /*host*/) const {
  return std::make_unique<FamilyRules>();
}

Outcome<void> FamilyHost::tune(lnet::NetId net, lnet::NiConfig& /*ni*/,
                               const lnet::NiChange& /*change*/) {
  return failure(Errc::kNotSupported,
                 fmt::format("network {}: its driver has no conns_per_peer and no timeout",
                             lnet::text_of_net(net)));
}

void FamilyHost::connections(LnetDesk& /*desk*/, const lnet::ConnectionQuery& /*query*/,
                             lnet::Reply<std::vector<lnet::ConnectionReport>> reply) {
  reply(std::vector<lnet::ConnectionReport>{});
}

void FamilyHost::connection_peers(LnetDesk& /*desk*/, const lnet::ConnectionQuery& /*query*/,
                                  lnet::Reply<std::vector<lnet::ConnectionPeerReport>> reply) {
  reply(std::vector<lnet::ConnectionPeerReport>{});
}

Outcome<const NetworkFamily*> family_of(Families families, lnet::NetId net,
                                        const lnet::NiConfig& ni) {
  const NetType type = type_of(net);
  const auto named =
      std::ranges::find(ni.lnd_tunables, lnet::kDriverTunable, &lnet::LndTunable::name);
  if (named != ni.lnd_tunables.end()) {
    const auto family = family_named(families, std::get<std::string>(named->value));
    if (!family || (*family)->serves(type)) return family;
    return failure(Errc::kInvalid, fmt::format("driver '{}' does not serve network {}",
                                               (*family)->name(), lnet::text_of_net(net)));
  }
  const auto there = std::ranges::find_if(
      families, [type](const NetworkFamily* family) { return family->default_of() == type; });
  if (there != families.end()) return *there;
  return failure(
      Errc::kNotSupported,
      fmt::format("network {}: no driver serves it yet; there are {} and lo{}",
                  lnet::text_of_net(net), types_served(families), experiments_of(families)));
}

void set_lnd_tunable(lnet::NiConfig& ni, const char* name, std::int64_t value) {
  const auto there = std::ranges::find(ni.lnd_tunables, name, &lnet::LndTunable::name);
  if (there != ni.lnd_tunables.end()) {
    there->value = value;
  } else {
    ni.lnd_tunables.push_back({name, value});
  }
}

}  // namespace plnet::node
