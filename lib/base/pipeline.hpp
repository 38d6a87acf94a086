// SPDX-License-Identifier: BSD-3-Clause
// Work on many things of which each leads from one cold cache line to the next: while one of them
// is dealt with, those behind it fetch what they need, each a step less far than the one before it.
#pragma once

#include <cstddef>
#include <utility>

namespace plnet {

// For each item of `count`: step(item, 0), step(item, 1) and so on, kDistance items apart, then
// finish(item). A step reads what the one before has fetched, and waits for nothing itself.
template <std::size_t kSteps, std::size_t kDistance, class Step, class Finish>
void pipeline(std::size_t count, Step&& step, Finish&& finish) {
  for (std::size_t turn = 0; turn < count + kSteps * kDistance; ++turn) {
    // Before its first turn an item's number is beyond all there are: it has wrapped around.
    [&]<std::size_t... kStep>(std::index_sequence<kStep...>) {
      ((turn - kStep * kDistance < count ? step(turn - kStep * kDistance, kStep) : void()), ...);
    }(std::make_index_sequence<kSteps>{});
    if (turn - kSteps * kDistance < count) finish(turn - kSteps * kDistance);
  }
}

}  // namespace plnet
