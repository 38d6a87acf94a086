// SPDX-License-Identifier: BSD-3-Clause
#include "apps/lnet-pin/plan/design.hpp"

#include <algorithm>
#include <set>
#include <tuple>

#include "lib/base/check.hpp"

namespace plnet::pin {
namespace {

using Pair = std::tuple<std::size_t, std::size_t, std::size_t, std::size_t>;

std::vector<Pair> pairs_in(const Levels& levels) {
  std::vector<Pair> pairs;
  for (std::size_t a = 0; a < levels.size(); ++a) {
    for (std::size_t b = a + 1; b < levels.size(); ++b)
      pairs.emplace_back(a, levels[a], b, levels[b]);
  }
  return pairs;
}

std::size_t differing(const Levels& one, const Levels& other) {
  std::size_t count = 0;
  for (std::size_t i = 0; i < one.size(); ++i)
    count += one[i] != other[i] ? 1 : 0;
  return count;
}

// Repeatedly takes the combination with most missing pairs, until no pair is missing.
std::vector<Levels> covering(const std::vector<Levels>& possible) {
  std::set<Pair> missing;
  std::set<std::pair<std::size_t, std::size_t>> levels;
  for (const Levels& each : possible) {
    for (const Pair& pair : pairs_in(each))
      missing.insert(pair);
    for (std::size_t factor = 0; factor < each.size(); ++factor)
      levels.emplace(factor, each[factor]);
  }
  const std::size_t factors = possible.front().size();
  const std::size_t coefficients = 1 + levels.size() - factors;
  std::vector<Levels> chosen{possible.front()};
  std::set<Levels> taken{possible.front()};
  for (const Pair& pair : pairs_in(possible.front()))
    missing.erase(pair);
  while ((!missing.empty() || chosen.size() < coefficients) && taken.size() < possible.size()) {
    const Levels* best = nullptr;
    std::size_t most = 0;
    for (const Levels& each : possible) {
      if (taken.contains(each)) continue;
      std::size_t gain = 0;
      for (const Pair& pair : pairs_in(each))
        gain += missing.contains(pair) ? 1 : 0;
      if (best == nullptr || gain > most) {
        best = &each;
        most = gain;
      }
    }
    PLNET_CHECK(best != nullptr, "not all are taken");
    for (const Pair& pair : pairs_in(*best))
      missing.erase(pair);
    taken.insert(*best);
    chosen.push_back(*best);
  }
  return chosen;
}

}  // namespace

std::vector<Levels> all_combinations(const std::vector<std::size_t>& counts) {
  std::vector<Levels> all{Levels(counts.size(), 0)};
  while (true) {
    Levels next = all.back();
    std::size_t at = counts.size();
    while (at > 0 && next[at - 1] + 1 == counts[at - 1])
      next[--at] = 0;
    if (at == 0) return all;
    ++next[at - 1];
    all.push_back(std::move(next));
  }
}

std::vector<Levels> choose(Design design, const std::vector<Levels>& possible) {
  if (possible.empty() || design == Design::kFull) return possible;
  if (design == Design::kFractional) return covering(possible);
  std::vector<Levels> chosen;
  std::ranges::copy_if(possible, std::back_inserter(chosen),
                       [&](const Levels& each) { return differing(each, possible.front()) <= 1; });
  return chosen;
}

}  // namespace plnet::pin
