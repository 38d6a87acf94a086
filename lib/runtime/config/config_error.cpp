// SPDX-License-Identifier: BSD-3-Clause
#include "lib/runtime/config/config_error.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "lib/base/counted.hpp"

namespace plnet::runtime {
namespace {

constexpr std::size_t kMaxShown = 64;  // enough to recognise a key or value

bool is_continuation(char c) {
  return (static_cast<unsigned char>(c) & 0xc0U) == 0x80U;
}

// The byte at which character `count` (from 0) begins, or the end.
std::size_t byte_of_character(std::string_view text, std::size_t count) {
  std::size_t at = 0;
  while (count > 0 && at < text.size()) {
    ++at;
    while (at < text.size() && is_continuation(text[at]))
      ++at;
    --count;
  }
  return at;
}

bool is_control(char c) {
  return static_cast<unsigned char>(c) < 0x20U || c == 0x7f;
}

std::string_view find_line(std::string_view source, unsigned line) {
  for (unsigned i = 1; i < line; ++i) {
    const std::size_t end = source.find('\n');
    if (end == std::string_view::npos) return {};
    source.remove_prefix(end + 1);
  }
  source = source.substr(0, source.find('\n'));
  if (source.ends_with('\r')) source.remove_suffix(1);
  return source;
}

}  // namespace

std::string source_excerpt(std::string_view source, Position at) {
  const std::string_view line = find_line(source, at.line);
  if (line.empty()) return {};
  const std::size_t column = at.column > 0 ? at.column - 1 : 0;
  const std::size_t first = column < kMaxSourceColumns ? 0 : column - kMaxSourceColumns / 2;
  const std::size_t begin = byte_of_character(line, first);
  const std::string_view rest = line.substr(begin);
  std::string out(rest.substr(0, byte_of_character(rest, kMaxSourceColumns)));
  std::ranges::replace_if(out, is_control, ' ');
  out += '\n';
  out.append(column - first, ' ');
  out += '^';
  return out;
}

std::string shown(std::string_view text) {
  const std::size_t end = byte_of_character(text, kMaxShown);
  std::string out(text.substr(0, end));
  std::ranges::replace_if(out, is_control, '?');
  if (end < text.size()) out += "...";
  return out;
}

std::string ConfigError::where() const {
  return fmt::format("{}:{}:{}", file, at.line, at.column);
}

std::string ConfigErrors::where(Position at) const {
  return fmt::format("{}:{}:{}", file_, at.line, at.column);
}

std::string ConfigError::summary() const {
  return fmt::format("{}: {}", where(), what);
}

std::string ConfigError::text() const {
  return excerpt.empty() ? summary() : fmt::format("{}\n{}", summary(), excerpt);
}

void ConfigErrors::add(Position at, std::string what) {
  if (errors_.size() >= kMaxConfigErrors) {
    ++not_kept_;
    return;
  }
  const auto is_before = [](Position place, const ConfigError& error) {
    return std::pair(place.line, place.column) < std::pair(error.at.line, error.at.column);
  };
  errors_.insert(std::upper_bound(errors_.begin(), errors_.end(), at, is_before),
                 {.file = std::string(file_),
                  .at = at,
                  .what = std::move(what),
                  .excerpt = source_excerpt(source_, at)});
}

std::string ConfigErrors::text() const {
  std::string out;
  for (const ConfigError& error : errors_) {
    if (!out.empty()) out += '\n';
    out += error.text();
  }
  if (not_kept_ > 0) out += "\nand " + counted(not_kept_, "more error");
  return out;
}

Error ConfigErrors::to_error() const {
  return {Errc::kInvalid, text()};
}

}  // namespace plnet::runtime
