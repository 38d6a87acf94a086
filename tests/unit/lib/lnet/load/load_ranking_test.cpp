// SPDX-License-Identifier: BSD-3-Clause
#include "lib/lnet/load/load_ranking.hpp"

#include <gtest/gtest.h>

namespace plnet::lnet::load_ranking_test {
namespace {

Nid tcp(std::uint32_t address) {
  return Nid::of(NetType::kTcp, 0, 0x0a000000 + address);
}

TEST(LoadRanking, TheHeaviestIsFirstAndInheritedPlacesAreLast) {
  const LoadSnapshot snapshot{.covered = std::chrono::seconds(10),
                              .nids = {{.key = tcp(1), .messages = 100, .bytes = 1000},
                                       {.key = tcp(2), .messages = 900, .error = 890},
                                       {.key = tcp(3), .messages = 300, .bytes = 20}},
                              .nets = {},
                              .portals = {},
                              .hops = {}};
  const auto rows = heaviest(snapshot, LoadBy::kNid, 10);
  ASSERT_EQ(rows.size(), 3U);
  EXPECT_EQ(rows[0].name, "10.0.0.3@tcp");
  EXPECT_EQ(rows[0].messages, 30U);
  EXPECT_EQ(rows[0].bytes, 2U);
  EXPECT_EQ(rows[0].doubtful, 0U);
  EXPECT_EQ(rows[0].delay, std::nullopt);
  EXPECT_EQ(rows[1].name, "10.0.0.1@tcp");
  EXPECT_EQ(rows[2].name, "10.0.0.2@tcp");
  EXPECT_EQ(rows[2].doubtful, 89U);
  EXPECT_EQ(heaviest(snapshot, LoadBy::kNid, 1).size(), 1U);
}

TEST(LoadRanking, ShardsAndWindowsAreAddedUp) {
  LoadSnapshot snapshot;
  snapshot.covered = std::chrono::seconds(2);
  const NetPair pair{make_net(NetType::kTcp), make_net(NetType::kO2ib, 1)};
  snapshot.nets = {{.key = pair, .messages = 4}, {.key = pair, .messages = 6, .error = 2}};
  snapshot.portals = {{.key = 26, .messages = 2}, {.key = kNoPortal, .messages = 8}};
  const auto nets = heaviest(snapshot, LoadBy::kNet, 10);
  ASSERT_EQ(nets.size(), 1U);
  EXPECT_EQ(nets[0].name, "tcp -> o2ib1");
  EXPECT_EQ(nets[0].messages, 5U);
  EXPECT_EQ(nets[0].doubtful, 1U);
  const auto portals = heaviest(snapshot, LoadBy::kPortal, 10);
  ASSERT_EQ(portals.size(), 2U);
  EXPECT_EQ(portals[0].name, "none");
  EXPECT_EQ(portals[1].name, "26");
}

TEST(LoadRanking, AHopHasTheDelaysOfAllShards) {
  LoadSnapshot snapshot;
  snapshot.covered = std::chrono::seconds(1);
  for (const int us : {5, 100}) {
    Talker<Nid, HopTimes> talker{.key = tcp(1), .messages = 16};
    talker.more.record(std::chrono::microseconds(us));
    snapshot.hops.push_back(talker);
  }
  const auto rows = heaviest(snapshot, LoadBy::kHop, 10);
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0].messages, 32U);
  ASSERT_TRUE(rows[0].delay.has_value());
  EXPECT_EQ(rows[0].delay->p50, std::chrono::microseconds(6));
  EXPECT_EQ(rows[0].delay->p90, std::chrono::microseconds(128));
  EXPECT_EQ(rows[0].delay->p99, std::chrono::microseconds(128));
  EXPECT_EQ(rows[0].delay->max, std::chrono::microseconds(128));
}

TEST(LoadRanking, LessThanASecondIsTakenForOne) {
  LoadSnapshot snapshot;
  snapshot.covered = Duration(1);
  snapshot.portals = {{.key = 1, .messages = 16}};
  EXPECT_EQ(heaviest(snapshot, LoadBy::kPortal, 1)[0].messages, 16U);
}

}  // namespace
}  // namespace plnet::lnet::load_ranking_test
