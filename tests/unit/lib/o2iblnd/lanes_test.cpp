// SPDX-License-Identifier: BSD-3-Clause
// Queue pairs of one peer on several shards: their set-up, their messages and their end.
#include "tests/unit/lib/o2iblnd/lane_site.hpp"
#include "tests/unit/lib/o2iblnd/o2ib_site.hpp"

namespace plnet::o2iblnd::lanes_test {
namespace {

using drivers::SimShape;
using std::chrono::milliseconds;
using std::chrono::seconds;
using Id = O2ibCounters::Id;

constexpr std::uint32_t kLength = 20'000;  // more than fits beside a header

SimShape shape_of(std::uint64_t seed) {
  return seed % 2 == 0 ? SimShape::rough() : SimShape::calm();
}

unsigned shards_of(std::uint64_t seed) {
  return seed % 3 == 0 ? 2 : 4;
}

void expect_whole(LaneSite& site, unsigned from, std::uint32_t first, std::uint32_t count) {
  for (std::uint32_t i = first; i < first + count; ++i) {
    if (i % 2 == 0) {
      EXPECT_TRUE(site[1 - from].holds(site[from], i, kLength)) << "PUT " << i;
    } else {
      EXPECT_TRUE(site[from].fetched(site[1 - from], i, kLength)) << "GET " << i;
    }
  }
}

std::uint64_t requests_sent(LaneSite& site, unsigned index, unsigned shard) {
  const O2ibLnd& lnd = site[index].lnd(shard);
  return lnd.count(Id::kPutRequests) + lnd.count(Id::kGetRequests);
}

std::uint64_t requests_received(LaneSite& site, unsigned index, unsigned shard) {
  const O2ibLnd& lnd = site[index].lnd(shard);
  return lnd.count(Id::kReceivedPuts) + lnd.count(Id::kReceivedGets);
}

TEST(O2ibLanes, EveryShardHasItsShareOfTheQueuePairs) {
  for (const unsigned shards : {2U, 4U}) {
    LaneSite site(1, SimShape::calm(), {.shards = shards, .connections = 4});
    site.connect();
    for (unsigned index = 0; index < 2; ++index) {
      for (unsigned shard = 0; shard < shards; ++shard)
        EXPECT_EQ(site[index].open_on(shard), 4 / shards) << "shard " << shard;
      EXPECT_EQ(site[index].lanes(), 4 - 4 / shards);
      const auto row = site[index].row_of(1 - index, site.cluster.loop.now());
      EXPECT_EQ(row.rows, 1U) << "the home reports the peer";
      EXPECT_EQ(row.connections, 4U) << "and all connections";
    }
    EXPECT_EQ(site[0].sum(Id::kConnects), 4U);
    EXPECT_EQ(site[1].sum(Id::kRequests), 4U);
  }
}

TEST(O2ibLanes, OneQueuePairStaysAtHome) {
  LaneSite site(1, SimShape::calm(), {.shards = 4, .connections = 1});
  site.connect();
  site.exchange(0, 2, 40, kLength);
  ASSERT_TRUE(site.settle());
  for (unsigned index = 0; index < 2; ++index) {
    EXPECT_EQ(site[index].open_on(site.home(index)), 1U);
    EXPECT_EQ(site[index].open(), 1U);
    EXPECT_EQ(site[index].lanes(), 0U);
  }
  EXPECT_EQ(requests_sent(site, 0, site.home(0)), 40U);
}

TEST(O2ibLanes, LargeMessagesUseAllShardsAndArriveOnceAndWhole) {
  constexpr std::uint32_t kCount = 96;
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const unsigned shards = shards_of(seed);
    LaneSite site(seed, shape_of(seed), {.shards = shards});
    site.connect();
    const std::uint64_t before = site[1].received;
    site.exchange(0, 0, kCount, kLength);
    site.exchange(1, 0, kCount, kLength);
    ASSERT_TRUE(site.settle());
    EXPECT_EQ(site[0].failed + site[1].failed, 0U);
    EXPECT_EQ(site[1].received - before, kCount / 2);
    EXPECT_EQ(site[0].received, kCount / 2);
    EXPECT_EQ(site[0].replies, kCount / 2);
    EXPECT_EQ(site[1].replies, kCount / 2);
    for (unsigned from = 0; from < 2; ++from) {
      expect_whole(site, from, 0, kCount);
      site[from].expect_all_home();
      for (unsigned shard = 0; shard < shards; ++shard) {
        EXPECT_GT(requests_sent(site, from, shard), kCount / shards / 4) << "shard " << shard;
        EXPECT_GT(requests_received(site, from, shard), kCount / shards / 4) << "shard " << shard;
      }
    }
    if (HasFailure()) return;
  }
}

// The wire does not show shards: the other side may have all of its queue pairs on one of them.
TEST(O2ibLanes, APeerWithoutLanesSeesAsManyQueuePairs) {
  for (const unsigned dials : {0U, 1U}) {
    LaneSite site(3, SimShape::calm(), {.shards = 4}, {.shards = 1, .spreads = false});
    site.exchange(dials, 0, 60, kLength);
    ASSERT_TRUE(site.settle());
    EXPECT_EQ(site[dials].failed, 0U);
    EXPECT_EQ(site[1].open_on(0), 4U);
    for (unsigned shard = 0; shard < 4; ++shard)
      EXPECT_EQ(site[0].open_on(shard), 1U);
    expect_whole(site, dials, 0, 60);
  }
}

TEST(O2ibLanes, BothMayConnectAtOnce) {
  std::uint64_t races = 0;
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    LaneSite site(seed, shape_of(seed), {.shards = shards_of(seed)});
    site.exchange(0, 0, 40, kLength);
    site.exchange(1, 0, 40, kLength);
    ASSERT_TRUE(site.settle());
    EXPECT_EQ(site[0].failed + site[1].failed, 0U);
    expect_whole(site, 0, 0, 40);
    expect_whole(site, 1, 0, 40);
    site.run_for(seconds(5));
    EXPECT_EQ(site[0].open(), site[1].open());
    EXPECT_GE(site[0].open(), 1U);
    races += site[0].sum(Id::kRaces) + site[1].sum(Id::kRaces);
    if (HasFailure()) return;
  }
  EXPECT_GT(races, 0U);
}

