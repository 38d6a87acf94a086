// SPDX-License-Identifier: BSD-3-Clause
#include "lib/runtime/config/yaml_text.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <limits>

#include <fmt/format.h>

#include "lib/runtime/config/yaml_document.hpp"

namespace plnet::runtime {
namespace {

unsigned byte_at(std::string_view text, std::size_t i) {
  return static_cast<unsigned char>(text[i]);
}

// The length of the character that the text begins with, 0 if it is not UTF-8.
std::size_t character_length(std::string_view text) {
  const unsigned lead = byte_at(text, 0);
  if (lead < 0x80U) return 1;
  if (lead < 0xc2U || lead > 0xf4U) return 0;
  const std::size_t length = lead >= 0xf0U ? 4 : lead >= 0xe0U ? 3 : 2;
  if (text.size() < length) return 0;
  std::uint32_t code = lead & (0x7fU >> length);
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte_at(text, i) & 0xc0U) != 0x80U) return 0;
    code = code << 6U | (byte_at(text, i) & 0x3fU);
  }
  static constexpr std::array<std::uint32_t, 5> kLeast{0, 0, 0x80, 0x800, 0x10000};
  const bool surrogate = code >= 0xd800U && code <= 0xdfffU;
  return code < kLeast[length] || code > 0x10ffffU || surrogate ? 0 : length;
}

bool is_forbidden_control(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return (byte < 0x20U && c != '\n' && c != '\r' && c != '\t') || byte == 0x7fU;
}

std::optional<UnfitText> find_unfit_character(std::string_view text) {
  Position at;
  while (!text.empty()) {
    const std::size_t length = character_length(text);
    if (length == 0) {
      return UnfitText{
          at, fmt::format("byte 0x{:02x} is not UTF-8, expected text in UTF-8", byte_at(text, 0))};
    }
    if (is_forbidden_control(text.front())) {
      return UnfitText{
          at, fmt::format("control character 0x{:02x}, expected printable text", byte_at(text, 0))};
    }
    if (text.front() == '\n') {
      at = {at.line + 1, 1};
    } else {
      ++at.column;
    }
    text.remove_prefix(length);
  }
  return std::nullopt;
}

// Directives come before the first line that is neither empty nor a comment.
std::optional<UnfitText> find_directive(std::string_view text) {
  constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  for (unsigned line = 1; !text.empty(); ++line) {
    const std::string_view head = text.substr(0, text.find('\n'));
    const std::size_t first = head.find_first_not_of(" \t\r");
    if (first == 0 && head[0] == '%') {
      return UnfitText{{line, 1}, "directives (%...) are not supported, expected `key: value`"};
    }
    if (first != std::string_view::npos && head[first] != '#') return std::nullopt;
    text.remove_prefix(std::min(head.size() + 1, text.size()));
  }
  return std::nullopt;
}

}  // namespace

std::optional<UnfitText> find_unfit_text(std::string_view text) {
  if (text.size() > kMaxYamlBytes) {
    return UnfitText{
        {},
        fmt::format("the document has {} bytes, expected at most {}", text.size(), kMaxYamlBytes)};
  }
  if (auto unfit = find_unfit_character(text)) return unfit;
  return find_directive(text);
}

Result<std::int64_t> parse_integer(std::string_view text) {
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);
  int base = 10;
  if (text.starts_with("0x") || text.starts_with("0X")) {
    base = 16;
    text.remove_prefix(2);
  } else if (text.size() > 1 && text.starts_with('0')) {
    base = 8;
    text.remove_prefix(1);
  }
  std::uint64_t magnitude = 0;
  const char* const begin = text.data();
  const char* const end = begin + text.size();
  const auto [stop, code] = std::from_chars(begin, end, magnitude, base);
  if (code == std::errc::invalid_argument || stop != end) return std::unexpected(Errc::kInvalid);
  constexpr auto kHighest = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  if (code != std::errc{} || magnitude > kHighest) return std::unexpected(Errc::kOutOfRange);
  const auto value = static_cast<std::int64_t>(magnitude);
  return negative ? -value : value;
}

Result<bool> parse_boolean(std::string_view text) {
  const auto is_word = [text](std::string_view word) {
    return std::ranges::equal(text, word, [](char a, char b) {
      return (a >= 'A' && a <= 'Z' ? static_cast<char>(a - 'A' + 'a') : a) == b;
    });
  };
  if (is_word("true") || text == "1") return true;
  if (is_word("false") || text == "0") return false;
  return std::unexpected(Errc::kInvalid);
}

}  // namespace plnet::runtime
