// SPDX-License-Identifier: BSD-3-Clause
// Connections of one peer on several shards: their set-up, their messages and their end.
#include "tests/unit/lib/socklnd/lane_site.hpp"

namespace plnet::socklnd {
namespace {

using std::chrono::seconds;

constexpr std::uint32_t kLength = 20'000;  // above min_bulk, several segments

SimShape shape_of(std::uint64_t seed) {
  return seed % 2 == 0 ? SimShape::rough() : SimShape::calm();
}

void expect_whole(LaneSite& site, unsigned to, std::uint32_t count) {
  for (std::uint32_t i = 0; i < count; ++i)
    EXPECT_TRUE(site[to].holds(site[1 - to], i, kLength)) << "message " << i;
}

// The open connections of a shard, without stand-ins.
std::uint64_t open_on(LaneNode& node, unsigned shard) {
  return node.lnd(shard).count(LndId::kOpen);
}

TEST(Lanes, EveryShardHasItsShareOfTheConnections) {
  for (const unsigned shards : {2U, 4U}) {
    LaneSite site(1, SimShape::calm(), {.shards = shards, .connections = 4});
    site.connect();
    for (unsigned index = 0; index < 2; ++index) {
      const unsigned home = site.home(index);
      for (unsigned shard = 0; shard < shards; ++shard)
        EXPECT_EQ(open_on(site[index], shard), 8 / shards + (shard == home ? 1 : 0));
      const Peer* const peer = site[index].lnd(home).peer({nid_of(1 - index)});
      ASSERT_NE(peer, nullptr);
      EXPECT_EQ(peer->open, (std::array<std::uint16_t, 4>{0, 1, 4, 4})) << "the home knows all";
      EXPECT_EQ(site[index].lanes(), 8 - 8 / shards);
      EXPECT_EQ(site[index].rows_of(1 - index, site.cluster.loop.now()), 1U);
    }
    EXPECT_EQ(site[0].sum(LndId::kOpenedByUs), 9U);
    EXPECT_EQ(site[1].sum(LndId::kOpenedByPeer), 9U);
  }
}

TEST(Lanes, OneConnectionInEachDirectionStaysAtHome) {
  LaneSite site(1, SimShape::calm(), {.shards = 4, .connections = 1});
  site.connect();
  for (unsigned index = 0; index < 2; ++index) {
    EXPECT_EQ(open_on(site[index], site.home(index)), 3U);
    EXPECT_EQ(site[index].sum(LndId::kOpen), 3U);
    EXPECT_EQ(site[index].lanes(), 0U);
  }
}

TEST(Lanes, LargeMessagesUseAllShardsAndArriveOnceAndWhole) {
  constexpr std::uint32_t kCount = 96;
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const unsigned shards = seed % 3 == 0 ? 2 : 4;
    LaneSite site(seed, shape_of(seed), {.shards = shards});
    site.connect();
    const std::uint64_t before = site[1].received;
    site.exchange(0, 0, kCount, kLength);
    site.exchange(1, 0, kCount / 2, kLength);
    ASSERT_TRUE(site.settle());
    EXPECT_EQ(site[0].failed + site[1].failed, 0U);
    EXPECT_EQ(site[1].received - before, kCount);
    EXPECT_EQ(site[0].received, kCount / 2);
    ASSERT_TRUE(site.run([&] { return site[0].acks == site[0].puts; }));
    expect_whole(site, 1, kCount);
    expect_whole(site, 0, kCount / 2);
    site[0].expect_all_home();
    site[1].expect_all_home();
    for (unsigned shard = 0; shard < shards; ++shard) {
      EXPECT_GT(site[0].lnd(shard).count(LndId::kSent), kCount / shards / 2);
      EXPECT_GT(site[1].lnd(shard).count(LndId::kReceived), kCount / shards / 2);
    }
    if (HasFailure()) return;
  }
}

TEST(Lanes, BothMayDialAtOnce) {
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    LaneSite site(seed, shape_of(seed), {.shards = seed % 3 == 0 ? 2U : 4U});
    site.exchange(0, 0, 40, kLength);
    site.exchange(1, 0, 40, kLength);
    ASSERT_TRUE(site.settle());
    EXPECT_EQ(site[0].failed + site[1].failed, 0U);
    ASSERT_TRUE(site.run([&] { return site[0].acks + site[1].acks == 80; }));
    expect_whole(site, 0, 40);
    expect_whole(site, 1, 40);
    site.run_for(seconds(5));
    for (unsigned index = 0; index < 2; ++index) {
      const Peer* const peer = site[index].lnd(site.home(index)).peer({nid_of(1 - index)});
      for (const unsigned type : {2U, 3U}) {
        EXPECT_GE(peer->open[type], 1U);
        EXPECT_LE(peer->open[type], 5U) << "as on one shard: a race may leave one too many";
      }
      EXPECT_EQ(site[index].sum(LndId::kOpen), peer->open_count());
    }
    if (HasFailure()) return;
  }
}

