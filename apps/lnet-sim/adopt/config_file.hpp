// SPDX-License-Identifier: BSD-3-Clause
// The configuration of one node, or of one kind of node, of an existing network:
// FILE[+FILE…][:COUNT][=NID,NID…]. Files of the same node are joined by '+'; a modprobe.d file does
// not contain the node's NIDs, so they may follow.
#pragma once

#include <expected>
#include <string>
#include <string_view>
#include <vector>

#include "lib/lnet/names/nid.hpp"
#include "lib/runtime/config/settings.hpp"

namespace plnet::sim {

struct ConfigFile {
  std::string title;  // the files' names, for messages
  std::string name;   // of the group: the first file's name without folder and ending
  unsigned nodes = 1;
  bool is_server = false;
  std::vector<lnet::Nid> nids;     // given on the command line
  std::vector<std::string> notes;  // of the reader of modprobe.d files
  runtime::Settings settings;
};

// The error is text for people, with the file, the line and the expectation.
[[nodiscard]] std::expected<ConfigFile, std::string> read_config_file(const std::string& word);

// A file with this text, for tests: the reader follows from the name and the text.
[[nodiscard]] std::expected<void, std::string> add_config_text(ConfigFile& file,
                                                               std::string_view text,
                                                               const std::string& path);

}  // namespace plnet::sim
