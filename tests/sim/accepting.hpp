// SPDX-License-Identifier: BSD-3-Clause
// Acceptance of connections by TCP nodes, simulated or replayed, as in the kernel.
#pragma once

#include <cstdint>

namespace plnet::sim {

inline constexpr std::uint16_t kAcceptPort = 988;
inline constexpr unsigned kBacklog = 127;

}  // namespace plnet::sim
