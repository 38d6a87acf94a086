// SPDX-License-Identifier: BSD-3-Clause
// The limit of a machine's TCP without plnet: requests and replies of given sizes over a plain
// loopback connection, by two threads on two dedicated CPUs.
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
// More requests under way give no further information about a machine.
inline constexpr std::uint32_t kAheadMax = 256;

// Exchanges a second, measured over about `duration`. The CPUs must differ: both ends spin.
[[nodiscard]] Outcome<double> exchanges_per_second(const ExchangeShape& shape, Cpus cpus,
                                                   Duration duration, const Clock& clock);

}  // namespace plnet::baseline
