// SPDX-License-Identifier: BSD-3-Clause
// Work on many things of which each leads from one cold cache line to the next: while one of them
// is dealt with, those behind it fetch what they need, each a step less far than the one before it.
#pragma once

#include <cstddef>
#include <type_traits>
#include <utility>

namespace plnet {

// For each item of `count`: step(item, 0), step(item, 1) and so on, kDistance items apart, then
// finish(item). A step reads what the one before has fetched, and waits for nothing itself. Its
// number is a constant, a PipelineStep.
template <std::size_t kStep>
using PipelineStep = std::integral_constant<std::size_t, kStep>;

template <std::size_t kSteps, std::size_t kDistance, class Step, class Finish>
void pipeline(std::size_t count, Step&& step, Finish&& finish) {
  constexpr auto kAllSteps = std::make_index_sequence<kSteps>{};
  const auto for_each_item = [count](auto&& work) {
    for (std::size_t i = 0; i < count; ++i)
      work(i);
  };
  // So few are never that far apart: all of them take each step together. A lone message is in a
  // hurry.
  if (count <= kDistance) {
    [&]<std::size_t... kStep>(std::index_sequence<kStep...>) {
      (for_each_item([&](std::size_t i) { step(i, PipelineStep<kStep>{}); }), ...);
    }(kAllSteps);
    return for_each_item(finish);
  }
  for (std::size_t turn = 0; turn < count + kSteps * kDistance; ++turn) {
    // Before its first turn an item's number is beyond all there are: it has wrapped around.
    [&]<std::size_t... kStep>(std::index_sequence<kStep...>) {
      ((turn - kStep * kDistance < count ? step(turn - kStep * kDistance, PipelineStep<kStep>{})
                                         : void()),
       ...);
    }(kAllSteps);
    if (turn - kSteps * kDistance < count) finish(turn - kSteps * kDistance);
  }
}

}  // namespace plnet
