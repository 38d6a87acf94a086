// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/net/cassini/soft/nic_pacing.hpp"

#include <gtest/gtest.h>

namespace plnet::cassini::soft::nic_pacing_test {
namespace {

constexpr std::uint64_t kMs = 1'000'000;
constexpr std::uint64_t kStart = 1000 * kMs;
constexpr bool kOften = true;
constexpr bool kUsual = false;

TEST(NicPacing, OnACpuOfItsOwnItPollsAndSleepsAfterAPause) {
  NicPacing pacing;
  pacing.on_work(kStart);
  EXPECT_EQ(pacing.sleep_ns(kStart, kUsual), 0U);
  EXPECT_EQ(pacing.sleep_ns(kStart + kMs / 2, kUsual), 0U);
  EXPECT_EQ(pacing.sleep_ns(kStart + 5 * kMs, kUsual), 5 * kMs / NicPacing::kPartOfPause);
  EXPECT_EQ(pacing.sleep_ns(kStart + 1000 * kMs, kUsual), NicPacing::kSleepNsMax);
  pacing.on_work(kStart + 1000 * kMs);
  EXPECT_EQ(pacing.sleep_ns(kStart + 1000 * kMs, kUsual), 0U);
}

TEST(NicPacing, WithDoorbellsOfCountersItDoesNotSleepAfterAPause) {
  NicPacing pacing;
  pacing.on_work(kStart);
  EXPECT_EQ(pacing.sleep_ns(kStart + 1000 * kMs, kOften), 0U);
  pacing.on_interrupted(kStart + 1000 * kMs);
  EXPECT_EQ(pacing.sleep_ns(kStart + 1000 * kMs, kOften), NicPacing::kSleepNsMin);
}

TEST(NicPacing, OnASharedCpuItSleepsAtOnceAndTriesLessAndLessOften) {
  NicPacing pacing;
  std::uint64_t now = kStart;
  std::uint64_t shared = NicPacing::kSharedNsMin;
  for (unsigned i = 0; i < 8; ++i) {
    pacing.on_interrupted(now);
    pacing.on_work(now + shared - 1);
    EXPECT_EQ(pacing.sleep_ns(now + shared - 1, kUsual), NicPacing::kSleepNsMin) << i;
    EXPECT_EQ(pacing.sleep_ns(now + shared, kUsual), 0U) << i;
    now += shared + kMs;
    shared = std::min(2 * shared, NicPacing::kSharedNsMax);
  }
}

TEST(NicPacing, AfterALongTimeAloneItTriesAgainSoon) {
  NicPacing pacing;
  for (unsigned i = 0; i < 8; ++i)
    pacing.on_interrupted(kStart);
  EXPECT_TRUE(pacing.is_shared(kStart + NicPacing::kSharedNsMax - 1));
  const std::uint64_t later = kStart + 2 * NicPacing::kSharedNsMax;
  pacing.on_interrupted(later);
  EXPECT_TRUE(pacing.is_shared(later + NicPacing::kSharedNsMin - 1));
  EXPECT_FALSE(pacing.is_shared(later + NicPacing::kSharedNsMin));
}

TEST(NicPacing, AShortSleepThatEndsLateTellsOfAnotherThread) {
  NicPacing pacing;
  constexpr std::uint64_t kLate = 2 * NicPacing::kInterruptedNs;
  pacing.on_wake(kStart, NicPacing::kSleepNsMax, kStart + NicPacing::kSleepNsMax + kLate);
  EXPECT_FALSE(pacing.is_shared(kStart + NicPacing::kSleepNsMax + kLate));
  pacing.on_wake(kStart, NicPacing::kSleepNsMin, kStart + NicPacing::kSleepNsMin);
  EXPECT_FALSE(pacing.is_shared(kStart + NicPacing::kSleepNsMin));
  pacing.on_wake(kStart, NicPacing::kSleepNsMin, kStart + NicPacing::kSleepNsMin + kLate);
  EXPECT_TRUE(pacing.is_shared(kStart + NicPacing::kSleepNsMin + kLate));
}

}  // namespace
}  // namespace plnet::cassini::soft::nic_pacing_test
