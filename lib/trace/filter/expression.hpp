// SPDX-License-Identifier: BSD-3-Clause
// The grammar of filters:
//
//   expression = all { ("or" | "||") all }
//   all        = one { ("and" | "&&" | ",") one }
//   one        = ("not" | "!") one | "(" expression ")" | term | word
//   term       = FIELD [ "=" | "!=" | "<" | "<=" | ">" | ">=" ] VALUE
//   word       = put | get | ack | reply | send | recv | drop | rpc | selftest
//
// A comparison with a field that a message lacks is false, "!=" as well; "not" inverts that:
// `portal!=4` requires another portal, `not portal=4` also matches messages without one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "lib/base/result.hpp"
#include "lib/lnet/names/nid_range.hpp"
#include "lib/trace/filter/field.hpp"
#include "lib/trace/filter/filter_input.hpp"

namespace plnet::trace {

enum class Comparison : std::uint8_t {
  kEqual,
  kNotEqual,
  kLess,
  kLessOrEqual,
  kGreater,
  kGreaterOrEqual,
};

struct JobPattern {
  std::string text;
  bool prefix = false;
};
struct Presence {};  // the field is there

struct FilterTerm {
  const Field* field = nullptr;
  std::uint16_t offset = 0;  // the field's, or its second one
  Comparison comparison = Comparison::kEqual;
  std::variant<std::uint64_t, lnet::NidRange, lnet::NetId, JobPattern, Presence> value;
};

struct FilterNode {
  enum class Kind : std::uint8_t { kAll, kAny, kNot, kTerm };
  Kind kind = Kind::kTerm;
  std::size_t left = 0;   // kAll, kAny, kNot: a node
  std::size_t right = 0;  // kAll, kAny
  FilterTerm term;
};

class Expression {
 public:
  static constexpr std::size_t kTextMax = 4096;
  static constexpr std::size_t kNodesMax = 512;
  static constexpr std::size_t kDepthMax = 64;  // of parentheses and negations

  // An empty text matches everything. Errors name the column and the expected text.
  [[nodiscard]] static Outcome<Expression> parse(std::string_view text);

  // The definition of a filter's meaning. Programs (compiler.hpp) must agree with it.
  [[nodiscard]] bool matches(const FilterInput& input) const;
  [[nodiscard]] bool needs_content() const;

  [[nodiscard]] bool is_empty() const { return nodes_.empty(); }
  [[nodiscard]] const std::vector<FilterNode>& nodes() const { return nodes_; }
  [[nodiscard]] std::size_t root() const { return root_; }

 private:
  [[nodiscard]] bool matches(std::size_t node, const FilterInput& input) const;

  std::vector<FilterNode> nodes_;
  std::size_t root_ = 0;
};

}  // namespace plnet::trace
