// SPDX-License-Identifier: BSD-3-Clause
// `lst`, by that name or as `lnet-selftest lst`.
#pragma once

#include "apps/manual/program_page.hpp"

namespace plnet::lst {

// `words` begin with the program's name. Returns the exit status.
int run_lst_command(int count, const char* const* words);

// The prompt: the session belongs to this process unless LST_SESSION names another, and ends with
// the prompt if a console was started for it.
int run_prompt_with_console(int count, const char* const* words);

// The page of lst; and the console's part of that of lnet-selftest.
[[nodiscard]] manual::ProgramPage lst_page();
[[nodiscard]] manual::Command console_page();

}  // namespace plnet::lst
