// SPDX-License-Identifier: BSD-3-Clause
#include "node/watch/recent_lines.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace plnet::node {
namespace {

constexpr auto kOfTheStart = std::to_array<std::string_view>(
    {"starting", "plan", "plan_warning", "memory", "host_note", "host_warning", "eal"});

// Takes " key=word" off the front of `line`; "" if it begins otherwise.
std::string take_word(std::string_view& line, std::string_view key) {
  const std::size_t start = line.find_first_not_of(' ');
  if (start == std::string_view::npos) return {};
  std::string_view rest = line.substr(start);
  if (!rest.starts_with(key)) return {};
  rest.remove_prefix(key.size());
  const std::string_view word = rest.substr(0, rest.find(' '));
  line = rest.substr(word.size());
  return std::string(word);
}

// At most `max` bytes, and whole characters of UTF-8.
std::string_view cut(std::string_view text, std::size_t max) {
  if (text.size() <= max) return text;
  while (max > 0 && (static_cast<unsigned char>(text[max]) & 0xc0U) == 0x80U)
    --max;
  return text.substr(0, max);
}

}  // namespace

void RecentLines::add(std::string_view line) {
  while (!line.empty() && (line.back() == '\n' || line.back() == ' '))
    line.remove_suffix(1);
  RecentLine made{.time = take_word(line, "time="),
                  .level = take_word(line, "level="),
                  .event = take_word(line, "event="),
                  .text = {}};
  if (made.event.empty() || std::ranges::find(kOfTheStart, made.event) != kOfTheStart.end()) return;
  if (made.level == "debug") return;
  if (!line.empty()) line.remove_prefix(1);
  made.text = cut(line, kTextMax);
  const std::lock_guard lock(mutex_);
  lines_.push_front(std::move(made));
  if (lines_.size() > kLinesMax) lines_.pop_back();
}

std::vector<RecentLine> RecentLines::latest() const {
  const std::lock_guard lock(mutex_);
  return {lines_.begin(), lines_.end()};
}

}  // namespace plnet::node
