// SPDX-License-Identifier: BSD-3-Clause
// Output of a rank, cut into lines that begin with its number.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

namespace plnet::cxi_lab {

class PrefixedLines {
 public:
  // A longer line is printed in parts.
  static constexpr std::size_t kLineMax = std::size_t{64} << 10U;

  explicit PrefixedLines(std::string prefix) : prefix_(std::move(prefix)) {}

  // Returns the lines that are complete now.
  [[nodiscard]] std::string add(std::string_view text) {
    std::string out;
    while (!text.empty()) {
      const std::size_t end = text.find('\n');
      const std::size_t room = kLineMax - line_.size();
      const std::size_t part = std::min(std::min(end, text.size()), room);
      line_ += text.substr(0, part);
      text.remove_prefix(part);
      const bool is_complete = !text.empty() && text.front() == '\n';
      if (is_complete) text.remove_prefix(1);
      if (is_complete || line_.size() == kLineMax) print(out);
    }
    return out;
  }
  // The last line, if it has no end.
  [[nodiscard]] std::string rest() {
    std::string out;
    if (!line_.empty()) print(out);
    return out;
  }

 private:
  void print(std::string& out) {
    out += prefix_ + line_ + '\n';
    line_.clear();
  }

  std::string prefix_;
  std::string line_;
};

}  // namespace plnet::cxi_lab
