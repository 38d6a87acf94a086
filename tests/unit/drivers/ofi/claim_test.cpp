// SPDX-License-Identifier: BSD-3-Clause
// Claims of an address: two owners in one process are as separate as two processes.
#include "drivers/net/ofi/claim.hpp"

#include <string>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

namespace plnet::ofi {
namespace {

class OfiClaim : public testing::Test {
 protected:
  // Unique to this test and this run.
  Process place{.nic = 0xc1a1000000000000U | static_cast<std::uint64_t>(getpid()), .service = 7};
};

std::string object_of(const Process& process, Life life) {
  const auto name = address_of({.family = Family::kName}, process, life).value();
  return std::string(name.bytes.data()).substr(sizeof "fi_shm:/" - 1);
}

bool exists(const std::string& object) {
  const int file = shm_open(object.c_str(), O_RDONLY, 0);
  if (file >= 0) (void)close(file);
  return file >= 0;
}

TEST_F(OfiClaim, IsFoundOncePublishedAndUntilHidden) {
  EXPECT_EQ(life_at(place), kNoLife);
  Claim claim;
  ASSERT_TRUE(claim.take(place, 41));
  EXPECT_EQ(life_at(place), kNoLife) << "not published";
  ASSERT_TRUE(claim.publish());
  EXPECT_EQ(life_at(place), 41U);
  claim.hide();
  EXPECT_EQ(life_at(place), kNoLife);
  EXPECT_TRUE(exists(object_of(place, kNoLife)));
  claim.release();
  EXPECT_FALSE(exists(object_of(place, kNoLife)));
}

TEST_F(OfiClaim, OneOwnerAtATime) {
  Claim first;
  Claim second;
  ASSERT_TRUE(first.take(place, 1));
  EXPECT_EQ(second.take(place, 2), std::unexpected(Errc::kExists)) << "not published, and owned";
  ASSERT_TRUE(first.publish());
  EXPECT_EQ(second.take(place, 2), std::unexpected(Errc::kExists));
  EXPECT_EQ(life_at(place), 1U) << "as before";
  first.release();
  ASSERT_TRUE(second.take(place, 2));
  ASSERT_TRUE(second.publish());
  EXPECT_EQ(life_at(place), 2U);
}

TEST_F(OfiClaim, LeftoversOfAKilledOwnerAreRemoved) {
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    Claim claim;
    const bool good = claim.take(place, 5).has_value() && claim.publish().has_value();
    const int made = shm_open(object_of(place, 5).c_str(), O_RDWR | O_CREAT, 0600);
    _exit(good && made >= 0 ? 0 : 1);  // no destructors, as if killed
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_EQ(status, 0);
  EXPECT_TRUE(exists(object_of(place, 5)));
  EXPECT_EQ(life_at(place), kNoLife) << "its locks ended with it";
  Claim next;
  ASSERT_TRUE(next.take(place, 6));
  EXPECT_FALSE(exists(object_of(place, 5)));
  EXPECT_EQ(life_at(place), kNoLife);
  ASSERT_TRUE(next.publish());
  EXPECT_EQ(life_at(place), 6U);
}

TEST_F(OfiClaim, ContextsArePlacesOfTheirOwn) {
  Process other = place;
  other.context = 1;
  Claim first;
  Claim second;
  ASSERT_TRUE(first.take(place, 1) && first.publish());
  ASSERT_TRUE(second.take(other, 1) && second.publish());
  second.release();
  EXPECT_EQ(life_at(other), kNoLife);
  EXPECT_EQ(life_at(place), 1U);
}

}  // namespace
}  // namespace plnet::ofi
