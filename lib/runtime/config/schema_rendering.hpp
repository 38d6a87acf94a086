// SPDX-License-Identifier: BSD-3-Clause
// The schema for people: the reference in doc/configuration.md, the manual page, and the commented
// file with all defaults, config/plnet.yaml.
#pragma once

#include <string>
#include <vector>

namespace plnet::runtime {

class Schema;

struct KeyRow {
  std::string path;
  std::string value;         // valid values; "" for a section
  std::string fallback;      // the default; "" if there is none
  std::string when_applied;  // "" for a section
  std::string help;
};
[[nodiscard]] std::vector<KeyRow> key_rows(const Schema& schema);

// A table with a row for each key: path, valid values, default, when it takes effect, meaning.
[[nodiscard]] std::string render_reference(const Schema& schema);

// A document that sets every key to its default, each with its explanation. Lists are shown as
// comments.
[[nodiscard]] std::string render_default_file(const Schema& schema);

}  // namespace plnet::runtime
