// SPDX-License-Identifier: BSD-3-Clause
// LND tunables that change while an NI exists.
#pragma once

#include <vector>

#include "lib/base/result.hpp"
#include "lib/lnet/node/lnet_control.hpp"
#include "lib/lnet/node/node.hpp"
#include "lib/lnet/node/node_config.hpp"

namespace plnet::node {

class LnetDesk;
class LnetHost;
class OpenFamilies;

// Sets the LND tunables of `change` in `config`. kNotFound: it selects no NI; kNotSupported: the
// family of a selected NI has no such tunables.
[[nodiscard]] Outcome<void> tune(lnet::NodeConfig& config, const lnet::NiChange& change,
                                 const OpenFamilies& families);

// Applies live tunables of `config` and of the options in force to the NIs on all shards, then
// calls `after`. Fails only for lack of room for orders.
void retune(LnetDesk& desk, LnetHost& host, const lnet::NodeConfig& config,
            lnet::Reply<void> after);

struct TunablesInForce {
  lnet::Nid nid;
  std::vector<lnet::LndTunable> values;
};
// The tunables of all NIs. Shard 0.
[[nodiscard]] std::vector<TunablesInForce> tunables_in_force(lnet::Node& node);
// Gives the families the tunables in force of their NIs. They change only with `config`.
void note_in_force(const OpenFamilies& families, const lnet::NodeConfig& config,
                   const std::vector<TunablesInForce>& in_force);

}  // namespace plnet::node
