// SPDX-License-Identifier: BSD-3-Clause
// The files that a node starts with.
#pragma once

#include <cstddef>
#include <string>

#include "lib/base/result.hpp"
#include "lib/runtime/config/settings.hpp"

namespace plnet::node {

struct SettingsFiles {
  std::string program;  // the prefix of notes on standard error
  std::string config;   // "": none
  std::string options;  // of modprobe.d; read first, `config` adds to it; "": none
  // Module options of these names from the command line, which override the files; "": none. They
  // suit hosts that are started alike.
  std::string networks;
  std::string ip2nets;
};

// Without files: all defaults.
[[nodiscard]] Outcome<runtime::Settings> read_settings_files(const SettingsFiles& files);

// Whether a node can start with these settings of the files on so many CPTs, as far as that is
// decided before it takes resources, and whether its NIs could be opened now. Writes notes about
// differences from the text to standard error.
[[nodiscard]] Outcome<void> check_startable(const SettingsFiles& files,
                                            const runtime::Settings& settings, std::size_t cpts);

// Adds the place in the files to the error of a start, if the configuration is at fault.
[[nodiscard]] Error located_in_files(const SettingsFiles& files, const runtime::Settings& settings,
                                     const Error& error);

// The value of `--idle`, which overrides the files.
[[nodiscard]] Outcome<runtime::IdlePolicy> parse_idle_flag(const std::string& text);

}  // namespace plnet::node
