// SPDX-License-Identifier: BSD-3-Clause
#include "lib/lnet/paths/route_flaps.hpp"

#include <gtest/gtest.h>

namespace plnet::lnet::route_flaps_test {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;

class Flaps : public ::testing::Test {
 protected:
  bool flap(Duration after = seconds(1)) {
    now_ += after;
    const bool held = flaps_.fail(now_);
    flaps_.recover();
    return held;
  }

  RouteFlaps flaps_;
  Instant now_{std::chrono::hours(1)};
};

TEST_F(Flaps, TheThirdWithinTheWindowHoldsItBack) {
  EXPECT_FALSE(flap());
  EXPECT_FALSE(flap());
  EXPECT_FALSE(flaps_.held());
  EXPECT_TRUE(flap());
  EXPECT_TRUE(flaps_.held());
}

TEST_F(Flaps, ALongOutageCountsOnce) {
  for (int i = 0; i < 10; ++i)
    EXPECT_FALSE(flaps_.fail(now_ += seconds(1)));
}

TEST_F(Flaps, DistantFlapsAreNotCountedTogether) {
  for (int i = 0; i < 10; ++i)
    EXPECT_FALSE(flap(RouteFlaps::kWindow / 2 + seconds(1)));
}

TEST_F(Flaps, AnswersInARowEndIt) {
  while (!flap()) {
  }
  flaps_.answer();
  EXPECT_EQ(flaps_.answers_wanted(), RouteFlaps::kAnswersInARow - 1);
  EXPECT_FALSE(flaps_.fail(now_)) << "it is held back already";
  EXPECT_EQ(flaps_.answers_wanted(), RouteFlaps::kAnswersInARow);
  flaps_.recover();
  for (std::uint32_t i = 0; i < RouteFlaps::kAnswersInARow; ++i) {
    EXPECT_TRUE(flaps_.held());
    flaps_.answer();
  }
  EXPECT_FALSE(flaps_.held());
  EXPECT_FALSE(flap()) << "it begins anew";
}

TEST_F(Flaps, MayBeForgotten) {
  while (!flap()) {
  }
  flaps_.forget();
  EXPECT_FALSE(flaps_.held());
  flaps_.answer();
  EXPECT_FALSE(flaps_.held());
}

}  // namespace
}  // namespace plnet::lnet::route_flaps_test