TEST(Lanes, ABrokenConnectionClosesAllAndTheyAreMadeAgain) {
  std::uint64_t resets = 0;
  std::uint64_t failed = 0;
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    SimShape shape = shape_of(seed);
    shape.stream.reset_segment = 4'000;
    LaneSite site(seed, shape, {.shards = seed % 3 == 0 ? 2U : 4U});
    for (std::uint32_t round = 0; round < 4; ++round) {
      site.exchange(0, round * 20, 20, kLength);
      site.exchange(1, round * 20, 20, kLength);
      site.run_for(seconds(2));
    }
    ASSERT_TRUE(site.settle());
    for (unsigned index = 0; index < 2; ++index) {
      resets += site[index].sum(LndId::kClosedReset);
      EXPECT_EQ(site[index].sent + site[index].failed, site[index].puts);
      failed += site[index].failed;
      site[index].expect_all_home();
      EXPECT_LE(site[index].received, site[1 - index].puts) << "nothing twice";
    }
    if (HasFailure()) return;
  }
  EXPECT_GT(resets, 8U);
  EXPECT_GT(failed, 8U) << "of messages that a connection had when it broke";
}

TEST(Lanes, ARestartedPeerIsSeenByTheHomeAlone) {
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const LaneOptions options{.shards = 4};
    LaneSite site(seed, SimShape::calm(), options);
    site.connect();
    site.exchange(0, 0, 20, kLength);
    ASSERT_TRUE(site.settle());
    site.run_for(seconds(1));
    site.restart(1, {.shards = 4, .incarnation = 99});
    for (unsigned attempt = 0; attempt < 10 && site[1].received < 10; ++attempt) {
      site.exchange(0, 0, 20, kLength);
      ASSERT_TRUE(site.settle());
      site.run_for(seconds(2));
    }
    EXPECT_GE(site[1].received, 10U);
    EXPECT_EQ(site[0].sum(LndId::kOpen), site[1].sum(LndId::kOpen));
    EXPECT_EQ(site[0].lanes(), 6U);
    if (HasFailure()) return;
  }
}

TEST(Lanes, APeerThatIsTakenAwayTakesItsLanesWithIt) {
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    LaneSite site(seed, shape_of(seed), {.shards = seed % 3 == 0 ? 2U : 4U});
    if (seed % 4 != 0) site.connect();  // otherwise the test begins during connection setup
    site.exchange(0, 0, 30, kLength);
    site.exchange(1, 0, 30, kLength);
    site.cluster.loop.run_for(std::chrono::microseconds(seed * 300));
    site[0].core().delete_peer(nid_of(1));
    ASSERT_TRUE(site.run([&] {
      site[0].ring();  // the directory also waits for shards that sleep
      return site[0].core().quiet();
    }));
    ASSERT_TRUE(site.settle());
    // Afterwards it works again; messages that the other side still held end first.
    site.run_for(seconds(5));
    const std::uint64_t failed = site[0].failed;
    site.exchange(0, 0, 30, kLength);
    ASSERT_TRUE(site.settle());
    EXPECT_EQ(site[0].failed, failed);
    EXPECT_EQ(site[0].sum(LndId::kOpen), site[1].sum(LndId::kOpen));
    if (HasFailure()) return;
  }
}

