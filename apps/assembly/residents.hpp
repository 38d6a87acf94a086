// SPDX-License-Identifier: BSD-3-Clause
// A program that lives on a node's shards: what it is given, and what it has to be.
// doc/embedding.md shows it by lnet-traffic, which is one.
#pragma once

#include <span>

#include "apps/assembly/lnet_shard.hpp"
#include "lib/base/arena.hpp"
#include "lib/base/pollable.hpp"
#include "lib/base/result.hpp"
#include "lib/runtime/admin/metrics.hpp"

namespace plnet::apps {

// Of one shard; all of it outlives the residents.
struct ResidentPlace {
  unsigned shard = 0;
  // node_owner() is LNet as long as it is up; with another one, everything begins anew.
  LnetShard* lnet = nullptr;
  Fragment memory;  // of the shard's CPT, for nobody else
  const ArenaTable* arenas = nullptr;
};

class Residents {
 public:
  virtual ~Residents() = default;
  // Once, before anything turns; may fail for lack of memory. `cookie` differs from that of every
  // other run. Metrics added here are removed before the node goes.
  [[nodiscard]] virtual Outcome<void> move_in(std::span<const ResidentPlace> places,
                                              std::uint64_t cookie, runtime::Metrics& metrics) = 0;
  // Its turn comes after LNet's devices and before LNet sends: what it asks for leaves at once.
  [[nodiscard]] virtual Pollable& on_shard(unsigned shard) = 0;
};

}  // namespace plnet::apps
