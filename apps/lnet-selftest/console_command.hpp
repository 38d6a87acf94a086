// SPDX-License-Identifier: BSD-3-Clause
// `lnet-selftest console`: the prompt of lst with a console of its own; or that console.
#pragma once

namespace plnet::apps {

// `words` begin with the subcommand. `--background` among them: the console that `lst new_session`
// starts, which ends with its session. Returns the exit status.
int run_console(int count, const char* const* words);

}  // namespace plnet::apps
