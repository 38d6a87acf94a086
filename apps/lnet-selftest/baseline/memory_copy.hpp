// SPDX-License-Identifier: BSD-3-Clause
// The speed of one core at copying memory: the floor of any code that moves each byte once.
#pragma once

#include <cstddef>

#include "lib/base/clock.hpp"
#include "lib/base/result.hpp"

namespace plnet::baseline {

// Copies pieces of this size one after the other, repeatedly, like buffers of transfers; bytes a
// second.
[[nodiscard]] Outcome<double> bytes_copied_per_second(std::size_t piece, unsigned cpu,
                                                      Duration duration, const Clock& clock);

}  // namespace plnet::baseline
