// SPDX-License-Identifier: BSD-3-Clause
// Log lines about scarce router buffers, credits and records: the resource, its largest holder, and
// the setting that adds more.
#pragma once

#include <string>

#include "lib/lnet/move/pool_keeper.hpp"
#include "lib/runtime/admin/log.hpp"
#include "node/watch/scarce_watch.hpp"
#include "node/watch/starving_board.hpp"

namespace plnet::node {

// For a resource other than router buffers.
struct ScarceNote {
  ScarceNews news;
  unsigned cpt = 0;
  unsigned shard = 0;
  std::string most;
};

// Both keep `board` in step with the log.
void say_starving(const lnet::StarvingNote& note, runtime::Log& log, StarvingBoard& board);
void say_scarce(const ScarceNote& note, runtime::Log& log, StarvingBoard& board);

// The limit of the resource, and the command that raises it.
[[nodiscard]] std::string more_text(Scarce of);
[[nodiscard]] std::string bound_text(lnet::BufferClass of, lnet::PoolBound bound);

}  // namespace plnet::node
