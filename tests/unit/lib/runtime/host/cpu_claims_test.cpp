// SPDX-License-Identifier: BSD-3-Clause
#include "lib/runtime/host/cpu_claims.hpp"

#include <array>
#include <csignal>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
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

TEST(CpuClaims, ARefusedClaimKeepsTheHeldOne) {
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

TEST(CpuClaims, AKilledProcessLeavesNoClaim) {
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

// The exit status of a process with that user; 0: success.
template <class Body>
int as_user(uid_t user, Body&& body) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(::setuid(user) == 0 ? body() : 100);
  int status = 0;
  return ::waitpid(child, &status, 0) == child && WIFEXITED(status) ? WEXITSTATUS(status) : 101;
}

constexpr uid_t kNobody = 65534;

TEST(CpuClaims, OtherUsersSeeTheLockAndCannotTakeIt) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can become another user";
  const TempDir dir;
  ASSERT_EQ(::chmod(dir.path().c_str(), 01777), 0);
  CpuClaims roots(dir.path(), "router");
  ASSERT_TRUE(roots.claim(1, ClaimMode::kExclusive));
  ASSERT_TRUE(roots.claim(2, ClaimMode::kShared));
  EXPECT_EQ(as_user(kNobody,
                    [&] {
                      CpuClaims theirs(dir.path(), "stranger");
                      const auto refused = theirs.claim(1, ClaimMode::kShared);
                      if (refused || refused.error().code != Errc::kBusy) return 1;
                      if (refused.error().what.find("of user 0") == std::string::npos) return 2;
                      if (theirs.claim(2, ClaimMode::kExclusive)) return 3;
                      if (!theirs.claim(2, ClaimMode::kShared)) return 4;
                      if (!theirs.claim(3, ClaimMode::kExclusive)) return 5;
                      return ::open((dir.path() + "/plnet-cpu-1.0.lock").c_str(), O_RDONLY) < 0 ? 0
                                                                                                : 6;
                    }),
            0);
}

TEST(CpuClaims, OtherUsersCannotKeepRootFromACpu) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can become another user";
  const TempDir dir;
  ASSERT_EQ(::chmod(dir.path().c_str(), 01777), 0);
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe(ends.data()), 0);
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    CpuClaims theirs(dir.path(), "stranger");
    const std::string forged = dir.path() + "/plnet-cpu-2.0.lock";
    const bool done = ::setuid(kNobody) == 0 && theirs.claim(1, ClaimMode::kExclusive) &&
                      ::open(forged.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666) >= 0;
    if (::write(ends[1], done ? "y" : "n", 1) != 1) ::_exit(1);
    for (;;)
      ::pause();
  }
  char answer = 0;
  ASSERT_EQ(::read(ends[0], &answer, 1), 1);
  EXPECT_EQ(answer, 'y');
  CpuClaims roots(dir.path(), "router");
  EXPECT_TRUE(roots.claim(1, ClaimMode::kExclusive));
  // No other user can create files in the default directory of root.
  const auto refused = roots.claim(2, ClaimMode::kExclusive);
  EXPECT_TRUE(!refused && refused.error().code == Errc::kNotPermitted);
  EXPECT_TRUE(!refused && refused.error().what.find("--lock-dir") != std::string::npos);
  EXPECT_EQ(usual_claim_directory(), kRootClaimDirectory);
  ::kill(child, SIGKILL);
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  ::close(ends[0]);
  ::close(ends[1]);
}

TEST(CpuClaims, LocksAreFoundByTheirFile) {
  constexpr const char* kText =
      "1: FLOCK  ADVISORY  WRITE 812 00:19:1234 0 EOF\n"
      "1: -> FLOCK  ADVISORY  READ 900 00:19:1234 0 EOF\n"
      "2: POSIX  ADVISORY  WRITE 7 00:19:1234 0 EOF\n"
      "3: FLOCK  ADVISORY  READ 13 fd:02:1234 0 EOF\n"
      "rubbish\n4: FLOCK\n";
  const auto held = locks_of(kText, makedev(0, 0x19), 1234);
  ASSERT_EQ(held.size(), 1U);
  EXPECT_EQ(held[0].holder, 812);
  EXPECT_EQ(held[0].mode, ClaimMode::kExclusive);
  EXPECT_EQ(locks_of(kText, makedev(0xfd, 2), 1234).size(), 1U);
  EXPECT_TRUE(locks_of(kText, makedev(0, 0x19), 99).empty());
}

TEST(CpuClaims, AMissingDirectoryIsReported) {
  CpuClaims claims("/nonexistent-plnet", "a");
  const auto refused = claims.claim(0, ClaimMode::kShared);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::kNotFound);
  EXPECT_NE(refused.error().what.find("/nonexistent-plnet"), std::string::npos);
}

}  // namespace
}  // namespace plnet::runtime
