// SPDX-License-Identifier: BSD-3-Clause
// Which driver serves which kind of network: the one table of that, and what a configured NI means
// with it.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/arena.hpp"
#include "lib/base/result.hpp"
#include "lib/lnet/node/node.hpp"
#include "lib/lnet/node/node_config.hpp"

namespace plnet::apps {

// What drivers need of the node that their devices belong to.
struct DriverSetup {
  const ArenaTable* arenas = nullptr;
  std::size_t messages = 0;  // that may be under way on a shard
  std::size_t peers = 0;     // that a shard may talk to
};

// A driver that can serve NIs of some kind.
class NetworkDriver {
 public:
  virtual ~NetworkDriver() = default;
  [[nodiscard]] virtual std::string_view name() const = 0;
  // For all NIs of this type; lives as long as they do.
  [[nodiscard]] virtual std::unique_ptr<lnet::LndMaker> maker(lnet::NetType type,
                                                              const DriverSetup& setup) const = 0;
};

// What an NI of the configuration comes to on this node.
struct ResolvedNi {
  lnet::NiSetup setup;
  const NetworkDriver* driver = nullptr;
};

// kNotSupported: no driver serves this network yet. kInvalid: a CPT that this node does not have,
// no NID where the driver finds none.
[[nodiscard]] Outcome<ResolvedNi> resolve_ni(lnet::NetId net, const lnet::NiConfig& ni,
                                             std::size_t cpts);

}  // namespace plnet::apps
