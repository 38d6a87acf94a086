// SPDX-License-Identifier: BSD-3-Clause
// The program without its main(), for tests.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "apps/lnet-selftest/lst/shell.hpp"

namespace plnet::lst {

// LST_SESSION and LST_FEATURES, null if not set. The error is the text that lst prints before it
// ends.
[[nodiscard]] Outcome<void> read_environment(const char* session, const char* features,
                                             Shell& shell);

// Runs one command, or the prompt if there is none. `interactive`: prints a prompt. Returns the
// exit status, negative or not.
int run_lst(std::span<const std::string> words, const Shell& shell, bool interactive);

[[nodiscard]] std::vector<const Command*> all_commands();
[[nodiscard]] std::string overview();
[[nodiscard]] std::string help_of(const Command& command);

}  // namespace plnet::lst
