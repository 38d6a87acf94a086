// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "node/net/lab_nic.hpp"

namespace plnet::node {

inline constexpr LabNic kO2ibLabNic{.network = "o2ib", .needs_hardware = true};

}  // namespace plnet::node
