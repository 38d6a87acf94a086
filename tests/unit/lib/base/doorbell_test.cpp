// SPDX-License-Identifier: BSD-3-Clause
#include "lib/base/doorbell.hpp"

#include <gtest/gtest.h>

namespace plnet::doorbell_test {
namespace {

class CountingDoorbell final : public Doorbell {
 public:
  using Doorbell::Doorbell;
  int woken = 0;
  int fences = 0;
  bool armed_at_fence = false;
  bool fence_fails = false;

 protected:
  void wake() override { ++woken; }
  bool heavy_fence() override {
    ++fences;
    armed_at_fence = armed();
    return !fence_fails;
  }
};

TEST(Doorbell, WakesOnlyAnArmedSleeper) {
  for (const auto by : {Doorbell::FencedBy::kEachSide, Doorbell::FencedBy::kSleeper}) {
    CountingDoorbell bell(by);
    bell.ring();
    EXPECT_EQ(bell.woken, 0);
    ASSERT_TRUE(bell.arm());
    bell.ring();
    bell.ring();
    EXPECT_EQ(bell.woken, 2) << "the sleeper disarms, not the ringing side";
    bell.disarm();
    bell.ring();
    EXPECT_EQ(bell.woken, 2);
  }
}

TEST(Doorbell, OnlyTheSleeperFencesAfterArming) {
  CountingDoorbell bell(Doorbell::FencedBy::kSleeper);
  ASSERT_TRUE(bell.arm());
  EXPECT_EQ(bell.fences, 1);
  EXPECT_TRUE(bell.armed_at_fence);
  bell.ring();
  bell.disarm();
  EXPECT_EQ(bell.fences, 1);
}

TEST(Doorbell, FencesOnBothSidesInterruptNoThread) {
  CountingDoorbell bell;
  EXPECT_EQ(bell.fenced_by(), Doorbell::FencedBy::kEachSide);
  EXPECT_TRUE(bell.arm());
  EXPECT_EQ(bell.fences, 0);
}

TEST(Doorbell, AFailedFencePreventsSleep) {
  CountingDoorbell bell(Doorbell::FencedBy::kSleeper);
  bell.fence_fails = true;
  EXPECT_FALSE(bell.arm());
  EXPECT_TRUE(bell.armed_at_fence);
  EXPECT_FALSE(bell.armed());
  bell.ring();
  EXPECT_EQ(bell.woken, 0);
  bell.fence_fails = false;
  EXPECT_TRUE(bell.arm());
  bell.ring();
  EXPECT_EQ(bell.woken, 1);
}

TEST(Doorbell, APermanentlyArmedDoorbellNeedsNoFence) {
  CountingDoorbell bell(Doorbell::FencedBy::kSleeper);
  bell.arm_for_good();
  EXPECT_EQ(bell.fences, 0);
  bell.ring();
  EXPECT_EQ(bell.woken, 1);
}

}  // namespace
}  // namespace plnet::doorbell_test
