// SPDX-License-Identifier: BSD-3-Clause
// A probe as one page that loads nothing: the topology, heat maps, tables.
#pragma once

#include <string>

#include "apps/lnet-pin/probe/probe.hpp"

namespace plnet::pin {

[[nodiscard]] std::string html_of(const Probe& probe);

// probe.txt, .json and .html in a folder, which is made if it is not there.
[[nodiscard]] Outcome<void> write_probe(const Probe& probe, const std::string& folder);

}  // namespace plnet::pin
