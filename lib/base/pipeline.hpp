// SPDX-License-Identifier: BSD-3-Clause
// Processes a batch of items, each of which leads from one cold cache line to the next. While one
// item is processed, the items behind it prefetch, each one step less far than the item before it.
#pragma once

#include <cstddef>
#include <type_traits>
#include <utility>

namespace plnet {

// For each item of `count`: step(item, 0), step(item, 1) and so on, kDistance items apart, then
// finish(item). A step reads the line that the previous step prefetched, and never waits. Its
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
  // Batches smaller than the distance take each step together, so that a lone message is not
  // delayed.
  if (count <= kDistance) {
    [&]<std::size_t... kStep>(std::index_sequence<kStep...>) {
      (for_each_item([&](std::size_t i) { step(i, PipelineStep<kStep>{}); }), ...);
    }(kAllSteps);
    return for_each_item(finish);
  }
  for (std::size_t turn = 0; turn < count + kSteps * kDistance; ++turn) {
    // Before an item's first turn its number has wrapped around and exceeds `count`.
    [&]<std::size_t... kStep>(std::index_sequence<kStep...>) {
      ((turn - kStep * kDistance < count ? step(turn - kStep * kDistance, PipelineStep<kStep>{})
                                         : void()),
       ...);
    }(kAllSteps);
    if (turn - kSteps * kDistance < count) finish(turn - kSteps * kDistance);
  }
}

}  // namespace plnet
