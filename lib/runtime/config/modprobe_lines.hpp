// SPDX-License-Identifier: BSD-3-Clause
// Files of modprobe.d(5), word by word.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "lib/runtime/config/config_error.hpp"

namespace plnet::runtime {

// One word of a line, and the place where it begins.
struct ModprobeWord {
  std::string text;
  Position at;
};

// Joins lines that end with a backslash, and removes quotes from words.
class ModprobeLines {
 public:
  // The text outlives this object.
  explicit ModprobeLines(std::string_view text) : text_(text) {}

  // The next line that is neither empty nor a comment; empty at the end.
  std::vector<ModprobeWord> next();

 private:
  void step();
  bool skip_continuation();
  [[nodiscard]] bool at_end_of_line() const { return at_ >= text_.size() || text_[at_] == '\n'; }
  std::vector<ModprobeWord> read_line();
  // Reads up to a blank outside of quotes. An open quote ends with the text.
  ModprobeWord read_word();

  std::string_view text_;
  std::size_t at_ = 0;
  Position position_;
};

}  // namespace plnet::runtime
