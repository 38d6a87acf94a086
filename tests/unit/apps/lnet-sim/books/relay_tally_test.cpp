// SPDX-License-Identifier: BSD-3-Clause
#include "apps/lnet-sim/books/relay_tally.hpp"

#include <gtest/gtest.h>

namespace plnet::sim::relay_tally_test {
namespace {

// Ten messages of other nodes and five of its own; one of each group was dropped.
RelayTally some() {
  return {.all = {.offered = 15, .received = 13, .dropped = 2},
          .of_others = {.offered = 10, .received = 9, .dropped = 1},
          .relayed = 8};
}
constexpr RelayTally::Counted kCounted{.dropped = 2, .forward_failed = 1};

TEST(RelayTally, MessagesWithOneEndAddUp) {
  EXPECT_EQ(some().wrong(kCounted), "");
}

TEST(RelayTally, AVanishedMessageIsReported) {
  RelayTally tally = some();
  --tally.of_others.received;
  EXPECT_NE(tally.wrong(kCounted).find("of messages of others"), std::string::npos);
  tally = some();
  --tally.all.received;
  EXPECT_NE(tally.wrong(kCounted).find("of all messages"), std::string::npos);
}

TEST(RelayTally, AReceivedButNotForwardedMessageHasACounter) {
  RelayTally::Counted counted = kCounted;
  counted.forward_failed = 0;
  EXPECT_NE(some().wrong(counted).find("could not forward 0"), std::string::npos);
}

TEST(RelayTally, ADropHasACounter) {
  RelayTally::Counted counted = kCounted;
  counted.dropped = 1;
  EXPECT_NE(some().wrong(counted).find("counted are 1 drops"), std::string::npos);
  counted.dropped = 3;
  EXPECT_NE(some().wrong(counted).find("counted are 3 drops"), std::string::npos);
  counted.acks = 1;
  EXPECT_EQ(some().wrong(counted), "") << "received, but no longer awaited";
}

}  // namespace
}  // namespace plnet::sim::relay_tally_test
