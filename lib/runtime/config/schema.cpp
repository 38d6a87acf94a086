// SPDX-License-Identifier: BSD-3-Clause
#include "lib/runtime/config/schema.hpp"

#include <algorithm>
#include <numeric>
#include <vector>

#include <fmt/format.h>

namespace plnet::runtime {
namespace {

// Longer words are no misspellings; the time of a comparison is the product of the lengths.
constexpr std::size_t kMaxWord = 64;

// Counts insertions, removals and replacements.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i + 1;
    for (std::size_t k = 0; k < b.size(); ++k) {
      const std::size_t replaced = diagonal + (a[i] == b[k] ? 0 : 1);
      diagonal = row[k + 1];
      row[k + 1] = std::min({row[k] + 1, row[k + 1] + 1, replaced});
    }
  }
  return row.back();
}

std::string without_indices(std::string_view path) {
  std::string out;
  bool inside = false;
  for (const char c : path) {
    if (c == ']') inside = false;
    if (!inside) out += c;
    if (c == '[') inside = true;
  }
  return out;
}

void visit_keys(const std::string& path, std::span<const Key> keys,
                const std::function<void(const std::string&, const Key&)>& visit) {
  for (const Key& key : keys) {
    const std::string here = join_path(path, key.name);
    visit(here, key);
    visit_keys(key.kind == KeyKind::kRecords ? here + "[]" : here, key.children, visit);
  }
}

}  // namespace

const Key* find_key(std::span<const Key> keys, std::string_view name) {
  const auto found = std::ranges::find(keys, name, &Key::name);
  return found == keys.end() ? nullptr : &*found;
}

bool is_ignored(std::string_view path, std::string_view name) {
  const std::string within = without_indices(path);
  const std::string plain = without_indices(name);
  return std::ranges::any_of(ignored_keys(), [&](const IgnoredKey& key) {
    return key.name == plain && key.within == within;
  });
}

std::string join_path(std::string_view path, std::string_view name) {
  return path.empty() ? std::string(name) : fmt::format("{}.{}", path, name);
}

void for_each_key(const Schema& schema,
                  const std::function<void(const std::string&, const Key&)>& visit) {
  visit_keys("", schema.keys(), visit);
}

std::string any_of(std::span<const std::string_view> words) {
  std::string out;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (i > 0) out += i + 1 == words.size() ? " or " : ", ";
    out += words[i];
  }
  return out;
}

std::string expected_value(const Key& key) {
  switch (key.kind) {
    case KeyKind::kMapping: return "a mapping (`key: value` lines)";
    case KeyKind::kInteger: {
      const std::string_view space = key.unit.empty() ? "" : " ";
      return fmt::format("a number from {} to {}{}{}", key.low, key.high, space, key.unit);
    }
    case KeyKind::kBoolean: return "0 or 1";
    case KeyKind::kTruth: return "True or False";
    case KeyKind::kCptList: return fmt::format("CPTs from 0 to {} such as \"[0,1]\"", key.high);
    case KeyKind::kPlain: return "a number or a text";
    case KeyKind::kWord: return any_of(key.words);
    case KeyKind::kText: return "a text";
    case KeyKind::kNumberList:
      return fmt::format("a list of numbers from 0 to {} such as \"0-3,8\"", key.high);
    case KeyKind::kDictionary: return "a mapping from names to values";
    case KeyKind::kRecords: return fmt::format("a list of at most {} mappings", key.high);
  }
  return {};
}

std::string_view nearest_word(std::string_view given, std::span<const std::string_view> known) {
  if (given.empty() || given.size() > kMaxWord) return {};
  std::string_view best;
  // A third of the letters may be wrong; in short words one.
  std::size_t allowed = std::max<std::size_t>(1, given.size() / 3) + 1;
  for (const std::string_view word : known) {
    const std::size_t distance = edit_distance(given, word);
    if (distance >= allowed) continue;
    allowed = distance;
    best = word;
  }
  return best;
}

}  // namespace plnet::runtime
