// SPDX-License-Identifier: BSD-3-Clause
#include "apps/lnet-traffic/seen.hpp"

#include <memory>

#include <gtest/gtest.h>

#include "apps/lnet-traffic/pattern.hpp"

namespace plnet::traffic::seen_test {
namespace {

TEST(Seen, RemembersEarlierNumbers) {
  const auto seen = std::make_unique<Seen>();
  EXPECT_EQ(seen->note(1, 0), Seen::Verdict::kFirst);
  EXPECT_EQ(seen->note(1, 1), Seen::Verdict::kFirst);
  EXPECT_EQ(seen->note(1, 0), Seen::Verdict::kAgain);
  EXPECT_EQ(seen->note(2, 0), Seen::Verdict::kFirst) << "another run has numbers of its own";
  EXPECT_EQ(seen->note(1, Seen::kKept), Seen::Verdict::kFirst) << "the same place, another round";
  EXPECT_EQ(seen->note(1, Seen::kKept), Seen::Verdict::kAgain);
}

TEST(Seen, ReportsMoreRunsThanItCanHold) {
  const auto seen = std::make_unique<Seen>();
  for (std::uint64_t run = 1; run <= Seen::kRunsMax; ++run)
    EXPECT_EQ(seen->note(run, 5), Seen::Verdict::kFirst);
  EXPECT_EQ(seen->note(Seen::kRunsMax + 1, 5), Seen::Verdict::kUntracked);
  EXPECT_EQ(seen->note(1, 5), Seen::Verdict::kAgain);
}

TEST(Pattern, IsBrokenByAnyByteAndByAnotherKey) {
  std::array<std::byte, 37> bytes{};
  fill_pattern(bytes, pattern_key(1, 2));
  EXPECT_TRUE(is_pattern(bytes, pattern_key(1, 2)));
  EXPECT_FALSE(is_pattern(bytes, pattern_key(1, 3)));
  EXPECT_FALSE(is_pattern(bytes, pattern_key(2, 2)));
  for (std::byte& byte : bytes) {
    byte ^= std::byte{1};
    EXPECT_FALSE(is_pattern(bytes, pattern_key(1, 2)));
    byte ^= std::byte{1};
  }
}

}  // namespace
}  // namespace plnet::traffic::seen_test
