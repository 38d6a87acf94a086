// SPDX-License-Identifier: BSD-3-Clause
// The program without its main(), so that tests can run it.
#pragma once

#include <span>
#include <string>

#include "apps/lnetctl/command_row.hpp"

namespace plnet::apps {

// Runs a command line (without the program's name). Connects to the node when a command first asks;
// `session.ask`, if set, is used instead.
int run_lnetctl(std::span<const std::string> words, Session& session, bool interactive);

}  // namespace plnet::apps
