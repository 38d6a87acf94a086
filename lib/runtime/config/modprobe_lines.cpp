// SPDX-License-Identifier: BSD-3-Clause
#include "lib/runtime/config/modprobe_lines.hpp"

namespace plnet::runtime {

std::vector<ModprobeWord> ModprobeLines::next() {
  while (at_ < text_.size()) {
    std::vector<ModprobeWord> words = read_line();
    if (!words.empty()) return words;
  }
  return {};
}

void ModprobeLines::step() {
  if (text_[at_] == '\n') {
    ++position_.line;
    position_.column = 1;
  } else if ((static_cast<unsigned char>(text_[at_]) & 0xc0U) != 0x80U) {
    ++position_.column;
  }
  ++at_;
}

bool ModprobeLines::skip_continuation() {
  const std::string_view rest = text_.substr(at_);
  const bool here = rest.starts_with("\\\n") || rest.starts_with("\\\r\n");
  if (!here) return false;
  while (text_[at_] != '\n')
    step();
  step();
  return true;
}

std::vector<ModprobeWord> ModprobeLines::read_line() {
  std::vector<ModprobeWord> words;
  while (!at_end_of_line()) {
    if (skip_continuation()) continue;
    const char letter = text_[at_];
    if (letter == ' ' || letter == '\t' || letter == '\r') {
      step();
    } else if (letter == '#' && words.empty()) {
      while (!at_end_of_line())
        if (!skip_continuation()) step();
    } else {
      words.push_back(read_word());
    }
  }
  if (at_ < text_.size()) step();
  return words;
}

ModprobeWord ModprobeLines::read_word() {
  ModprobeWord word{.text = {}, .at = position_};
  char quote = 0;
  while (at_ < text_.size()) {
    const char letter = text_[at_];
    if (skip_continuation()) continue;
    const bool blank = letter == ' ' || letter == '\t' || letter == '\r';
    if (quote == 0 && (blank || letter == '\n')) break;
    if (quote == 0 && (letter == '"' || letter == '\'')) {
      quote = letter;
    } else if (letter == quote) {
      quote = 0;
    } else {
      word.text += letter;
    }
    step();
  }
  return word;
}

}  // namespace plnet::runtime
