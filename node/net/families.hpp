// SPDX-License-Identifier: BSD-3-Clause
// The table of network families. A new family is a folder beside this file and a row of the table.
#pragma once

#include "node/host/network_family.hpp"

namespace plnet::node {

// For the life of the process.
[[nodiscard]] Families network_families();

}  // namespace plnet::node
