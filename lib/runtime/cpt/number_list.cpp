// SPDX-License-Identifier: BSD-3-Clause
#include "lib/runtime/cpt/number_list.hpp"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <optional>
#include <set>

#include <fmt/format.h>

namespace plnet::runtime {
namespace {

struct Cursor {
  static constexpr std::string_view kBlanks = " \t";

  std::string_view text;
  std::size_t at = 0;

  void skip_blanks() { at = std::min(text.find_first_not_of(kBlanks, at), text.size()); }
  [[nodiscard]] bool done() const { return at == text.size(); }
  bool take(char wanted) {
    skip_blanks();
    if (done() || text[at] != wanted) {
      return false;
    }
    ++at;
    return true;
  }
  std::optional<unsigned> number() {
    skip_blanks();
    unsigned value = 0;
    const char* begin = text.data() + at;
    const auto [end, code] = std::from_chars(begin, text.data() + text.size(), value);
    if (code != std::errc{}) {
      return std::nullopt;
    }
    at += static_cast<std::size_t>(end - begin);
    return value;
  }
};

std::unexpected<Error> wrong(Errc code, const Cursor& cursor, std::string_view what) {
  return failure(code, fmt::format("column {} of \"{}\": {}", cursor.at + 1, cursor.text, what));
}

}  // namespace

Outcome<std::vector<unsigned>> parse_number_list(std::string_view text, unsigned highest) {
  std::set<unsigned> found;
  Cursor cursor{text};
  cursor.skip_blanks();
  if (cursor.done()) {
    return std::vector<unsigned>{};
  }
  do {
    cursor.skip_blanks();
    const Cursor item = cursor;
    const auto low = cursor.number();
    if (!low) {
      return wrong(Errc::kInvalid, item, "expected a number");
    }
    unsigned high = *low;
    if (cursor.take('-')) {
      cursor.skip_blanks();
      const auto upper = cursor.number();
      if (!upper) {
        return wrong(Errc::kInvalid, cursor, "expected the upper end of the range");
      }
      high = *upper;
    }
    if (high < *low) {
      return wrong(Errc::kInvalid, item,
                   fmt::format("range {}-{} is in descending order", *low, high));
    }
    if (high > highest) {
      return wrong(Errc::kOutOfRange, item, fmt::format("{} is over the limit {}", high, highest));
    }
    if (found.size() + (high - *low) >= kMaxListNumbers) {
      return wrong(Errc::kTooBig, item, fmt::format("more than {} numbers", kMaxListNumbers));
    }
    for (unsigned number = *low; number <= high; ++number) {
      if (!found.insert(number).second) {
        return wrong(Errc::kExists, item, fmt::format("{} is listed twice", number));
      }
      if (number == highest) {
        break;  // the next one may not be representable
      }
    }
  } while (cursor.take(','));
  if (!cursor.done()) {
    return wrong(Errc::kInvalid, cursor, "expected ',' or the end");
  }
  return std::vector<unsigned>(found.begin(), found.end());
}

std::string format_number_list(std::span<const unsigned> numbers) {
  std::vector<unsigned> sorted(numbers.begin(), numbers.end());
  std::ranges::sort(sorted);
  sorted.erase(std::unique(sorted.begin(), sorted.end()), sorted.end());
  std::string text;
  for (std::size_t from = 0; from < sorted.size();) {
    std::size_t to = from;
    while (to + 1 < sorted.size() && sorted[to + 1] == sorted[to] + 1) {
      ++to;
    }
    text += fmt::format("{}{}", text.empty() ? "" : ",", sorted[from]);
    if (to > from) {
      text += fmt::format("-{}", sorted[to]);
    }
    from = to + 1;
  }
  return text;
}

}  // namespace plnet::runtime
