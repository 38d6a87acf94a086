// SPDX-License-Identifier: BSD-3-Clause
// How nodes of TCP, simulated or replayed, accept connections: as the kernel's do.
#pragma once

#include <cstdint>

namespace plnet::sim {

inline constexpr std::uint16_t kAcceptPort = 988;
inline constexpr unsigned kBacklog = 127;

}  // namespace plnet::sim
