// SPDX-License-Identifier: BSD-3-Clause
// Connections per peer of TCP NIs that follow the speed of their link: the number from when the NI
// was added. It stays for the life of the NI, even if the speed changes. Otherwise the NI's
// tunables would seem to have changed, and the next change would remove and add it.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>

#include "lib/lnet/control/local_networks.hpp"
#include "lib/lnet/node/node_config.hpp"
#include "lib/socklnd/tunables.hpp"

namespace plnet::node {

class ConnectionsByLink {
 public:
  void clear() { numbers_.clear(); }
  // Records the number in force of an NI, unless the configuration sets one.
  void note(const lnet::NiConfig& ni, const socklnd::Tunables& of_all,
            std::span<const lnet::LndTunable> in_force);
  void forget(const lnet::Nid& nid) { numbers_.erase(nid); }
  // `setup` is the NI as it would be added now, with these options. Replaces its number by the
  // recorded one if the number still follows the link.
  void keep(const lnet::NiConfig& ni, const socklnd::Tunables& of_all, lnet::NiSetup& setup) const;

 private:
  std::unordered_map<lnet::Nid, std::int64_t, lnet::NidHash> numbers_;
};

}  // namespace plnet::node
