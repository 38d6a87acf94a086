// SPDX-License-Identifier: BSD-3-Clause
// Recursive descent over the grammar in expression.hpp.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "lib/lnet/names/text_part.hpp"
#include "lib/trace/filter/expression.hpp"

namespace plnet::trace {

class ExpressionParser {
 public:
  ExpressionParser(const lnet::TextPart& text, std::vector<FilterNode>& nodes)
      : text_(text), nodes_(nodes) {}

  // The root of the tree.
  [[nodiscard]] Outcome<std::size_t> parse();

 private:
  using Index = Outcome<std::size_t>;

  [[nodiscard]] Index parse_any();
  [[nodiscard]] Index parse_all();
  [[nodiscard]] Index parse_one();
  [[nodiscard]] Index parse_term();
  [[nodiscard]] Index parse_word(std::string_view word, std::size_t begin);
  [[nodiscard]] Outcome<Comparison> parse_comparison(const Field& field);
  [[nodiscard]] Outcome<FilterTerm> parse_value(const Field& field, Comparison comparison);
  [[nodiscard]] Index add_term(FilterTerm term);
  [[nodiscard]] Index add(FilterNode node);

  void skip_blanks();
  [[nodiscard]] bool take(std::string_view symbol);
  [[nodiscard]] bool take_word(std::string_view word);
  [[nodiscard]] std::string_view read_name();
  [[nodiscard]] lnet::TextPart read_value();

  const lnet::TextPart& text_;
  std::vector<FilterNode>& nodes_;
  std::size_t at_ = 0;
  std::size_t depth_ = 0;
};

}  // namespace plnet::trace