TEST(O2ibLanes, QueuePairsThatBreakFailTheirOwnMessagesOnlyAndNothingComesTwice) {
  std::uint64_t lost = 0;
  std::uint64_t failed = 0;
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    SimShape shape = shape_of(seed);
    shape.verbs.work_fails = 20'000;
    LaneSite site(seed, shape, {.shards = shards_of(seed)});
    for (std::uint32_t round = 0; round < 4; ++round) {
      site.exchange(0, round * 20, 20, kLength);
      site.exchange(1, round * 20, 20, kLength);
      site.run_for(seconds(2));
    }
    ASSERT_TRUE(site.settle());
    for (unsigned index = 0; index < 2; ++index) {
      lost += site[index].sum(Id::kLost);
      failed += site[index].failed;
      EXPECT_EQ(site[index].sent + site[index].failed, site[index].puts + site[index].gets);
      EXPECT_LE(site[index].received, site[1 - index].puts) << "nothing twice";
      EXPECT_GE(site[index].received + site[1 - index].failed, site[1 - index].puts)
          << "every lost message is reported";
      site[index].expect_all_home();
    }
    if (HasFailure()) return;
  }
  EXPECT_GT(lost, 8U);
  EXPECT_GT(failed, 8U) << "messages of broken queue pairs";
}

