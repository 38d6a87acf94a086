// SPDX-License-Identifier: BSD-3-Clause
// Starts a console in the background, for one session.
#pragma once

#include <cstdint>
#include <expected>
#include <string>

#include "apps/lst/consoles.hpp"

namespace plnet::lst {

struct ConsoleStart {
  std::string config;   // "": every default, which is no network
  std::string options;  // of modprobe.d; "": none
  std::string lock_directory;
};

// Returns when it serves, or says why it does not: that is what it has written last.
[[nodiscard]] std::expected<FoundConsole, Refusal> start_console(const Consoles& consoles,
                                                                 std::uint32_t key,
                                                                 const ConsoleStart& start);

}  // namespace plnet::lst
