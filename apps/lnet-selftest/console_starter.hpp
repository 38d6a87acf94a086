// SPDX-License-Identifier: BSD-3-Clause
// Starts a console in the background, for one session.
#pragma once

#include <cstdint>
#include <expected>
#include <string>

#include <sys/types.h>

#include "apps/lnet-selftest/lst/consoles.hpp"

namespace plnet::lst {

// Of a console that is to be started, unless somebody names another.
inline constexpr const char* kDefaultConfig = "/etc/plnet.yaml";

struct ConsoleStart {
  std::string config;   // "": every default, which is no network
  std::string options;  // of modprobe.d; "": none
  std::string lock_directory;
};

// Of a child that nobody at the terminal is to hear of, or to interrupt: what it writes goes into
// its log. Async-signal-safe.
void leave_terminal(int log);

// Until the child serves at this socket; or says why it does not: it has ended then, and what it
// has written last is why.
[[nodiscard]] std::expected<FoundConsole, Refusal> await_console(const Consoles& consoles,
                                                                 const std::string& socket,
                                                                 pid_t child,
                                                                 const std::string& log_path);

// Returns when it serves, or says why it does not: that is what it has written last.
[[nodiscard]] std::expected<FoundConsole, Refusal> start_console(const Consoles& consoles,
                                                                 std::uint32_t key,
                                                                 const ConsoleStart& start);

// `new_session` at the console that can have it; if there is none, at one that is started, and
// `started` becomes true.
[[nodiscard]] Shell::Asked begin_session(Consoles& consoles, const ConsoleStart& start,
                                         const std::string& instance, const Shell::Args& args,
                                         bool& started);

}  // namespace plnet::lst
