// SPDX-License-Identifier: BSD-3-Clause
// The table of verbs that network families have besides LNet's own, for lnetctl, which knows no
// node. A family with verbs is a row here.
#pragma once

#include <array>

#include "node/net/kfi/verb_rows.hpp"

namespace plnet::node {

inline constexpr std::array kFamilyVerbs{kKfiVerbs};

}  // namespace plnet::node
