// SPDX-License-Identifier: BSD-3-Clause
// `lnet-sim run …`, `lnet-sim list …`, and the commands with files of their own.
#pragma once

#include <cstdio>

#include "apps/lnet-sim/site/site.hpp"

namespace plnet::sim {

// 0: no violation. 1: a violation. 2: an error in the command or the file.
int run_command(int argc, const char* const* argv, std::FILE* out, std::FILE* error);

// One line for people, and one JSON object.
[[nodiscard]] std::string summary_of(const SiteConfig& config, const SiteReport& report);
[[nodiscard]] std::string json_of(const SiteConfig& config, const SiteReport& report);

}  // namespace plnet::sim
