// SPDX-License-Identifier: BSD-3-Clause
// The speed of a network interface of this machine.
#pragma once

#include <cstdint>
#include <string>

namespace plnet::runtime {

// Megabits a second; 0 if the interface or its speed is unknown.
[[nodiscard]] std::uint32_t link_speed_mbps(const std::string& interface);

}  // namespace plnet::runtime