TEST(Lanes, AnInterfaceThatGoesTakesItsLanesWithIt) {
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    LaneSite site(seed, shape_of(seed), {.shards = seed % 3 == 0 ? 2U : 4U});
    if (seed % 4 != 0) site.connect();
    site.exchange(0, 0, 30, kLength);
    site.exchange(1, 0, 30, kLength);
    site.cluster.loop.run_for(std::chrono::microseconds(seed * 300));
    site[0].close();
    ASSERT_TRUE(site.run([&] { return site[0].closed(); }));
    EXPECT_EQ(site[0].sum(LndId::kOpen), 0U);
    EXPECT_EQ(site[0].lanes(), 0U);
    ASSERT_TRUE(site.run([&] { return site[1].sum(LndId::kOpen) == 0; }));
    EXPECT_EQ(site[1].rows_of(0, site.cluster.loop.now()), 1U) << "also when no lane is left";
    site[1].close();
    ASSERT_TRUE(site.run([&] { return site[1].closed(); }));
    EXPECT_EQ(site[1].lanes(), 0U);
    ASSERT_TRUE(site.settle());
    if (HasFailure()) return;
  }
}

TEST(Lanes, LaneTrafficIsASignOfLifeAndTheHomeSendsKeepalives) {
  LaneSite site(1, SimShape::calm(), {.shards = 2, .connections = 2});
  site.connect();
  site[0].shun_home(1);
  const auto keepalives = [&](unsigned index, unsigned shard) {
    return site[index].lnd(shard).count(LndId::kKeepalivesSent);
  };
  const unsigned home = site.home(0);
  const std::uint64_t sent_at_home = site[0].lnd(home).count(LndId::kSent);
  for (unsigned i = 0; i < 20; ++i) {
    site[0].put(home, 1, i, kLength, false);
    site[0].ring();
    site.run_for(seconds(10));
  }
  EXPECT_EQ(site[1].received, 21U);
  EXPECT_EQ(site[0].lnd(home).count(LndId::kSent), sent_at_home) << "all by the lane";
  for (unsigned index = 0; index < 2; ++index)
    EXPECT_EQ(site[index].sum(LndId::kKeepalivesSent), 0U);
  site.run_for(seconds(120));
  EXPECT_GT(keepalives(0, home) + keepalives(1, site.home(1)), 1U);
  EXPECT_EQ(keepalives(0, 1 - home) + keepalives(1, 1 - site.home(1)), 0U);
}

// The message arrives by another path than the notice that opens its lane.
TEST(Lanes, AMessageIsNotGivenUpWhileWordsAboutLanesAreUnheard) {
  const std::array<std::uint16_t, 2> cpts{};
  LaneExchange exchange(cpts);
  SilentDoorbell bell;
  exchange.set_doorbells(std::array<Doorbell*, 2>{&bell, &bell});
  NodeOptions options;
  options.lnd.lanes = exchange.end(1);
  TcpSite site(1, SimShape::calm(), 1, options);
  Lane& lane = *exchange.end(0)->take(1);
  exchange.end(0)->say(lane, LaneWord::kTake);
  site[0].core().put(nid_of(1), kLength, false).lane = lnet::lane_of_shard(1);
  site.run_for(seconds(1));
  EXPECT_EQ(site[0].core().completions().size(), 0U);
  EXPECT_EQ(exchange.end(1)->collect([](const LaneNote&) {}), 1U);
  site.run_for(seconds(1));
  ASSERT_EQ(site[0].core().completions().size(), 1U);
  EXPECT_EQ(site[0].core().completions()[0].status.error(), Errc::kIo);
  EXPECT_EQ(site[0].count(LndId::kNoLane), 1U);
}

// As while an interface is being added shard by shard.
TEST(Lanes, AShardThatHasNotTheInterfaceYetIsTriedAgain) {
  LaneSite site(3, SimShape::calm(), {.shards = 2});
  ASSERT_EQ(site.home(1), 0U) << "so that shard 1 is the other one";
  site[1].gone = true;
  site.exchange(1, 0, 10, kLength);
  ASSERT_TRUE(site.settle());
  EXPECT_EQ(site[1].failed, 0U) << "the home has one of each kind itself";
  EXPECT_EQ(site[1].lanes(), 0U);
  site[1].gone = false;
  ASSERT_TRUE(site.run([&] { return site[1].lanes() == 4; }));
  site.exchange(1, 10, 10, kLength);
  ASSERT_TRUE(site.settle());
  ASSERT_TRUE(site.run([&] { return site[1].acks == 20; }));
  expect_whole(site, 0, 20);
}

}  // namespace
}  // namespace plnet::socklnd
