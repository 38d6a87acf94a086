// SPDX-License-Identifier: BSD-3-Clause
// A program that lives on a node's shards: what it is given, and what it has to be.
// doc/embedding.md shows it by lnet-traffic, which is one.
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

// Of one shard; all of it outlives the residents.
struct ResidentPlace {
  unsigned shard = 0;
  // node_owner() is LNet as long as it is up; with another one, everything begins anew.
  LnetShard* lnet = nullptr;
  Fragment memory;  // of the shard's CPT, for nobody else
  const ArenaTable* arenas = nullptr;
};

// What the residents of one shard need beyond what the node itself has.
struct ResidentNeeds {
  std::uint64_t bytes = 0;      // of its CPT's arena, which becomes larger by that
  std::size_t descriptors = 0;  // and match entries
};

class LnetAdmin;

class Residents {
 public:
  virtual ~Residents() = default;
  [[nodiscard]] virtual ResidentNeeds needs(unsigned /*shard*/) const { return {}; }
  // Verbs of their own on the node's control socket. All outlive the residents; none is called
  // before LNet has been up once.
  virtual void add_verbs(runtime::VerbTable& /*verbs*/, LnetAdmin& /*lnet*/) {}
  // Once, before anything turns; may fail for lack of memory. `cookie` differs from that of every
  // other run. Metrics added here are removed before the node goes.
  [[nodiscard]] virtual Outcome<void> move_in(std::span<const ResidentPlace> places,
                                              std::uint64_t cookie, runtime::Metrics& metrics) = 0;
  // Its turn comes after LNet's devices and before LNet sends: what it asks for leaves at once.
  [[nodiscard]] virtual Pollable& on_shard(unsigned shard) = 0;
};

}  // namespace plnet::node
