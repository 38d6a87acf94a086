// SPDX-License-Identifier: BSD-3-Clause
// The document of `lnetctl top`.
#pragma once

#include <cstddef>

#include "lib/lnet/load/load_ranking.hpp"
#include "lib/runtime/control/protocol.hpp"

namespace plnet::runtime {

// The heaviest, at most `rows`.
[[nodiscard]] Json load_to_json(const lnet::LoadSnapshot& snapshot, lnet::LoadBy by,
                                std::size_t rows);

}  // namespace plnet::runtime
