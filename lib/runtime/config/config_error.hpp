// SPDX-License-Identifier: BSD-3-Clause
// Errors of a configuration document, with their places. A reader collects all of them, so that a
// person corrects a file once and not line by line.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/result.hpp"

namespace plnet::runtime {

// Counted from 1; columns in characters, as editors do.
struct Position {
  unsigned line = 1;
  unsigned column = 1;

  bool operator==(const Position&) const = default;
};

// The limit of errors that are kept; the rest is only counted, since a hostile file may have
// millions.
inline constexpr std::size_t kMaxConfigErrors = 100;
// The columns of a source excerpt, so that one long line does not fill a screen.
inline constexpr std::size_t kMaxSourceColumns = 100;

struct ConfigError {
  std::string file;
  Position at;
  std::string what;     // "what is wrong, expected ..."
  std::string excerpt;  // the source line and a caret beneath it; two lines, no newline at the end

  [[nodiscard]] std::string where() const;    // "file:line:column"
  [[nodiscard]] std::string summary() const;  // "file:line:column: what"
  [[nodiscard]] std::string text() const;     // the summary, and beneath it the excerpt
};

// An object that is returned as an error has at least one error.
class ConfigErrors {
 public:
  // Both outlive the last call of add(); the errors hold copies.
  ConfigErrors(std::string_view source, std::string_view file) : source_(source), file_(file) {}

  // Keeps the order of the document; at the same place, the order of the calls.
  void add(Position at, std::string what);

  // "file:line:column"
  [[nodiscard]] std::string where(Position at) const;
  [[nodiscard]] bool empty() const { return errors_.empty(); }
  [[nodiscard]] const std::vector<ConfigError>& list() const { return errors_; }
  [[nodiscard]] std::size_t not_kept() const { return not_kept_; }

  // All errors for a terminal, in the order of the file.
  [[nodiscard]] std::string text() const;
  // All errors as one error of the control path: text() with the code kInvalid.
  [[nodiscard]] Error to_error() const;

 private:
  std::string_view source_;
  std::string_view file_;
  std::vector<ConfigError> errors_;
  std::size_t not_kept_ = 0;
};

// The line of `source` at the position, and a caret below it; "" beyond the end of the text.
[[nodiscard]] std::string source_excerpt(std::string_view source, Position at);

// Text of a file for a message, without quotes: control characters become '?', and long text is
// cut.
[[nodiscard]] std::string shown(std::string_view text);

}  // namespace plnet::runtime
