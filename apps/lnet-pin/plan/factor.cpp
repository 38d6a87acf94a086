// SPDX-License-Identifier: BSD-3-Clause
#include "apps/lnet-pin/plan/factor.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "lib/base/check.hpp"
#include "lib/base/whole_number.hpp"
#include "lib/runtime/cpt/cpt_plan.hpp"
#include "lib/runtime/cpt/number_list.hpp"

namespace plnet::pin {
namespace {

constexpr unsigned kHugepagesMax = 1U << 20U;  // 2 TiB
constexpr std::size_t kGovernorMax = 32;

bool is_number(std::string_view text, unsigned low, unsigned high) {
  const auto number = whole_number<unsigned>(text);
  return number && *number >= low && *number <= high;
}

bool is_list(std::string_view text, unsigned highest) {
  const auto list = runtime::parse_number_list(text, highest);
  return list && !list->empty();
}

bool is_one_of(std::string_view text, std::initializer_list<std::string_view> words) {
  return std::ranges::find(words, text) != words.end();
}

bool is_word(std::string_view text) {
  return !text.empty() && text.size() <= kGovernorMax && std::ranges::all_of(text, [](char letter) {
    return (letter >= 'a' && letter <= 'z') || letter == '_';
  });
}

bool can_be(FactorKind kind, std::string_view level) {
  switch (kind) {
    case FactorKind::kCpts: return is_number(level, 1, runtime::kMaxCpts);
    case FactorKind::kShards: return is_number(level, 1, runtime::kMaxShards);
    case FactorKind::kCores:
      return is_one_of(level, {"pack", "spread", "each"}) || is_list(level, runtime::kMaxCpus - 1);
    case FactorKind::kSmt: return is_one_of(level, {"first", "pairs"});
    case FactorKind::kMemory:
      return is_one_of(level, {"local", "remote"}) || is_number(level, 0, runtime::kMaxNodes - 1);
    case FactorKind::kQueues:
      return is_one_of(level, {"none", "spread"}) || is_list(level, runtime::kMaxNicQueue);
    case FactorKind::kInterrupts:
      return is_one_of(level, {"keep", "same", "apart"}) || is_list(level, runtime::kMaxCpus - 1);
    case FactorKind::kIdle: return is_one_of(level, {"auto", "busy", "pause", "yield", "sleep"});
    case FactorKind::kHugepages:
      return is_one_of(level, {"keep", "never", "transparent"}) ||
             is_number(level, 1, kHugepagesMax);
    case FactorKind::kGovernor: return is_word(level);
    case FactorKind::kSides: return is_one_of(level, {"together", "apart"});
    case FactorKind::kNeighbour: return is_one_of(level, {"none", "busy"});
  }
  return false;
}

}  // namespace

const FactorRow& row_of(FactorKind kind) {
  const FactorRow& row = kFactors.at(static_cast<std::size_t>(kind));
  PLNET_CHECK(row.kind == kind, "the table is in the order of the enumeration");
  return row;
}

std::optional<FactorKind> factor_named(std::string_view name) {
  const auto found = std::ranges::find(kFactors, name, &FactorRow::name);
  if (found == kFactors.end()) return std::nullopt;
  return found->kind;
}

Outcome<void> check_level(FactorKind kind, std::string_view level) {
  if (can_be(kind, level)) return {};
  const FactorRow& row = row_of(kind);
  return failure(Errc::kInvalid, fmt::format("'{:.60}' is no level of {}; expected {}", level,
                                             row.name, row.levels));
}

}  // namespace plnet::pin
