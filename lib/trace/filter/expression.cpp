// SPDX-License-Identifier: BSD-3-Clause
#include "lib/trace/filter/expression.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "lib/lnet/names/nid_text.hpp"
#include "lib/trace/filter/expression_parser.hpp"

namespace plnet::trace {

namespace {

const std::byte* at(const FilterInput& input, std::size_t offset) {
  return reinterpret_cast<const std::byte*>(&input) + offset;
}

std::uint64_t number_of(const FilterInput& input, const Field& field) {
  std::uint64_t number = 0;
  std::memcpy(&number, at(input, field.offset), field.bytes);
  if (field.kind != FieldKind::kSigned || field.bytes != 4) return number;
  return static_cast<std::uint64_t>(
      std::int64_t{static_cast<std::int32_t>(static_cast<std::uint32_t>(number))});
}

template <class Number>
bool compare(Number field, Comparison comparison, Number value) {
  switch (comparison) {
    case Comparison::kEqual: return field == value;
    case Comparison::kNotEqual: return field != value;
    case Comparison::kLess: return field < value;
    case Comparison::kLessOrEqual: return field <= value;
    case Comparison::kGreater: return field > value;
    case Comparison::kGreaterOrEqual: return field >= value;
  }
  return false;
}

bool compare_numbers(const FilterTerm& term, std::uint64_t field, std::uint64_t value) {
  switch (term.field->kind) {
    case FieldKind::kBits:
      return (term.comparison == Comparison::kEqual) == ((field & value) == value);
    case FieldKind::kSigned:
      return compare(static_cast<std::int64_t>(field), term.comparison,
                     static_cast<std::int64_t>(value));
    default: return compare(field, term.comparison, value);
  }
}

bool job_matches(const FilterInput& input, const JobPattern& pattern) {
  const std::string_view job(input.job.data(), input.job.size());
  if (pattern.prefix) return job.starts_with(pattern.text);
  return job.substr(0, job.find('\0')) == pattern.text;
}

bool term_matches(const FilterTerm& term, const FilterInput& input) {
  const Field& field = *term.field;
  if (field.presence != 0 && (input.present & field.presence) == 0) return false;
  struct Match {
    const FilterTerm& term;
    const FilterInput& input;

    [[nodiscard]] lnet::Nid nid() const {
      lnet::Nid nid;
      std::memcpy(&nid, at(input, term.offset), sizeof nid);
      return nid;
    }
    bool operator()(std::uint64_t value) const {
      return compare_numbers(term, number_of(input, *term.field), value);
    }
    bool operator()(const lnet::NidRange& range) const { return range.matches(nid()); }
    bool operator()(lnet::NetId net) const { return nid().net() == net; }
    bool operator()(const JobPattern& pattern) const {
      return (term.comparison == Comparison::kEqual) == job_matches(input, pattern);
    }
    bool operator()(Presence /*any*/) const { return true; }
  };
  return std::visit(Match{term, input}, term.value);
}

}  // namespace

Outcome<Expression> Expression::parse(std::string_view text) {
  const lnet::TextPart whole(text);
  if (text.size() > kTextMax) return whole.expected("at most 4096 letters", kTextMax);
  Expression expression;
  if (whole.trimmed().empty()) return expression;
  ExpressionParser parser(whole, expression.nodes_);
  const auto root = parser.parse();
  if (!root) return std::unexpected(root.error());
  expression.root_ = *root;
  return expression;
}

bool Expression::needs_content() const {
  return std::ranges::any_of(nodes_, [](const FilterNode& node) {
    return node.kind == FilterNode::Kind::kTerm && node.term.field->is_content();
  });
}

bool Expression::matches(const FilterInput& input) const {
  return nodes_.empty() || matches(root_, input);
}

// Recursion is bounded by kNodesMax.
bool Expression::matches(std::size_t index, const FilterInput& input) const {
  const FilterNode& node = nodes_[index];
  switch (node.kind) {
    case FilterNode::Kind::kAll: return matches(node.left, input) && matches(node.right, input);
    case FilterNode::Kind::kAny: return matches(node.left, input) || matches(node.right, input);
    case FilterNode::Kind::kNot: return !matches(node.left, input);
    case FilterNode::Kind::kTerm: return term_matches(node.term, input);
  }
  return false;
}

}  // namespace plnet::trace
