// SPDX-License-Identifier: BSD-3-Clause
#include "lib/base/link_hold.hpp"

#include <gtest/gtest.h>

namespace plnet::link_hold_test {
namespace {

using std::chrono::seconds;

class LinkHolds : public ::testing::Test {
 protected:
  bool see(bool up) { return hold_.see(up, now_); }
  // Down and up again a second later.
  bool bounce() {
    EXPECT_FALSE(see(false));
    now_ += seconds(1);
    return see(true);
  }

  LinkHold hold_;
  Instant now_{std::chrono::hours(1)};
};

TEST_F(LinkHolds, ASingleFailureIsReportedUnchanged) {
  EXPECT_TRUE(see(true));
  EXPECT_FALSE(see(false));
  now_ += seconds(5);
  EXPECT_FALSE(see(false));
  EXPECT_TRUE(see(true));
  EXPECT_FALSE(hold_.held());
  EXPECT_EQ(hold_.release_at(), Instant::max());
}

TEST_F(LinkHolds, AfterTheThirdFallItHasToStayUp) {
  EXPECT_TRUE(bounce());
  EXPECT_TRUE(bounce());
  EXPECT_FALSE(bounce());
  EXPECT_TRUE(hold_.held());
  EXPECT_EQ(hold_.release_at(), now_ + LinkHold::kHold);
  now_ += LinkHold::kHold - seconds(1);
  EXPECT_FALSE(see(true));
  now_ += seconds(1);
  EXPECT_TRUE(see(true));
  EXPECT_FALSE(hold_.held());
}

TEST_F(LinkHolds, AFallMeanwhileBeginsTheHoldAnew) {
  (void)bounce();
  (void)bounce();
  (void)bounce();
  now_ += LinkHold::kHold - seconds(2);
  EXPECT_FALSE(bounce());
  now_ += LinkHold::kHold - seconds(1);
  EXPECT_FALSE(see(true));
  now_ += seconds(1);
  EXPECT_TRUE(see(true));
}

TEST_F(LinkHolds, WhileItIsDownThereIsNothingToRelease) {
  (void)bounce();
  (void)bounce();
  EXPECT_FALSE(see(false));
  EXPECT_FALSE(hold_.held());
  EXPECT_EQ(hold_.release_at(), Instant::max());
  now_ += LinkHold::kHold * 2;
  EXPECT_FALSE(see(true)) << "its time begins now";
}

TEST_F(LinkHolds, FallsThatAreFarApartAreSingleOnes) {
  for (int i = 0; i < 20; ++i) {
    EXPECT_TRUE(bounce());
    now_ += LinkHold::kWindow / 2;
  }
}

}  // namespace
}  // namespace plnet::link_hold_test