TEST(O2ibLanes, WithoutALaneItsShardIsLeftOut) {
  LaneSite site(1, SimShape::calm(), {.shards = 2, .connections = 2});
  site.connect();
  const unsigned home = site.home(0);
  ASSERT_EQ(site[0].open_on(1 - home), 1U);
  site[0].driver(1 - home).set_device(false, Errc::kNetworkDown);
  site.run_for(milliseconds(100));
  EXPECT_EQ(site[0].open_on(1 - home), 0U);
  EXPECT_EQ(site[0].open_on(home), 1U) << "its sibling stays";
  EXPECT_EQ(site[0].lanes(), 0U);
  site.exchange(0, 2, 40, kLength);
  ASSERT_TRUE(site.settle());
  EXPECT_EQ(site[0].failed, 0U);
  expect_whole(site, 0, 2, 40);
  EXPECT_EQ(requests_sent(site, 0, home), 40U);
}

// Lanes are for large messages: small ones need a queue pair of the home.
TEST(O2ibLanes, AHomeThatHasLostItsQueuePairConnectsAnew) {
  LaneSite site(1, SimShape::calm(), {.shards = 2, .connections = 2});
  site.connect();
  const unsigned home = site.home(0);
  site[0].driver(home).set_device(false, Errc::kNetworkDown);
  site[0].driver(home).set_device(true, Errc::kNetworkDown);
  site.run_for(milliseconds(100));
  EXPECT_EQ(site[0].open_on(home), 0U);
  EXPECT_EQ(site[0].open_on(1 - home), 1U);
  for (std::uint32_t i = 0; i < 10; ++i)
    site[0].put(i % 2, 1, i, 100);
  ASSERT_TRUE(site.settle());
  EXPECT_EQ(site[0].failed, 0U);
  EXPECT_EQ(site[0].open_on(home), 1U);
  EXPECT_EQ(site[1].received, 11U);
}

// The connection manager rejects the home's own first attempt: messages wait for another one,
// although a lane is up.
TEST(O2ibLanes, MessagesThatWaitAtHomeLeaveWhenOnlyLanesComeUp) {
  unsigned only_lanes = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    SimShape shape = SimShape::calm();
    shape.verbs.connect_rejected = 400'000;
    LaneSite site(seed, shape, {.shards = 2, .connections = 2});
    const unsigned home = site.home(0);
    for (std::uint32_t i = 0; i < 4; ++i)
      site[0].put(home, 1, i, 100);
    site[0].ring();
    const Instant begun = site.cluster.loop.now();
    ASSERT_TRUE(site.run([&] { return site[0].sent + site[0].failed == 4; }));
    EXPECT_LT(site.cluster.loop.now() - begun, seconds(5)) << "before the deadline of a message";
    const bool again = site[0].sum(Id::kConnects) > 2;
    only_lanes += again && site[0].open_on(home) == 1 && site[0].failed == 0 ? 1 : 0;
    if (HasFailure()) return;
  }
  EXPECT_GT(only_lanes, 0U);
}

TEST(O2ibLanes, ARestartedPeerLosesAllItsOldQueuePairs) {
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    LaneSite site(seed, SimShape::calm(), {.shards = 4});
    site.connect();
    site.exchange(0, 0, 20, kLength);
    ASSERT_TRUE(site.settle());
    site.restart(1, {.shards = 4, .incarnation = 99});
    site.exchange(1, 0, 20, kLength);
    ASSERT_TRUE(site.settle());
    EXPECT_EQ(site[1].failed, 0U);
    expect_whole(site, 1, 0, 20);
    site.run_for(seconds(5));
    EXPECT_EQ(site[0].open(), site[1].open());
    EXPECT_EQ(site[0].sum(Id::kRestarts), 1U);
    EXPECT_EQ(site[0].lanes() + site[0].open_on(site.home(0)), site[0].open());
    EXPECT_EQ(site[0].row_of(1, site.cluster.loop.now()).rows, 1U);
    if (HasFailure()) return;
  }
}

