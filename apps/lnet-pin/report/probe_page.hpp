// SPDX-License-Identifier: BSD-3-Clause
// A probe as one self-contained page: the topology, heat maps, tables.
#pragma once

#include <string>

#include "apps/lnet-pin/probe/probe.hpp"

namespace plnet::pin {

[[nodiscard]] std::string html_of(const Probe& probe);

// Writes probe.txt, .json and .html in a folder, which is created if missing.
[[nodiscard]] Outcome<void> write_probe(const Probe& probe, const std::string& folder);

}  // namespace plnet::pin
