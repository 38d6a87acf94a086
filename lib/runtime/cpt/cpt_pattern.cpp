// SPDX-License-Identifier: BSD-3-Clause
// Grammar after lustre-release lnet/lnet/lib-cpt.c: cfs_cpt_table_create_pattern() and
// lnet/lnet/nidstrings.c: cfs_expr_list_parse(), cfs_range_expr_parse(), all of 2.17.
// On purpose stricter: the kernel skips any text between X or C and the bracket, and divides by a
// stride of zero.
#include "lib/runtime/cpt/cpt_pattern.hpp"

#include <algorithm>
#include <charconv>
#include <optional>

#include <fmt/format.h>

namespace plnet::runtime {
namespace {

constexpr std::string_view kBlanks = " \t\n\v\f\r";  // the kernel's isspace()

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  Outcome<CptPattern> pattern();

 private:
  [[nodiscard]] bool done() const { return at_ == text_.size(); }
  [[nodiscard]] std::size_t column() const { return at_ + 1; }
  void skip_blanks() { at_ = std::min(text_.find_first_not_of(kBlanks, at_), text_.size()); }
  // Reads either of two spellings of one character, after blanks.
  bool take(char one, char other);
  bool take(char one) { return take(one, one); }
  Outcome<unsigned> number(std::string_view what);
  Outcome<PatternRange> range();
  Outcome<std::vector<PatternRange>> brackets();
  Outcome<PatternGroup> group(bool numbered);
  [[nodiscard]] std::unexpected<Error> expected(std::string_view what) const;
  [[nodiscard]] std::unexpected<Error> wrong(std::size_t column, std::string_view what) const {
    return failure(Errc::kInvalid,
                   fmt::format("pattern \"{}\": column {}: {}", shown(), column, what));
  }
  [[nodiscard]] std::string shown() const {
    constexpr std::size_t kShown = 80;
    return text_.size() <= kShown ? std::string(text_)
                                  : std::string(text_.substr(0, kShown)) + "...";
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

bool Parser::take(char one, char other) {
  skip_blanks();
  if (done() || (text_[at_] != one && text_[at_] != other)) {
    return false;
  }
  ++at_;
  return true;
}

std::unexpected<Error> Parser::expected(std::string_view what) const {
  return wrong(column(), done() ? fmt::format("expected {}, the pattern ends here", what)
                                : fmt::format("expected {}, found '{}'", what, text_[at_]));
}

Outcome<unsigned> Parser::number(std::string_view what) {
  skip_blanks();
  const std::string_view rest = text_.substr(at_);
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  if (rest.empty() || !is_digit(rest[0])) {
    return expected(what);
  }
  int base = 10;
  std::size_t prefix = 0;
  if (rest.size() > 1 && rest[0] == '0' && (rest[1] == 'x' || rest[1] == 'X')) {
    base = 16;
    prefix = 2;
  } else if (rest.size() > 1 && rest[0] == '0' && is_digit(rest[1])) {
    base = 8;
    prefix = 1;
  }
  unsigned value = 0;
  const auto [end, code] =
      std::from_chars(rest.data() + prefix, rest.data() + rest.size(), value, base);
  if (code == std::errc::result_out_of_range) {
    return wrong(column(), fmt::format("{} is too large", what));
  }
  if (code != std::errc{} || (end != rest.data() + rest.size() && is_digit(*end))) {
    return expected(fmt::format("{} in base {}", what, base));
  }
  at_ += static_cast<std::size_t>(end - rest.data());
  return value;
}

Outcome<PatternRange> Parser::range() {
  skip_blanks();
  PatternRange range{.column = column()};
  if (take('*')) {
    range.everything = true;
    return range;
  }
  const auto low = number("a number or '*'");
  if (!low) {
    return std::unexpected(low.error());
  }
  range.low = range.high = *low;
  if (!take('-')) {
    return range;
  }
  const auto high = number("the upper end of the range");
  if (!high) {
    return std::unexpected(high.error());
  }
  range.high = *high;
  if (range.low > range.high) {
    return wrong(range.column,
                 fmt::format("range {}-{} is in descending order", range.low, range.high));
  }
  if (take('/')) {
    skip_blanks();
    const std::size_t where = column();
    const auto stride = number("the stride");
    if (!stride) {
      return std::unexpected(stride.error());
    }
    if (*stride == 0) {
      return wrong(where, "a stride of 0, expected 1 or more");
    }
    range.stride = *stride;
  }
  return range;
}

Outcome<std::vector<PatternRange>> Parser::brackets() {
  if (!take('[')) {
    return expected("'['");
  }
  std::vector<PatternRange> ranges;
  do {
    auto item = range();
    if (!item) {
      return std::unexpected(item.error());
    }
    ranges.push_back(*item);
  } while (take(','));
  if (!take(']')) {
    return expected("',' or ']'");
  }
  return ranges;
}

Outcome<PatternGroup> Parser::group(bool numbered) {
  skip_blanks();
  PatternGroup group{.column = column()};
  if (numbered) {
    const auto partition = number("the number of a partition");
    if (!partition) {
      return std::unexpected(partition.error());
    }
    group.partition = *partition;
  }
  auto ranges = brackets();
  if (!ranges) {
    return std::unexpected(ranges.error());
  }
  group.ranges = std::move(*ranges);
  return group;
}

Outcome<CptPattern> Parser::pattern() {
  CptPattern pattern;
  if (text_.empty()) {
    return pattern;
  }
  pattern.nodes = take('N', 'n');
  skip_blanks();
  if (done() && pattern.nodes) {
    pattern.kind = CptPattern::Kind::kPerNode;
    return pattern;
  }
  pattern.kind = CptPattern::Kind::kList;
  if (take('X', 'x')) {
    pattern.kind = CptPattern::Kind::kExclude;
  } else if (take('C', 'c')) {
    pattern.kind = CptPattern::Kind::kExcludeRelative;
  }
  const bool numbered = pattern.kind == CptPattern::Kind::kList;
  if (numbered && (done() || text_[at_] < '0' || text_[at_] > '9')) {
    return expected(pattern.nodes ? "'X', 'C' or the number of a partition"
                                  : "'N', 'X', 'C' or the number of a partition");
  }
  do {
    if (pattern.groups.size() == kMaxPatternGroups) {
      return wrong(column(), fmt::format("more than {} partitions", kMaxPatternGroups));
    }
    auto next = group(numbered);
    if (!next) {
      return std::unexpected(next.error());
    }
    pattern.groups.push_back(std::move(*next));
    skip_blanks();
  } while (!done());
  return pattern;
}

}  // namespace

Outcome<CptPattern> parse_cpt_pattern(std::string_view text) {
  if (text.size() > kMaxPatternLength) {
    return failure(Errc::kTooBig, fmt::format("pattern: {} characters, at most {} are allowed",
                                              text.size(), kMaxPatternLength));
  }
  return Parser(text).pattern();
}

}  // namespace plnet::runtime
