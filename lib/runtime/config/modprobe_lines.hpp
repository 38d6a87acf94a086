// SPDX-License-Identifier: BSD-3-Clause
// Files of modprobe.d(5), word by word.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "lib/runtime/config/config_error.hpp"

namespace plnet::runtime {

// One word of a line and where it began.
struct ModprobeWord {
  std::string text;
  Position at;
};

// Lines joined where one ends with a backslash, words without their quotes.
class ModprobeLines {
 public:
  // The text outlives this.
  explicit ModprobeLines(std::string_view text) : text_(text) {}

  // The next line that is neither empty nor a comment; empty at the end.
  std::vector<ModprobeWord> next();

 private:
  void step();
  bool skip_continuation();
  [[nodiscard]] bool at_end_of_line() const { return at_ >= text_.size() || text_[at_] == '\n'; }
  std::vector<ModprobeWord> read_line();
  // Up to a blank that is not within quotes. A quote that does not end, ends with the text.
  ModprobeWord read_word();

  std::string_view text_;
  std::size_t at_ = 0;
  Position position_;
};

}  // namespace plnet::runtime
