// SPDX-License-Identifier: BSD-3-Clause
// `lnet-selftest console`: the prompt of lst with a console of its own; or the console itself.
#pragma once

namespace plnet::apps {

// `words` begin with the subcommand. With `--background`: the console started by `lst new_session`,
// which ends with its session. Returns the exit status.
int run_console(int count, const char* const* words);

}  // namespace plnet::apps
