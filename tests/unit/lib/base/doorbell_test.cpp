// SPDX-License-Identifier: BSD-3-Clause
#include "lib/base/doorbell.hpp"

#include <gtest/gtest.h>

namespace plnet {
namespace {

class CountingDoorbell final : public Doorbell {
 public:
  using Doorbell::Doorbell;
  int woken = 0;
  int fences = 0;
  bool armed_at_fence = false;

 protected:
  void wake() override { ++woken; }
  void heavy_fence() override {
    ++fences;
    armed_at_fence = armed();
  }
};

TEST(Doorbell, WakesOnlyWhoIsArmed) {
  for (const auto by : {Doorbell::FencedBy::kEachSide, Doorbell::FencedBy::kSleeper}) {
    CountingDoorbell bell(by);
    bell.ring();
    EXPECT_EQ(bell.woken, 0);
    bell.arm();
    bell.ring();
    bell.ring();
    EXPECT_EQ(bell.woken, 2) << "the sleeper disarms, not who rings";
    bell.disarm();
    bell.ring();
    EXPECT_EQ(bell.woken, 2);
  }
}

TEST(Doorbell, TheSleeperFencesForBothAfterItIsArmedAndWhoRingsNever) {
  CountingDoorbell bell(Doorbell::FencedBy::kSleeper);
  bell.arm();
  EXPECT_EQ(bell.fences, 1);
  EXPECT_TRUE(bell.armed_at_fence);
  bell.ring();
  bell.disarm();
  EXPECT_EQ(bell.fences, 1);
}

TEST(Doorbell, WhereEachSideFencesNobodyIsInterrupted) {
  CountingDoorbell bell;
  EXPECT_EQ(bell.fenced_by(), Doorbell::FencedBy::kEachSide);
  bell.arm();
  EXPECT_EQ(bell.fences, 0);
}

}  // namespace
}  // namespace plnet
