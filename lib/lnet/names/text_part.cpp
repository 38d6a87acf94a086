// SPDX-License-Identifier: BSD-3-Clause
#include "lib/lnet/names/text_part.hpp"

#include <algorithm>

#include "lib/base/check.hpp"

namespace plnet::lnet {

namespace {

constexpr std::size_t kQuotedMax = 160;  // letters of the line with the mistake

// Masks letters that a terminal might act upon; the text may be from a stranger.
std::string quoted(std::string_view line, std::size_t around) {
  std::string out = "\"";
  std::size_t from = 0;
  if (line.size() > kQuotedMax && around > kQuotedMax / 2) {
    from = std::min(around - kQuotedMax / 2, line.size() - kQuotedMax);
    out += "...";
  }
  const std::string_view shown = line.substr(from, kQuotedMax);
  for (const char letter : shown)
    out += letter >= 0x20 && letter < 0x7f ? letter : '?';
  if (from + shown.size() < line.size()) out += "...";
  return out + '"';
}

}  // namespace

bool is_blank(char letter) {
  return letter == ' ' || letter == '\t' || letter == '\v' || letter == '\f' || letter == '\r' ||
         letter == '\n';
}

void append_piece(std::string& list, std::string_view separator, std::string_view piece) {
  if (!list.empty()) list += separator;
  list += piece;
}

TextPart TextPart::sub(std::size_t from, std::size_t count) const {
  PLNET_CHECK(from <= text_.size(), "a part lies within its whole");
  return {whole_, text_.substr(from, count)};
}

TextPart TextPart::trimmed() const {
  std::size_t from = 0;
  std::size_t to = text_.size();
  while (from < to && is_blank(text_[from]))
    ++from;
  while (to > from && is_blank(text_[to - 1]))
    --to;
  return sub(from, to - from);
}

std::vector<TextPart> TextPart::split(char separator) const {
  std::vector<TextPart> parts;
  std::size_t from = 0;
  for (;;) {
    const std::size_t to = text_.find(separator, from);
    if (to == std::string_view::npos) break;
    parts.push_back(sub(from, to - from));
    from = to + 1;
  }
  parts.push_back(sub(from));
  return parts;
}

std::vector<TextPart> split_words(const TextPart& whole) {
  std::vector<TextPart> words;
  std::size_t begin = 0;
  for (std::size_t i = 0; i <= whole.size(); ++i) {
    if (i < whole.size() && !is_blank(whole[i])) continue;
    if (i > begin) words.push_back(whole.sub(begin, i - begin));
    begin = i + 1;
  }
  return words;
}

std::vector<TextPart> split_entries(const TextPart& whole) {
  std::vector<TextPart> entries;
  std::size_t begin = 0;
  std::size_t end = 0;  // the end of the text before a comment
  bool comment = false;
  for (std::size_t i = 0; i <= whole.size(); ++i) {
    const char letter = i < whole.size() ? whole[i] : ';';
    if (letter == ';' || letter == '\n' || letter == '\r') {
      const TextPart entry = whole.sub(begin, (comment ? end : i) - begin).trimmed();
      if (!entry.empty()) entries.push_back(entry);
      begin = i + 1;
      comment = false;
    } else if (letter == '#' && !comment) {
      comment = true;
      end = i;
    }
  }
  return entries;
}

std::unexpected<Error> TextPart::error_at(std::string_view what, std::size_t at, Errc code) const {
  const auto offset = static_cast<std::size_t>(text_.data() - whole_.data()) + at;
  PLNET_CHECK(offset <= whole_.size(), "an error lies within the text");
  const std::string_view before = whole_.substr(0, offset);
  const std::size_t line_start = before.rfind('\n') + 1;  // npos + 1 is 0
  const std::size_t line_end = std::min(whole_.find('\n', offset), whole_.size());
  const std::string_view line = whole_.substr(line_start, line_end - line_start);
  std::string words;
  if (whole_.contains('\n')) {
    words += "line " + std::to_string(std::ranges::count(before, '\n') + 1) + ", ";
  }
  words += "column " + std::to_string(offset - line_start + 1) + " of " +
           quoted(line, offset - line_start) + ": ";
  words += what;
  return failure(code, std::move(words));
}

}  // namespace plnet::lnet
