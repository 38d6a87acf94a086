// SPDX-License-Identifier: BSD-3-Clause
// Runs one case under many seeds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>

#include <gtest/gtest.h>

namespace plnet::drivers {

// Runs `one` for the seeds 1 to `last`; stops at the first failure and names its seed.
template <class Case>
void for_each_seed(std::uint64_t last, const Case& one) {
  for (std::uint64_t seed = 1; seed <= last; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    one(seed);
    if (testing::Test::HasFailure()) return;
  }
}

// `digest_of` runs something under a seed: equal seeds give equal digests, different seeds
// different ones.
template <class DigestOf>
void expect_seed_decides(const DigestOf& digest_of) {
  constexpr std::uint64_t kSeeds = 20;
  std::set<std::uint64_t> digests;
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    const std::uint64_t first = digest_of(seed);
    EXPECT_EQ(first, digest_of(seed));
    digests.insert(first);
  }
  EXPECT_EQ(digests.size(), std::size_t{kSeeds});
}

}  // namespace plnet::drivers