TEST(O2ibLanes, APeerThatIsTakenAwayTakesItsLanesWithIt) {
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    LaneSite site(seed, shape_of(seed), {.shards = shards_of(seed)});
    if (seed % 4 != 0) site.connect();  // otherwise the test begins during connection setup
    site.exchange(0, 0, 30, kLength);
    site.exchange(1, 0, 30, kLength);
    site.cluster.loop.run_for(std::chrono::microseconds(seed * 300));
    site[0].core().delete_peer(LaneNode::nid_of(1));
    ASSERT_TRUE(site.run([&] {
      site[0].ring();  // the directory also waits for shards that sleep
      return site[0].core().quiet();
    }));
    ASSERT_TRUE(site.settle());
    site.run_for(seconds(5));
    const std::uint64_t failed = site[0].failed;
    site.exchange(0, 30, 30, kLength);
    ASSERT_TRUE(site.settle());
    EXPECT_EQ(site[0].failed, failed) << "new messages are delivered";
    EXPECT_EQ(site[0].open(), site[1].open());
    if (HasFailure()) return;
  }
}

TEST(O2ibLanes, AnInterfaceThatGoesTakesItsLanesWithIt) {
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    LaneSite site(seed, shape_of(seed), {.shards = shards_of(seed)});
    if (seed % 4 != 0) site.connect();
    site.exchange(0, 0, 30, kLength);
    site.exchange(1, 0, 30, kLength);
    site.cluster.loop.run_for(std::chrono::microseconds(seed * 300));
    for (unsigned index = 0; index < 2; ++index) {
      site[index].close();
      ASSERT_TRUE(site.run([&] { return site[index].closed(); })) << index;
      EXPECT_EQ(site[index].lanes(), 0U);
      EXPECT_EQ(site[index].open(), 0U);
    }
    ASSERT_TRUE(site.run([&] { return site.fabric.queue_pairs() == 0; }));
    if (HasFailure()) return;
  }
}

// The message arrives by another path than the notice that opens its lane.
TEST(O2ibLanes, AMessageIsNotGivenUpWhileWordsAboutLanesAreUnheard) {
  const std::array<std::uint16_t, 2> cpts{};
  LaneExchange exchange(cpts);
  SilentDoorbell bell;
  exchange.set_doorbells(std::array<Doorbell*, 2>{&bell, &bell});
  NodeOptions options;
  options.lnd.lanes = exchange.end(1);
  O2ibSite site(1, SimShape::calm(), 1, options);
  Lane& lane = *exchange.end(0)->take(1);
  exchange.end(0)->say(lane, LaneWord::kDial);
  site[0].core().put(nid_of(1), kLength, false).lane = lnet::lane_of_shard(1);
  site.pass(seconds(1));
  EXPECT_EQ(site[0].core().completions().size(), 0U);
  EXPECT_EQ(exchange.end(1)->collect([](const LaneNote&) {}), 1U);
  site.pass(seconds(1));
  ASSERT_EQ(site[0].core().completions().size(), 1U);
  EXPECT_EQ(site[0].core().completions()[0].status.error(), Errc::kIo);
  EXPECT_EQ(site[0].count(LndId::kNoLane), 1U);
}

// As while an interface is being added shard by shard.
TEST(O2ibLanes, AShardThatHasNotTheInterfaceYetIsDoneWithout) {
  for (const unsigned dials : {0U, 1U}) {
    LaneSite site(3, SimShape::calm(), {.shards = 2});
    ASSERT_EQ(site.home(1), 0U) << "so that shard 1 is the other one";
    site[1].gone = true;
    site.exchange(dials, 0, 10, kLength);
    ASSERT_TRUE(site.settle());
    EXPECT_EQ(site[dials].failed, 0U) << "the home has its own queue pair";
    EXPECT_EQ(site[1].lanes(), 0U);
    expect_whole(site, dials, 0, 10);
  }
}

}  // namespace
}  // namespace plnet::o2iblnd::lanes_test
