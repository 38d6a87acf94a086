// SPDX-License-Identifier: BSD-3-Clause
// What a machine's TCP can do without anything of ours: requests and replies of given sizes over a
// bare loopback connection, by two threads on two CPUs that do nothing else.
#pragma once

#include <cstddef>
#include <cstdint>

#include "lib/base/clock.hpp"
#include "lib/base/result.hpp"

namespace plnet::baseline {

struct ExchangeShape {
  std::size_t request_bytes = 0;
  std::size_t reply_bytes = 0;
  std::uint32_t ahead = 1;  // requests that may be under way
};
struct Cpus {
  unsigned client = 0;
  unsigned server = 1;
};
// More says no more of a machine.
inline constexpr std::uint32_t kAheadMax = 256;

// A second, over about `duration`. The CPUs differ: both ends spin.
[[nodiscard]] Outcome<double> exchanges_per_second(const ExchangeShape& shape, Cpus cpus,
                                                   Duration duration, const Clock& clock);

}  // namespace plnet::baseline
