// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "node/net/lab_nic.hpp"

namespace plnet::node {

inline constexpr LabNic kTcpLabNic{.network = "tcp"};

}  // namespace plnet::node
