// SPDX-License-Identifier: BSD-3-Clause
// The number of connections per peer of TCP NIs that follows the speed of their link, as it was
// when the NI was made. It stays while the NI does, whatever the link does: what is in force would
// differ otherwise, and an NI is made anew for that.
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
  // Takes the number of an NI from what it has in force, unless the configuration sets it.
  void note(const lnet::NiConfig& ni, const socklnd::Tunables& of_all,
            std::span<const lnet::LndTunable> in_force);
  void forget(const lnet::Nid& nid) { numbers_.erase(nid); }
  // `setup` is what `ni` would come to if it were made now, with these options: puts the noted
  // number there, if it still follows the link.
  void keep(const lnet::NiConfig& ni, const socklnd::Tunables& of_all, lnet::NiSetup& setup) const;

 private:
  std::unordered_map<lnet::Nid, std::int64_t, lnet::NidHash> numbers_;
};

}  // namespace plnet::node
