// SPDX-License-Identifier: BSD-3-Clause
// Residents: a program that runs on a node's shards. doc/embedding.md explains them by the example
// of lnet-traffic.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "lib/base/arena.hpp"
#include "lib/base/pollable.hpp"
#include "lib/base/result.hpp"
#include "lib/runtime/admin/metrics.hpp"
#include "lib/runtime/control/verb_table.hpp"

namespace plnet::node {

class LnetShard;

// The place of a resident on one shard. All of it outlives the residents.
struct ResidentPlace {
  unsigned shard = 0;
  // node_owner() is LNet while it is up. After another start it is another node, and nothing of the
  // former one remains.
  LnetShard* lnet = nullptr;
  Fragment memory;  // near the shard's CPT, for the resident alone
  const ArenaTable* arenas = nullptr;
};

// The needs of the residents on one shard beyond those of the node.
struct ResidentNeeds {
  std::uint64_t bytes = 0;      // added to the arena of its CPT
  std::size_t descriptors = 0;  // and match entries
};

class LnetAdmin;

class Residents {
 public:
  virtual ~Residents() = default;
  [[nodiscard]] virtual ResidentNeeds needs(unsigned /*shard*/) const { return {}; }
  // Adds verbs to the node's control socket. The arguments outlive the residents. No verb is called
  // before LNet has been up once.
  virtual void add_verbs(runtime::VerbTable& /*verbs*/, LnetAdmin& /*lnet*/) {}
  // Called once, before anything is polled; may fail for lack of memory. `cookie` differs from that
  // of every other run. Metrics that are added here are removed before the node is destroyed.
  [[nodiscard]] virtual Outcome<void> move_in(std::span<const ResidentPlace> places,
                                              std::uint64_t cookie, runtime::Metrics& metrics) = 0;
  // Polled after LNet's devices and before LNet sends, so that its messages leave in the same turn.
  [[nodiscard]] virtual Pollable& on_shard(unsigned shard) = 0;
};

}  // namespace plnet::node
