// SPDX-License-Identifier: BSD-3-Clause
// The verbs of `lst` on the control socket of the node that is its console. Each verb is "lst " and
// the name of a method of selftest::Console.
#pragma once

#include "apps/lnet-selftest/service/console_desk.hpp"
#include "lib/runtime/control/verb_table.hpp"

namespace plnet::apps {

// The desk outlives the table. Uses the name of `host`, and whether it exists for one session only.
void add_console_verbs(runtime::VerbTable& verbs, ConsoleDesk& desk, const lst::ConsoleHost& host);

}  // namespace plnet::apps
