// SPDX-License-Identifier: BSD-3-Clause
#include "lib/trace/show/format.hpp"

#include <algorithm>
#include <utility>

#include "lib/lnet/names/text_part.hpp"

namespace plnet::trace {

namespace {

// Longer codes first: %L… and %P… have two letters.
const FormatCode* find_code(std::string_view text) {
  const FormatCode* best = nullptr;
  for (const FormatCode& code : format_codes()) {
    if (!text.starts_with(code.code)) continue;
    if (best == nullptr || code.code.size() > best->code.size()) best = &code;
  }
  return best;
}

std::string known_codes() {
  std::string list;
  for (const FormatCode& code : format_codes())
    lnet::append_piece(list, " ", "%" + std::string(code.code));
  return list;
}

std::size_t read_number(const lnet::TextPart& text, std::size_t& at) {
  std::size_t number = 0;
  for (; at < text.size() && text[at] >= '0' && text[at] <= '9'; ++at)
    number = std::min(number * 10 + static_cast<std::size_t>(text[at] - '0'), Format::kTextMax);
  return number;
}

bool is_number(std::string_view text) {
  return !text.empty() && text.front() >= '0' && text.front() <= '9';
}

}  // namespace

Outcome<Format> Format::parse(std::string_view text) {
  const lnet::TextPart whole(text);
  if (text.size() > kTextMax) return whole.expected("at most 4096 letters", kTextMax);
  Format format;
  Piece piece;
  for (std::size_t at = 0; at < text.size();) {
    if (text[at] != '%') {
      piece.literal += text[at++];
      continue;
    }
    ++at;
    if (at < text.size() && text[at] == '%') {
      piece.literal += text[at++];
      continue;
    }
    for (; at < text.size() && (text[at] == '-' || text[at] == '0'); ++at)
      (text[at] == '-' ? piece.left : piece.zeros) = true;
    const std::size_t width_at = at;
    piece.width = read_number(whole, at);
    if (piece.width > kWidthMax) return whole.expected("a width of at most 256", width_at);
    if (at < text.size() && text[at] == '.') piece.precision = read_number(whole, ++at);
    piece.code = find_code(text.substr(at));
    if (piece.code == nullptr) return whole.expected("one of " + known_codes(), at);
    at += piece.code->code.size();
    format.pieces_.push_back(std::exchange(piece, {}));
  }
  format.pieces_.push_back(std::move(piece));
  return format;
}

std::string Format::line(const Sighting& sighting) const {
  std::string line;
  for (const Piece& piece : pieces_) {
    line += piece.literal;
    if (piece.code == nullptr) continue;
    std::string text = piece.code->text(sighting);
    if (text.size() > piece.precision) text.resize(piece.precision);
    const std::size_t pad = piece.width - std::min(piece.width, text.size());
    const char filler = piece.zeros && !piece.left && is_number(text) ? '0' : ' ';
    if (!piece.left) line.append(pad, filler);
    line += text;
    if (piece.left) line.append(pad, ' ');
  }
  line.resize(line.find_last_not_of(' ') + 1);
  return line;
}

}  // namespace plnet::trace
