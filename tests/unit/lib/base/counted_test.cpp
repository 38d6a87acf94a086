// SPDX-License-Identifier: BSD-3-Clause
#include "lib/base/counted.hpp"

#include <cstdint>

#include <gtest/gtest.h>

namespace plnet::counted_test {
namespace {

TEST(Counted, UsesTheSingularForOneOnly) {
  EXPECT_EQ(counted(0, "message"), "0 messages");
  EXPECT_EQ(counted(1, "message"), "1 message");
  EXPECT_EQ(counted(std::uint64_t{2}, "message"), "2 messages");
  EXPECT_EQ(counted(-1, "credit"), "-1 credits");
}

TEST(Counted, TheWholeDecidesInAShare) {
  EXPECT_EQ(counted(1, 1, "route"), "1 of 1 route");
  EXPECT_EQ(counted(1, 3, "route"), "1 of 3 routes");
}

TEST(Counted, KnowsRegularPlurals) {
  EXPECT_EQ(plural_of("NI"), "NIs");
  EXPECT_EQ(plural_of("access rule"), "access rules");
  EXPECT_EQ(plural_of("address"), "addresses");
  EXPECT_EQ(plural_of("box"), "boxes");
  EXPECT_EQ(plural_of("batch"), "batches");
  EXPECT_EQ(plural_of("retry"), "retries");
  EXPECT_EQ(plural_of("relay"), "relays");
}

TEST(Counted, VerbsAgree) {
  EXPECT_EQ(agreeing(1, "is", "are"), "is");
  EXPECT_EQ(agreeing(0, "is", "are"), "are");
}

}  // namespace
}  // namespace plnet::counted_test
