// SPDX-License-Identifier: BSD-3-Clause
// Starts a console in the background, for one session.
#pragma once

#include <cstdint>
#include <expected>
#include <string>

#include "apps/lst/consoles.hpp"

namespace plnet::lst {

// Of a console that is to be started, unless somebody names another.
inline constexpr const char* kDefaultConfig = "/etc/plnet.yaml";

struct ConsoleStart {
  std::string config;   // "": every default, which is no network
  std::string options;  // of modprobe.d; "": none
  std::string lock_directory;
};

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
