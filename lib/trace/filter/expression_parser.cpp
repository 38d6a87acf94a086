// SPDX-License-Identifier: BSD-3-Clause
#include "lib/trace/filter/expression_parser.hpp"

#include <array>
#include <string>
#include <utility>

#include "lib/base/check.hpp"
#include "lib/lnet/names/nid_text.hpp"
#include "lib/lnet/wire/header.hpp"

namespace plnet::trace {

namespace {

bool is_name_letter(char letter) {
  return (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') ||
         (letter >= '0' && letter <= '9') || letter == '_';
}

struct Word {
  std::string_view word;
  std::string_view field;
  std::string_view value;  // empty: the field is there
};
constexpr std::array kWords = std::to_array<Word>({
    {"put", "msg_type", "PUT"},
    {"get", "msg_type", "GET"},
    {"ack", "msg_type", "ACK"},
    {"reply", "msg_type", "REPLY"},
    {"send", "dir", "SEND"},
    {"recv", "dir", "RECV"},
    {"drop", "dir", "DROP"},
    {"rpc", "opc", ""},
    {"selftest", "lst_type", ""},
});

std::string all_fields() {
  std::string names;
  for (const Field& field : filter_fields())
    lnet::append_piece(names, ", ", field.name);
  return names;
}

std::string values_of(const Field& field) {
  return "a value of " + std::string(field.name) + " (" + std::string(field.help) +
         (field.names != nullptr ? ") or a number" : ")");
}

bool is_ordered(const Field& field) {
  return field.kind == FieldKind::kNumber || field.kind == FieldKind::kSigned;
}

}  // namespace

Outcome<std::size_t> ExpressionParser::parse() {
  auto root = parse_any();
  if (!root) return root;
  skip_blanks();
  if (at_ < text_.size()) return text_.expected("and, or, or the end of the filter", at_);
  return root;
}

ExpressionParser::Index ExpressionParser::parse_any() {
  if (++depth_ > Expression::kDepthMax) {
    return text_.error_at("parentheses and negations are nested too deeply", at_);
  }
  auto left = parse_all();
  while (left && (take_word("or") || take("||"))) {
    const auto right = parse_all();
    if (!right) return right;
    left = add({.kind = FilterNode::Kind::kAny, .left = *left, .right = *right});
  }
  --depth_;
  return left;
}

ExpressionParser::Index ExpressionParser::parse_all() {
  auto left = parse_one();
  while (left && (take_word("and") || take("&&") || take(","))) {
    const auto right = parse_one();
    if (!right) return right;
    left = add({.kind = FilterNode::Kind::kAll, .left = *left, .right = *right});
  }
  return left;
}

ExpressionParser::Index ExpressionParser::parse_one() {
  skip_blanks();
  if (take_word("not") || (!text_.sub(at_).text().starts_with("!=") && take("!"))) {
    if (++depth_ > Expression::kDepthMax) {
      return text_.error_at("parentheses and negations are nested too deeply", at_);
    }
    const auto inner = parse_one();
    if (!inner) return inner;
    --depth_;
    return add({.kind = FilterNode::Kind::kNot, .left = *inner});
  }
  if (take("(")) {
    auto inner = parse_any();
    if (!inner) return inner;
    if (!take(")")) return text_.expected("\")\"", at_);
    return inner;
  }
  return parse_term();
}

ExpressionParser::Index ExpressionParser::parse_term() {
  skip_blanks();
  const std::size_t begin = at_;
  const std::string_view name = read_name();
  if (name.empty()) return text_.expected("a field such as portal, src or opc", at_);
  const Field* const field = find_filter_field(name);
  if (field == nullptr) return parse_word(name, begin);
  const auto comparison = parse_comparison(*field);
  if (!comparison) return std::unexpected(comparison.error());
  auto term = parse_value(*field, *comparison);
  if (!term) return std::unexpected(std::move(term.error()));
  return add_term(std::move(*term));
}

ExpressionParser::Index ExpressionParser::parse_word(std::string_view word, std::size_t begin) {
  for (const Word& known : kWords) {
    if (!same_word(known.word, word)) continue;
    const Field& field = *find_filter_field(known.field);
    FilterTerm term{.field = &field, .offset = field.offset, .value = Presence{}};
    if (known.value.empty()) return add_term(std::move(term));
    auto value = parse_field_value(field, known.value);
    PLNET_CHECK(value.has_value(), "the table has values of its fields");
    term.value = *value;
    return add_term(std::move(term));
  }
  return text_.expected("a field: " + all_fields(), begin);
}

Outcome<Comparison> ExpressionParser::parse_comparison(const Field& field) {
  skip_blanks();
  const std::size_t begin = at_;
  auto comparison = Comparison::kEqual;
  if (take("!=")) {
    comparison = Comparison::kNotEqual;
  } else if (take("<=")) {
    comparison = Comparison::kLessOrEqual;
  } else if (take(">=")) {
    comparison = Comparison::kGreaterOrEqual;
  } else if (take("<")) {
    comparison = Comparison::kLess;
  } else if (take(">")) {
    comparison = Comparison::kGreater;
  } else {
    (void)(take("==") || take("="));
  }
  if (comparison > Comparison::kNotEqual && !is_ordered(field)) {
    return text_.error_at(std::string(field.name) + " can only be compared with = and !=", begin);
  }
  return comparison;
}

Outcome<FilterTerm> ExpressionParser::parse_value(const Field& field, Comparison comparison) {
  skip_blanks();
  const std::size_t begin = at_;
  const lnet::TextPart part = read_value();
  if (part.empty()) return text_.expected(values_of(field), begin);
  FilterTerm term{.field = &field, .offset = field.offset, .comparison = comparison};
  if (field.kind == FieldKind::kNid) {
    auto range = lnet::parse_nid_range(part);
    if (!range) return std::unexpected(std::move(range.error()));
    term.value = std::move(*range);
  } else if (field.kind == FieldKind::kNet) {
    const auto net = lnet::parse_net(part);
    if (!net) return std::unexpected(net.error());
    term.value = *net;
  } else if (field.kind == FieldKind::kJob) {
    JobPattern pattern{.text = std::string(part.text()), .prefix = part.text().ends_with('*')};
    if (pattern.prefix) pattern.text.pop_back();
    if (pattern.text == "EMPTY") pattern.text.clear();
    if (pattern.text.contains('\0')) return part.expected("letters without a NUL");
    if (pattern.text.size() >= kJobIdBytes) return part.error_at("a job has at most 31 letters");
    term.value = std::move(pattern);
  } else {
    const auto number = parse_field_value(field, part.text());
    if (!number) return part.expected(values_of(field));
    term.value = *number;
  }
  return term;
}

// NIDs: "!=" is the negation of "=", and of two NIDs either one may match.
ExpressionParser::Index ExpressionParser::add_term(FilterTerm term) {
  const Field& field = *term.field;
  const bool negated = term.comparison == Comparison::kNotEqual &&
                       (field.kind == FieldKind::kNid || field.kind == FieldKind::kNet);
  if (negated) term.comparison = Comparison::kEqual;
  auto node = add({.term = term});
  if (node && field.second_offset != 0) {
    term.offset = field.second_offset;
    const auto second = add({.term = std::move(term)});
    if (!second) return second;
    node = add({.kind = FilterNode::Kind::kAny, .left = *node, .right = *second});
  }
  if (node && negated) node = add({.kind = FilterNode::Kind::kNot, .left = *node});
  return node;
}

ExpressionParser::Index ExpressionParser::add(FilterNode node) {
  if (nodes_.size() == Expression::kNodesMax) {
    return text_.error_at("the filter has more than 512 parts", at_, Errc::kTooBig);
  }
  nodes_.push_back(std::move(node));
  return nodes_.size() - 1;
}

void ExpressionParser::skip_blanks() {
  while (at_ < text_.size() && lnet::is_blank(text_[at_]))
    ++at_;
}

bool ExpressionParser::take(std::string_view symbol) {
  skip_blanks();
  if (!text_.sub(at_).text().starts_with(symbol)) return false;
  at_ += symbol.size();
  return true;
}

bool ExpressionParser::take_word(std::string_view word) {
  skip_blanks();
  const std::size_t before = at_;
  if (same_word(read_name(), word)) return true;
  at_ = before;
  return false;
}

std::string_view ExpressionParser::read_name() {
  const std::size_t begin = at_;
  while (at_ < text_.size() && is_name_letter(text_[at_]))
    ++at_;
  return text_.sub(begin, at_ - begin).text();
}

// Reads up to a blank, a comma or a closing parenthesis; brackets keep their contents together, and
// quotes keep everything.
lnet::TextPart ExpressionParser::read_value() {
  if (at_ < text_.size() && (text_[at_] == '"' || text_[at_] == '\'')) {
    const char quote = text_[at_++];
    const std::size_t begin = at_;
    while (at_ < text_.size() && text_[at_] != quote)
      ++at_;
    const lnet::TextPart part = text_.sub(begin, at_ - begin);
    if (at_ < text_.size()) ++at_;
    return part;
  }
  const std::size_t begin = at_;
  bool bracketed = false;
  for (; at_ < text_.size(); ++at_) {
    const char letter = text_[at_];
    if (letter == '[') bracketed = true;
    if (letter == ']') bracketed = false;
    if (bracketed) continue;
    if (lnet::is_blank(letter) || letter == ',' || letter == ')' || letter == '&') break;
  }
  return text_.sub(begin, at_ - begin);
}

}  // namespace plnet::trace
