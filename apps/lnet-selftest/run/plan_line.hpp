// SPDX-License-Identifier: BSD-3-Clause
// The command line of `lnet-selftest run`: what it says of the plan goes over what a file says.
#pragma once

#include <functional>
#include <span>
#include <string>

#include "apps/lnet-selftest/run/host_words.hpp"
#include "apps/lnet-selftest/run/plan.hpp"
#include "apps/lnetctl/command_row.hpp"

namespace plnet::run {

// Options of the plan; the program has more.
[[nodiscard]] std::span<const apps::OptionRow> plan_options();

// `read_file` returns the text of a file or why there is none; `plan` is what holds where neither
// file nor line say anything. The plan that is returned is finished: its nodes are
// expanded, and all of it can be asked for.
using ReadFile = std::function<Outcome<std::string>(const std::string& path)>;
// `hosts`, of names of hosts in it; null: there may be none.
[[nodiscard]] Outcome<Plan> plan_of(const apps::Arguments& arguments, const ReadFile& read_file,
                                    const HostDirectory* hosts = nullptr, Plan plan = {});

}  // namespace plnet::run
