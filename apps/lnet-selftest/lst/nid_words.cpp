// SPDX-License-Identifier: BSD-3-Clause
#include "apps/lnet-selftest/lst/nid_words.hpp"

#include <cstdint>

#include <fmt/format.h>

#include "lib/base/whole_number.hpp"
#include "lib/lnet/names/nid_text.hpp"

namespace plnet::lst {
namespace {

struct Range {
  std::uint32_t low = 0;
  std::uint32_t high = 0;
  std::uint32_t stride = 1;
};

std::unexpected<Error> wrong(std::string_view text, std::string_view what) {
  return failure(Errc::kInvalid, fmt::format("'{}': {}", text, what));
}

Outcome<Range> read_range(std::string_view text) {
  const auto bad = [text] { return wrong(text, "expected N, LOW-HIGH or LOW-HIGH/STRIDE"); };
  const std::size_t dash = text.find('-');
  const auto low = whole_number<std::uint32_t>(text.substr(0, dash));
  if (!low) return bad();
  if (dash == std::string_view::npos) return Range{.low = *low, .high = *low};
  const std::size_t slash = text.find('/', dash);
  const auto high = whole_number<std::uint32_t>(text.substr(dash + 1, slash - dash - 1));
  const auto stride =
      slash == std::string_view::npos ? 1 : whole_number<std::uint32_t>(text.substr(slash + 1));
  if (!high || !stride || *low >= *high || *stride == 0) return bad();
  return Range{.low = *low, .high = *high, .stride = *stride};
}

// Reads the text between two brackets.
Outcome<std::vector<std::uint32_t>> read_numbers(std::string_view text) {
  std::vector<std::uint32_t> numbers;
  while (true) {
    const std::size_t comma = text.find(',');
    const auto range = read_range(text.substr(0, comma));
    if (!range) return std::unexpected(range.error());
    for (std::uint64_t at = range->low; at <= range->high; at += range->stride) {
      if (numbers.size() == kNodesOfListMax) return wrong(text, "too many nodes");
      numbers.push_back(static_cast<std::uint32_t>(at));
    }
    if (comma == std::string_view::npos) return numbers;
    text = text.substr(comma + 1);
  }
}

// All nodes of `text`, which has no commas outside brackets.
Outcome<std::vector<std::string>> expand_word(std::string_view text) {
  std::vector<std::string> all{""};
  while (!text.empty()) {
    const std::size_t open = text.find('[');
    const std::string_view plain = text.substr(0, open);
    if (plain.find(']') != std::string_view::npos) return wrong(text, "']' without '['");
    for (std::string& each : all)
      each += plain;
    if (open == std::string_view::npos) return all;
    const std::size_t close = text.find(']', open);
    if (close == std::string_view::npos) return wrong(text, "'[' without ']'");
    const auto numbers = read_numbers(text.substr(open + 1, close - open - 1));
    if (!numbers) return std::unexpected(numbers.error());
    if (all.size() * numbers->size() > kNodesOfListMax) return wrong(text, "too many nodes");
    std::vector<std::string> more;
    more.reserve(all.size() * numbers->size());
    for (const std::string& each : all) {
      for (const std::uint32_t number : *numbers)
        more.push_back(each + std::to_string(number));
    }
    all = std::move(more);
    text = text.substr(close + 1);
  }
  return all;
}

}  // namespace

Outcome<std::vector<std::string>> expand_brackets(std::string_view text) {
  std::vector<std::string> all;
  std::size_t begin = 0;
  bool inside = false;
  for (std::size_t i = 0; i <= text.size(); ++i) {
    const char letter = i < text.size() ? text[i] : ',';
    if (letter == '[') inside = true;
    if (letter == ']') inside = false;
    if (letter != ',' || (inside && i < text.size())) continue;
    const std::string_view word = text.substr(begin, i - begin);
    begin = i + 1;
    if (word.empty()) return wrong(text, "expected a NID before and behind each comma");
    auto some = expand_word(word);
    if (!some) return some;
    if (all.size() + some->size() > kNodesOfListMax) return wrong(text, "too many nodes");
    all.insert(all.end(), some->begin(), some->end());
  }
  return all;
}

Outcome<std::vector<std::string>> read_nodes(std::string_view text) {
  auto words = expand_brackets(text);
  if (!words) return words;
  for (std::string& word : *words) {
    const auto id = lnet::parse_process_id(word);
    if (!id) return std::unexpected(id.error());
    word = lnet::text_of(*id);
  }
  return words;
}

}  // namespace plnet::lst
