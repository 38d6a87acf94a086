// SPDX-License-Identifier: BSD-3-Clause
#include "apps/lnet-sim/host/trails.hpp"

#include <vector>

#include <gtest/gtest.h>

namespace plnet::sim::trails_test {
namespace {

constexpr Instant kBegin{};
constexpr Instant kLater = kBegin + std::chrono::seconds(1);

lnet::Nid nid_of(std::uint32_t node) {
  return lnet::Nid::of(lnet::NetType::kTcp, 0, 10U << 24 | (node + 1));
}

// A PUT without an ACK from node 0 to node 2 through node 1.
struct TrailsTest : testing::Test {
  TrailsTest() {
    operation = ledger.begin(kBegin);
    operation->target = 2;
    operation->sent_well = true;
    id = ledger.id_of(*operation);
    ledger.ended(*operation);
    trails.watch_failures();
  }
  void send(std::uint32_t from, std::uint32_t to) {
    trails.handed(id, from, nid_of(to), kBegin);
    trails.sent(id, from, true, kBegin);
  }
  [[nodiscard]] bool has_cause(std::vector<std::uint64_t> forward_failed = {}) {
    return trails.without_cause(forward_failed).empty();
  }

  Ledger ledger{4, [](std::uint64_t) {}};
  Trails trails{ledger, 4, std::chrono::seconds(3)};
  Operation* operation = nullptr;
  std::uint64_t id = 0;
};

TEST_F(TrailsTest, ALostMessageWasBetweenSeparatedNodes) {
  send(0, 1);
  EXPECT_FALSE(has_cause());
  trails.parted(2, 3, kLater);
  EXPECT_FALSE(has_cause()) << "others";
  trails.parted(1, 3, kLater);
  EXPECT_TRUE(has_cause());
}

TEST_F(TrailsTest, ASeparationBeforeTheSendIsNotTheCause) {
  trails.parted(0, 1, kBegin);
  trails.handed(id, 0, nid_of(1), kBegin);
  trails.sent(id, 0, true, kLater);
  EXPECT_FALSE(has_cause());
}

TEST_F(TrailsTest, ALostConnectionExplainsMessagesBetweenItsNodesOnly) {
  send(0, 1);
  trails.disconnected(1, 2, kLater);
  trails.disconnected(3, 0, kLater);
  EXPECT_FALSE(has_cause()) << "connections to others";
  trails.disconnected(1, 0, kLater);
  EXPECT_TRUE(has_cause());
}

TEST_F(TrailsTest, AConnectionThatWasLostBeforeTheSendIsNotTheCause) {
  trails.handed(id, 0, nid_of(1), kBegin);
  trails.disconnected(0, 1, kBegin);
  trails.sent(id, 0, true, kLater);
  EXPECT_FALSE(has_cause());
  trails.disconnected(0, 1, kLater);
  EXPECT_TRUE(has_cause()) << "it ended with its completions";
}

TEST_F(TrailsTest, AMessageThatVanishesInANodeHasNoCause) {
  send(0, 1);
  trails.arrived(id, 1);
  trails.parted(0, 1, kLater);
  EXPECT_FALSE(has_cause());
  trails.ended(id, 1);
  EXPECT_TRUE(has_cause()) << "a counter shows the cause";
}

TEST_F(TrailsTest, MessagesThatARouterCannotForwardAreCountedThere) {
  send(0, 1);
  trails.arrived(id, 1);
  EXPECT_FALSE(has_cause({1, 0, 1, 1})) << "elsewhere";
  EXPECT_TRUE(has_cause({0, 1}));
  trails.relay_failed(1);
  EXPECT_FALSE(has_cause({0, 1})) << "that was one that its LND could not send";
  EXPECT_TRUE(has_cause({0, 2}));
  send(1, 2);
  trails.arrived(id, 2);
  EXPECT_FALSE(has_cause({0, 2, 9})) << "a target forwards nothing";
}

TEST_F(TrailsTest, MessagesThroughANodeWithoutPowerMayBeLost) {
  send(0, 1);
  trails.arrived(id, 1);
  trails.lost_power(3, kLater);
  EXPECT_FALSE(has_cause());
  trails.lost_power(1, kLater);
  EXPECT_TRUE(has_cause());
  trails.failed(*operation);
  EXPECT_EQ(trails.failed_elsewhere(), "");
}

TEST_F(TrailsTest, AFailureElsewhereIsSeen) {
  send(0, 1);
  trails.arrived(id, 1);
  send(1, 2);
  trails.arrived(id, 2);
  trails.lost_power(1, kLater);
  trails.failed(*operation);
  EXPECT_NE(trails.failed_elsewhere(), "") << "it had continued";
}

// A completion may arrive long after the message was seen at the other end.
TEST_F(TrailsTest, ALateCompletionDoesNotUndoTheArrival) {
  trails.handed(id, 0, nid_of(1), kBegin);
  trails.arrived(id, 1);
  trails.sent(id, 0, true, kBegin);
  trails.ended(id, 1);
  EXPECT_TRUE(has_cause());
}

}  // namespace
}  // namespace plnet::sim::trails_test
