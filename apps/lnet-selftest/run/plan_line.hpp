// SPDX-License-Identifier: BSD-3-Clause
// The command line of `lnet-selftest run`: it overrides the plan of a file.
#pragma once

#include <functional>
#include <span>
#include <string>

#include "apps/lnet-selftest/run/host_words.hpp"
#include "apps/lnet-selftest/run/plan.hpp"
#include "apps/lnetctl/command_row.hpp"

namespace plnet::run {

// Options of the plan; the program has further ones.
[[nodiscard]] std::span<const apps::OptionRow> plan_options();

// `read_file` returns the text of a file or an error; `plan` has the defaults. The returned plan is
// finished: its nodes are expanded, and it has been checked.
using ReadFile = std::function<Outcome<std::string>(const std::string& path)>;
// `hosts` resolves host names; null: no host names are allowed.
[[nodiscard]] Outcome<Plan> plan_of(const apps::Arguments& arguments, const ReadFile& read_file,
                                    const HostDirectory* hosts = nullptr, Plan plan = {});

}  // namespace plnet::run
