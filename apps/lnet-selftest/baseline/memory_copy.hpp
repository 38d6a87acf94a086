// SPDX-License-Identifier: BSD-3-Clause
// How fast one core copies memory: the floor of whatever moves each byte once.
#pragma once

#include <cstddef>

#include "lib/base/clock.hpp"
#include "lib/base/result.hpp"

namespace plnet::baseline {

// One piece of this size after the other, over and over, as buffers of transfers are; bytes a
// second.
[[nodiscard]] Outcome<double> bytes_copied_per_second(std::size_t piece, unsigned cpu,
                                                      Duration duration, const Clock& clock);

}  // namespace plnet::baseline
