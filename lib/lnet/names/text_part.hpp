// SPDX-License-Identifier: BSD-3-Clause
// A piece of a text that knows its place in the whole, so that every parser error names a position
// in the text that the user wrote.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/result.hpp"

namespace plnet::lnet {

// The kernel accepts at most this much in one module parameter (lustre-release lnet/lnet/config.c:
// LNET_SINGLE_TEXTBUF_NOB); the parsers of this room refuse longer texts.
inline constexpr std::size_t kNamesTextMax = 4096;

class TextPart {
 public:
  explicit TextPart(std::string_view whole) : whole_(whole), text_(whole) {}

  [[nodiscard]] std::string_view text() const { return text_; }
  [[nodiscard]] std::size_t size() const { return text_.size(); }
  [[nodiscard]] bool empty() const { return text_.empty(); }
  [[nodiscard]] char operator[](std::size_t at) const { return text_[at]; }
  [[nodiscard]] bool contains(char letter) const { return text_.contains(letter); }
  // npos without such a letter, like std::string_view.
  [[nodiscard]] std::size_t find(char letter, std::size_t from = 0) const {
    return text_.find(letter, from);
  }
  // Like substr: `from` may lie at the end, `count` may reach beyond it.
  [[nodiscard]] TextPart sub(std::size_t from, std::size_t count = std::string_view::npos) const;
  // The part without blanks at both ends.
  [[nodiscard]] TextPart trimmed() const;
  // The pieces between separators, at least one; empty between two adjacent separators.
  [[nodiscard]] std::vector<TextPart> split(char separator) const;

  // "column 5 of "1.2.3@tcp": expected …". The position is `at` letters into this part.
  [[nodiscard]] std::unexpected<Error> expected(std::string_view what, std::size_t at = 0) const {
    return error_at("expected " + std::string(what), at);
  }
  [[nodiscard]] std::unexpected<Error> error_at(std::string_view what, std::size_t at = 0,
                                                Errc code = Errc::kInvalid) const;

 private:
  TextPart(std::string_view whole, std::string_view text) : whole_(whole), text_(text) {}

  std::string_view whole_;
  std::string_view text_;  // a part of whole_
};

[[nodiscard]] bool is_blank(char letter);

// Appends a piece to a list, with the separator before all but the first.
void append_piece(std::string& list, std::string_view separator, std::string_view piece);

// The pieces between blanks; none is empty.
[[nodiscard]] std::vector<TextPart> split_words(const TextPart& whole);

// The entries of `routes` and `ip2nets`: an entry ends at a semicolon or at the end of a line; #
// begins a comment, which ends there too. Blank entries are left out. Checked against
// lustre-release lnet/lnet/config.c: lnet_str2tbs_sep().
[[nodiscard]] std::vector<TextPart> split_entries(const TextPart& whole);

}  // namespace plnet::lnet
