// SPDX-License-Identifier: BSD-3-Clause
// What the log says of router buffers, credits and records that starve: of what there is too
// little, who holds it, and what changes that.
#pragma once

#include <string>

#include "lib/lnet/move/pool_keeper.hpp"
#include "lib/runtime/admin/log.hpp"
#include "node/watch/scarce_watch.hpp"
#include "node/watch/starving_board.hpp"

namespace plnet::node {

// Of something else than router buffers.
struct ScarceNote {
  ScarceNews news;
  unsigned cpt = 0;
  unsigned shard = 0;
  std::string most;
};

// Each also keeps `board` as the log has it.
void say_starving(const lnet::StarvingNote& note, runtime::Log& log, StarvingBoard& board);
void say_scarce(const ScarceNote& note, runtime::Log& log, StarvingBoard& board);

// Why there are no more of the class, and which command makes more.
[[nodiscard]] std::string more_text(Scarce of);
[[nodiscard]] std::string bound_text(lnet::BufferClass of, lnet::PoolBound bound);

}  // namespace plnet::node
