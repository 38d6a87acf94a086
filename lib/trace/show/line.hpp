// SPDX-License-Identifier: BSD-3-Clause
// The default output: a line for people.
#pragma once

#include <string>

#include "lib/trace/show/sighting.hpp"

namespace plnet::trace {

// `colour`: with the escape sequences of terminals.
[[nodiscard]] std::string line_of(const Sighting& sighting, bool colour);

}  // namespace plnet::trace
