// SPDX-License-Identifier: BSD-3-Clause
// A message as one JSON object in a line, with the fields that it has.
#pragma once

#include <string>

#include "lib/trace/show/sighting.hpp"

namespace plnet::trace {

[[nodiscard]] std::string json_of(const Sighting& sighting);

}  // namespace plnet::trace
