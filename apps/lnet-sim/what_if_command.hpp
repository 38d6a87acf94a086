// SPDX-License-Identifier: BSD-3-Clause
// `lnet-sim what-if SITE EVENTS`: an administrator's question, answered in sentences.
#pragma once

#include <array>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "apps/lnet-sim/plan/planned_event.hpp"

namespace plnet::sim {

struct WhatIfArguments {
  std::string file;
  std::array<std::vector<std::string>, kEventNames.size()> events;  // words, by kind
  std::optional<std::uint64_t> seed;
  bool json = false;
};

CLI::App* add_what_if(CLI::App& app, WhatIfArguments& arguments);
// The exit status: 0, or 2 for an error in the command or the file, or 1: the run has violated a
// rule of the simulator.
int run_what_if(const WhatIfArguments& arguments, std::FILE* out, std::FILE* error);

}  // namespace plnet::sim
