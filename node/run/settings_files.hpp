// SPDX-License-Identifier: BSD-3-Clause
// The files that a node is started with.
#pragma once

#include <cstddef>
#include <string>

#include "lib/base/result.hpp"
#include "lib/runtime/config/settings.hpp"

namespace plnet::node {

struct SettingsFiles {
  std::string program;  // who says on standard error what is odd but no error
  std::string config;   // "" = none
  std::string options;  // of modprobe.d, read before the other, which adds to it; "" = none
  // The module options of these names, from the command line: over what files say; "" = none. What
  // many hosts can be started with alike.
  std::string networks;
  std::string ip2nets;
};

// Without files: every default.
[[nodiscard]] Outcome<runtime::Settings> read_settings_files(const SettingsFiles& files);

// Whether a node that is started with these settings of the files gets past what it decides before
// it takes anything, on so many CPTs. What came out otherwise than it was written is said on
// standard error.
[[nodiscard]] Outcome<void> check_startable(const SettingsFiles& files,
                                            const runtime::Settings& settings, std::size_t cpts);

// Why a start ended, behind the place in the files that is to blame if it is one of these reasons.
[[nodiscard]] Error located_in_files(const SettingsFiles& files, const runtime::Settings& settings,
                                     const Error& error);

// What `--idle` says, over the files.
[[nodiscard]] Outcome<runtime::IdlePolicy> parse_idle_flag(const std::string& text);

}  // namespace plnet::node
