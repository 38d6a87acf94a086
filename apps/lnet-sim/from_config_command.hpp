// SPDX-License-Identifier: BSD-3-Clause
// `lnet-sim from-config FILE…`: the site file of an existing network, from configuration files of
// its nodes.
#pragma once

#include <cstdio>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

namespace plnet::sim {

struct FromConfigArguments {
  std::vector<std::string> nodes;  // clients and routers
  std::vector<std::string> servers;
  std::string name = "site";
};

CLI::App* add_from_config(CLI::App& app, FromConfigArguments& arguments);
// The exit status: 0, or 2 for an error in the command or a file; then nothing is written to `out`.
int run_from_config(const FromConfigArguments& arguments, std::FILE* out, std::FILE* error);

}  // namespace plnet::sim
