// SPDX-License-Identifier: BSD-3-Clause
#include "node/net/tcp/connections_by_link.hpp"

#include <algorithm>
#include <variant>

#include "node/net/tcp/options.hpp"

namespace plnet::node {
namespace {

using lnet::LndTunable;

constexpr const char* kConnections = "conns_per_peer";

bool follows_link(const lnet::NiConfig& ni, const socklnd::Tunables& of_all) {
  return tunables_of_ni(of_all, ni.lnd_tunables).conns_per_peer == 0;
}

}  // namespace

void ConnectionsByLink::note(const lnet::NiConfig& ni, const socklnd::Tunables& of_all,
                             std::span<const LndTunable> in_force) {
  if (!ni.nid || !follows_link(ni, of_all)) return;
  const auto value = std::ranges::find(in_force, kConnections, &LndTunable::name);
  if (value == in_force.end()) return;
  if (const auto* const number = std::get_if<std::int64_t>(&value->value))
    numbers_.insert_or_assign(*ni.nid, *number);
}

void ConnectionsByLink::keep(const lnet::NiConfig& ni, const socklnd::Tunables& of_all,
                             lnet::NiSetup& setup) const {
  const auto known = numbers_.find(setup.nid);
  if (known == numbers_.end() || !follows_link(ni, of_all)) return;
  const auto value = std::ranges::find(setup.lnd_tunables, kConnections, &LndTunable::name);
  if (value != setup.lnd_tunables.end()) value->value = known->second;
}

}  // namespace plnet::node
