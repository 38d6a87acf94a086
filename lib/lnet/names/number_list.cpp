// SPDX-License-Identifier: BSD-3-Clause
#include "lib/lnet/names/number_list.hpp"

#include <algorithm>
#include <optional>

#include "lib/base/check.hpp"
#include "lib/base/whole_number.hpp"

namespace plnet::lnet {

namespace {

struct Limits {
  std::uint32_t max;
  std::string_view what;
};

// Numbers in C notation: 0x for hexadecimal, 0 for octal.
std::optional<std::uint32_t> c_number(std::string_view text) {
  int base = 10;
  if (text.starts_with("0x") || text.starts_with("0X")) {
    base = 16;
    text.remove_prefix(2);
  } else if (text.starts_with('0') && text.size() > 1) {
    base = 8;
  }
  return whole_number<std::uint32_t>(text, base);
}

Outcome<std::uint32_t> parse_number(const TextPart& untrimmed, const Limits& limits) {
  const TextPart part = untrimmed.trimmed();
  const auto number = c_number(part.text());
  if (number && *number <= limits.max) return *number;
  return part.expected(std::string(limits.what) + ", 0 to " + std::to_string(limits.max) +
                       (part.text().starts_with('0') ? " (octal after a 0)" : ""));
}

// "7", "1-9", "1-9/2", "*"
Outcome<NumberRange> parse_range(const TextPart& untrimmed, const Limits& limits) {
  const TextPart part = untrimmed.trimmed();
  if (part.text() == "*") return NumberRange{.low = 0, .high = limits.max, .stride = 1};
  NumberRange range;
  const std::size_t dash = part.find('-');
  const auto low = parse_number(part.sub(0, dash), limits);
  if (!low) return std::unexpected(low.error());
  range.low = range.high = *low;
  if (dash == std::string_view::npos) return range;

  const TextPart rest = part.sub(dash + 1);
  const std::size_t slash = rest.find('/');
  const auto high = parse_number(rest.sub(0, slash), limits);
  if (!high) return std::unexpected(high.error());
  range.high = *high;
  if (range.high < range.low) return part.error_at("the range runs downwards");
  if (slash == std::string_view::npos) return range;

  const TextPart stride_part = rest.sub(slash + 1);
  const auto stride = parse_number(stride_part, limits);
  if (!stride) return std::unexpected(stride.error());
  if (*stride == 0) return stride_part.error_at("a stride of 0 leads nowhere");
  if (range.low != range.high) range.stride = *stride;
  return range;
}

std::string text_of_range(const NumberRange& range) {
  std::string text = std::to_string(range.low);
  if (range.low == range.high) return text;
  text += '-' + std::to_string(range.high);
  if (range.stride != 1) text += '/' + std::to_string(range.stride);
  return text;
}

}  // namespace

bool NumberList::contains(std::uint32_t value) const {
  return std::ranges::any_of(ranges, [value](const auto& range) { return range.contains(value); });
}

std::uint64_t NumberList::count() const {
  std::uint64_t total = 0;
  for (const auto& range : ranges)
    total += range.count();
  return total;
}

std::vector<std::uint16_t> NumberList::expand() const {
  std::vector<std::uint16_t> numbers;
  for (const NumberRange& range : ranges) {
    PLNET_CHECK(range.high <= UINT16_MAX, "what is expanded are small numbers");
    for (std::uint32_t value = range.low; value <= range.high; value += range.stride) {
      const auto number = static_cast<std::uint16_t>(value);
      if (std::ranges::find(numbers, number) == numbers.end()) numbers.push_back(number);
    }
  }
  return numbers;
}

Outcome<NumberList> parse_number_list(const TextPart& untrimmed, std::uint32_t max,
                                      std::string_view what) {
  const Limits limits{.max = max, .what = what};
  const TextPart part = untrimmed.trimmed();
  NumberList list;
  if (!part.text().starts_with('[')) {
    if (part.text() == "*") {
      list.ranges.push_back({.low = 0, .high = max, .stride = 1});
      return list;
    }
    const auto number = parse_number(part, limits);
    if (!number) return std::unexpected(number.error());
    list.ranges.push_back({.low = *number, .high = *number, .stride = 1});
    return list;
  }
  if (!part.text().ends_with(']')) return part.error_at("this \"[\" is not closed by a \"]\"");
  for (const TextPart& item : part.sub(1, part.size() - 2).split(',')) {
    if (list.ranges.size() == NumberList::kRangesMax) {
      return item.error_at("more than 256 ranges in one list");
    }
    const auto range = parse_range(item, limits);
    if (!range) return std::unexpected(range.error());
    list.ranges.push_back(*range);
  }
  return list;
}

std::string text_of(const NumberList& list) {
  std::string text;
  for (const auto& range : list.ranges)
    append_piece(text, ",", text_of_range(range));
  const bool bare = list.ranges.size() == 1 && list.ranges[0].low == list.ranges[0].high;
  return bare ? text : '[' + text + ']';
}

}  // namespace plnet::lnet
