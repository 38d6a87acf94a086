// SPDX-License-Identifier: BSD-3-Clause
// Starts a console in the background for one session.
#pragma once

#include <cstdint>
#include <expected>
#include <string>

#include <sys/types.h>

#include "apps/lnet-selftest/lst/consoles.hpp"

namespace plnet::lst {

// Configuration of a started console, unless another file is named.
inline constexpr const char* kDefaultConfig = "/etc/plnet.yaml";

struct ConsoleStart {
  std::string config;   // "": all defaults, which have no network
  std::string options;  // a modprobe.d file; "": none
  std::string lock_directory;
};

// For a child that is detached from the terminal: its output goes to its log, and the terminal's
// signals do not reach it. Async-signal-safe.
void leave_terminal(int log);

// Waits until the child serves at this socket. The error is the last line of its log if the child
// has ended.
[[nodiscard]] std::expected<FoundConsole, Refusal> await_console(const Consoles& consoles,
                                                                 const std::string& socket,
                                                                 pid_t child,
                                                                 const std::string& log_path);

// Returns when the console serves; otherwise the error is the last line of its log.
[[nodiscard]] std::expected<FoundConsole, Refusal> start_console(const Consoles& consoles,
                                                                 std::uint32_t key,
                                                                 const ConsoleStart& start);

// Sends `new_session` to the console that may have it; if there is none, starts one and sets
// `started`.
[[nodiscard]] Shell::Asked begin_session(Consoles& consoles, const ConsoleStart& start,
                                         const std::string& instance, const Shell::Args& args,
                                         bool& started);

}  // namespace plnet::lst
