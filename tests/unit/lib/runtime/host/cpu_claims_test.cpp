// SPDX-License-Identifier: BSD-3-Clause
#include "lib/runtime/host/cpu_claims.hpp"

#include <array>
#include <csignal>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/unit/lib/runtime/host/temp_dir.hpp"

namespace plnet::runtime {
namespace {

TEST(CpuClaims, ExclusiveKeepsOthersOutAndNamesTheHolder) {
  const TempDir dir;
  CpuClaims first(dir.path(), "router-a");
  ASSERT_TRUE(first.claim(3, ClaimMode::kExclusive));
  CpuClaims second(dir.path(), "router-b");
  for (const ClaimMode mode : {ClaimMode::kExclusive, ClaimMode::kShared}) {
    const auto refused = second.claim(3, mode);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, Errc::kBusy);
    EXPECT_NE(refused.error().what.find("cpu 3"), std::string::npos);
    EXPECT_NE(refused.error().what.find("router-a"), std::string::npos);
    EXPECT_NE(refused.error().what.find(std::to_string(::getpid())), std::string::npos);
  }
  EXPECT_TRUE(second.claim(4, ClaimMode::kExclusive));
  first.release_all();
  EXPECT_TRUE(second.claim(3, ClaimMode::kExclusive));
}

TEST(CpuClaims, SharedGoesWithSharedOnly) {
  const TempDir dir;
  CpuClaims first(dir.path(), "a");
  CpuClaims second(dir.path(), "b");
  ASSERT_TRUE(first.claim(0, ClaimMode::kShared));
  ASSERT_TRUE(second.claim(0, ClaimMode::kShared));
  EXPECT_FALSE(CpuClaims(dir.path(), "c").claim(0, ClaimMode::kExclusive));
}

TEST(CpuClaims, TwoPollersOfOneInstanceMayShareACpu) {
  const TempDir dir;
  CpuClaims claims(dir.path(), "a");
  ASSERT_TRUE(claims.claim(0, ClaimMode::kShared));
  ASSERT_TRUE(claims.claim(0, ClaimMode::kExclusive));
  ASSERT_TRUE(claims.claim(0, ClaimMode::kShared));
  EXPECT_EQ(claims.count(), 1U);
  EXPECT_FALSE(CpuClaims(dir.path(), "b").claim(0, ClaimMode::kShared));
}

TEST(CpuClaims, WhatIsHeldStaysHeldWhenMoreIsRefused) {
  const TempDir dir;
  CpuClaims first(dir.path(), "a");
  ASSERT_TRUE(first.claim(0, ClaimMode::kShared));
  {
    CpuClaims second(dir.path(), "b");
    ASSERT_TRUE(second.claim(0, ClaimMode::kShared));
    EXPECT_FALSE(first.claim(0, ClaimMode::kExclusive));
  }
  EXPECT_FALSE(CpuClaims(dir.path(), "c").claim(0, ClaimMode::kExclusive));
  EXPECT_TRUE(CpuClaims(dir.path(), "c").claim(0, ClaimMode::kShared));
}

TEST(CpuClaims, TheModeOfAllChangesOrOfNone) {
  const TempDir dir;
  CpuClaims first(dir.path(), "a");
  const std::array<unsigned, 2> cpus = {1, 2};
  ASSERT_TRUE(first.claim_all(cpus, ClaimMode::kShared));
  {
    CpuClaims second(dir.path(), "b");
    ASSERT_TRUE(second.claim(2, ClaimMode::kShared));
    const auto refused = first.change_all(ClaimMode::kExclusive);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, Errc::kBusy);
  }
  for (const unsigned cpu : cpus) {
    EXPECT_FALSE(CpuClaims(dir.path(), "c").claim(cpu, ClaimMode::kExclusive)) << cpu;
    EXPECT_TRUE(CpuClaims(dir.path(), "c").claim(cpu, ClaimMode::kShared)) << cpu;
  }
  ASSERT_TRUE(first.change_all(ClaimMode::kExclusive));
  EXPECT_FALSE(CpuClaims(dir.path(), "c").claim(1, ClaimMode::kShared));
  ASSERT_TRUE(first.change_all(ClaimMode::kShared));
  EXPECT_TRUE(CpuClaims(dir.path(), "c").claim(1, ClaimMode::kShared));
}

TEST(CpuClaims, AllOrNone) {
  const TempDir dir;
  CpuClaims first(dir.path(), "a");
  ASSERT_TRUE(first.claim(2, ClaimMode::kExclusive));
  CpuClaims second(dir.path(), "b");
  const std::array<unsigned, 3> cpus = {1, 2, 3};
  EXPECT_FALSE(second.claim_all(cpus, ClaimMode::kExclusive));
  EXPECT_EQ(second.count(), 0U);
  EXPECT_TRUE(first.claim(1, ClaimMode::kExclusive));
}

TEST(CpuClaims, NothingStaysOfAKilledProcess) {
  const TempDir dir;
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe(ends.data()), 0);
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    CpuClaims claims(dir.path(), "doomed");
    const bool claimed = claims.claim(1, ClaimMode::kExclusive).has_value();
    if (::write(ends[1], claimed ? "y" : "n", 1) != 1) ::_exit(1);
    for (;;)
      ::pause();
  }
  char answer = 0;
  ASSERT_EQ(::read(ends[0], &answer, 1), 1);
  EXPECT_EQ(answer, 'y');
  CpuClaims claims(dir.path(), "next");
  EXPECT_FALSE(claims.claim(1, ClaimMode::kExclusive));
  ::kill(child, SIGKILL);
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  EXPECT_TRUE(claims.claim(1, ClaimMode::kExclusive));
  ::close(ends[0]);
  ::close(ends[1]);
}

TEST(CpuClaims, AMissingDirectoryIsSaid) {
  CpuClaims claims("/nonexistent-plnet", "a");
  const auto refused = claims.claim(0, ClaimMode::kShared);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::kNotFound);
  EXPECT_NE(refused.error().what.find("/nonexistent-plnet"), std::string::npos);
}

}  // namespace
}  // namespace plnet::runtime
