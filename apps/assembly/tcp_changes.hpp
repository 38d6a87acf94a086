// SPDX-License-Identifier: BSD-3-Clause
// What changes on TCP networks while they run: tunables. And what stays though their links change.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <unordered_map>
#include <vector>

#include "apps/assembly/lnet_desk.hpp"
#include "apps/assembly/lnet_networks.hpp"
#include "lib/lnet/node/lnet_control.hpp"
#include "lib/lnet/node/node_config.hpp"
#include "lib/socklnd/tunables.hpp"

namespace plnet::apps {

class LnetHost;

// As the LND has them.
struct TunablesInForce {
  lnet::Nid nid;
  std::vector<lnet::LndTunable> values;
};
// Of all NIs; shard 0.
[[nodiscard]] std::vector<TunablesInForce> tunables_in_force(lnet::Node& node);

// How many connections those TCP NIs have of which nobody has set it: what the speed of the link
// came to when the NI was made. It stays so whatever the link does, since a change would be one of
// what is in force, and an NI is made anew for that.
class ConnectionsByLink {
 public:
  // What there is now.
  void renew(const lnet::NodeConfig& config, const std::vector<TunablesInForce>& in_force);
  // `change` sets it, or says that it is to follow the link: as that is now.
  void forget(const lnet::NodeConfig& config, const lnet::NiChange& change);
  // `setup` is what `ni` would come to if it were made now, with these options: as it is instead,
  // if it still follows the link.
  void keep(const lnet::NiConfig& ni, const socklnd::Tunables& of_all, lnet::NiSetup& setup) const;

 private:
  std::unordered_map<lnet::Nid, std::int64_t, lnet::NidHash> numbers_;
};

// NIs of a configuration that socklnd serves.
[[nodiscard]] std::vector<lnet::Nid> tcp_nis(const lnet::NodeConfig& config);

// What of `change` concerns tunables, in `config`. kNotFound: it names no NI; kNotSupported: one
// that socklnd does not serve.
[[nodiscard]] Outcome<void> tune(lnet::NodeConfig& config, const lnet::NiChange& change);

// What an NI that is there is to go by from now on, as far as it changes live.
struct Retuned {
  lnet::Nid nid;
  socklnd::Tunables tunables;
  std::vector<lnet::LndTunable> in_force;
  Duration lnd_timeout{};
};
using ResolveNi = std::function<Outcome<ResolvedNi>(lnet::NetId, const lnet::NiConfig&)>;
// Of all TCP NIs; `resolve`: what one of them would come to if it were made now.
[[nodiscard]] std::vector<Retuned> retuned_nis(const lnet::NodeConfig& config,
                                               const socklnd::Tunables& of_all,
                                               const ConnectionsByLink& by_link,
                                               const ResolveNi& resolve);

// Has all shards go by what `config` and the host's options say, as far as it changes live.
// `after` when they do; it cannot fail but for want of room for orders.
void retune(LnetDesk& desk, LnetHost& host, const lnet::NodeConfig& config,
            const ConnectionsByLink& by_link, lnet::Reply<void> after);

}  // namespace plnet::apps
