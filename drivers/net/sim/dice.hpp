// SPDX-License-Identifier: BSD-3-Clause
// Draws of the simulator. A probability of zero draws nothing, so that a fault that is turned off
// does not change the rest of the run.
#pragma once

#include <cstddef>
#include <cstdint>

#include "drivers/net/sim/shape.hpp"
#include "lib/base/clock.hpp"
#include "lib/base/random.hpp"

namespace plnet::drivers {

inline constexpr Ppm kAlways = 1'000'000;

[[nodiscard]] inline bool happens(Random& random, Ppm odds) {
  return odds != 0 && random.below(kAlways) < odds;
}

// Uniform in [0, spread].
[[nodiscard]] inline Duration drawn_within(Random& random, Duration spread) {
  if (spread <= Duration::zero()) return Duration::zero();
  return Duration{
      static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(spread.count()) + 1))};
}

// Uniform in [least, most].
[[nodiscard]] inline std::size_t drawn_between(Random& random, std::size_t least,
                                               std::size_t most) {
  return least >= most ? most : least + static_cast<std::size_t>(random.below(most - least + 1));
}

}  // namespace plnet::drivers
