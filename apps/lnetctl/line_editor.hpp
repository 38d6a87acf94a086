// SPDX-License-Identifier: BSD-3-Clause
// Line editing of the prompt on a terminal: cursor keys, history, Tab and `?`. By libedit, which a
// build may lack: then lines are read as they come.
#pragma once

#include <cstdio>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace plnet::apps {

class LineEditor {
 public:
  // `line` is the line up to the cursor.
  struct Words {
    // Words that may stand in the place of the last, unfinished one.
    std::function<std::vector<std::string>(std::string_view line)> candidates;
    // The text that `?` prints.
    std::function<std::string(std::string_view line)> help;
  };

  virtual ~LineEditor() = default;
  // nullopt: the end of the input.
  [[nodiscard]] virtual std::optional<std::string> next() = 0;
};

// Null: this build has no libedit, or `in` is no terminal that it knows.
[[nodiscard]] std::unique_ptr<LineEditor> open_line_editor(std::FILE* in, std::FILE* out,
                                                           std::FILE* err, const char* prompt,
                                                           LineEditor::Words words);

}  // namespace plnet::apps
