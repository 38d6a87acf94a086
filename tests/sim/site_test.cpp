// SPDX-License-Identifier: BSD-3-Clause
// Sites generated from seeds keep their invariants under all faults. A failure prints the line that
// replays it.
#include "apps/lnet-sim/site/site.hpp"

#include <algorithm>

#include <gtest/gtest.h>

#include "tests/mocks/seeds.hpp"

namespace plnet::sim::site_test {
namespace {

const std::uint64_t kSeeds = mocks::seeds_of(200);
constexpr std::uint64_t kParts = 4;

class Seeds : public testing::TestWithParam<std::uint64_t> {
 protected:
  static void TearDownTestSuite() {
    if (parts_run < kParts) return;  // some parts are filtered out
    EXPECT_GT(wire_faults, kSeeds) << "many sites have a bad wire";
    EXPECT_GT(routed, kSeeds / 8) << "some have routers";
    EXPECT_GT(multi_hop, 0U) << "also one behind another";
    EXPECT_EQ(router_shards & 0xfU, 0xfU) << "of one to four shards";
    EXPECT_GT(relayed, kSeeds * 10);
  }
  void note_routers(const SiteConfig& site, const SiteReport& report) {
    if (site.groups.empty()) return;
    ++routed;
    relayed += report.wire.relayed;
    if (std::ranges::count_if(site.groups, &GroupPlan::router) > 1) ++multi_hop;
    const Layout layout(site);
    for (const std::uint32_t router : layout.routers())
      router_shards |= 1U << (layout.shards_of(router) - 1);
  }
  static inline std::uint64_t parts_run = 0;
  static inline std::uint64_t wire_faults = 0;
  static inline std::uint64_t routed = 0;
  static inline std::uint64_t multi_hop = 0;
  static inline std::uint64_t relayed = 0;
  static inline unsigned router_shards = 0;  // a bit for each number of shards
};

TEST_P(Seeds, KeepAllInvariants) {
  std::uint64_t operations = 0;
  for (std::uint64_t seed = GetParam(); seed <= kSeeds; seed += kParts) {
    const SiteConfig site = site_of_seed(seed);
    const SiteReport report = run_site(site);
    ASSERT_EQ(report.violation, "") << "replay: lnet-sim run --seed " << seed;
    operations += report.operations.begun;
    wire_faults += report.wire_faults;
    note_routers(site, report);
  }
  EXPECT_GT(operations, kSeeds / kParts * 40);
  ++parts_run;
}

INSTANTIATE_TEST_SUITE_P(Site, Seeds, testing::Range<std::uint64_t>(1, kParts + 1));

// Each seed has once ended in a violation: a sleeping shard held up the coordinator; a push waited
// when its node ended; a check disturbed by broken connections was counted against a route; an
// interface was not pinged whose health was lost in the same second as before, or whose peer had no
// other yet; one behind a gateway was pinged; a message was lost with one of two connections to the
// same peer, which the watch of losses did not notice (59, 218).
TEST(Site, SeedsThatWereBadOnce) {
  for (const std::uint64_t seed :
       {59U, 218U, 298U, 323U, 371U, 736U, 804U, 865U, 934U, 1051U, 1199U, 1535U, 1966U, 2985U}) {
    const SiteReport report = run_site(site_of_seed(seed));
    EXPECT_EQ(report.violation, "") << "replay: lnet-sim run --seed " << seed;
  }
}

TEST(Site, TheSameSeedIsTheSameRun) {
  for (const std::uint64_t seed : {3U, 18U, 29U}) {
    const SiteReport first = run_site(site_of_seed(seed));
    const SiteReport second = run_site(site_of_seed(seed));
    EXPECT_EQ(first.trace, second.trace) << "seed " << seed;
    EXPECT_EQ(first.events, second.events) << "seed " << seed;
    EXPECT_NE(first.trace, run_site(site_of_seed(seed + 1)).trace);
  }
}

SiteConfig four_shards(NetKind kind) {
  SiteConfig site;
  site.nodes = 3;
  site.shards = {4, 2};
  site.nets = {{.kind = kind, .interfaces = 2}};
  site.time = std::chrono::milliseconds(5);
  site.traffic.size_max = 4000;
  return site;
}

// Sender, second NID, ME and MD were on different shards.
TEST(Site, EveryPathAcrossShardsIsUsed) {
  for (const NetKind kind : {NetKind::kTcp, NetKind::kO2ib}) {
    const SiteReport report = run_site(four_shards(kind));
    ASSERT_EQ(report.violation, "");
    EXPECT_GT(report.crossed_home, 0U) << "a message was begun on another shard than its home";
    EXPECT_GT(report.crossed_match, 0U) << "an entry was on another shard than the message";
    EXPECT_GT(report.wire.answer_away, 0U) << "an answer came to another shard than its MD's";
    EXPECT_GT(report.wire.second_nid, 0U) << "a second NID was used";
    EXPECT_GT(report.other_nid, 0U) << "an entry named another NID of the sender";
    EXPECT_GT(report.wire.parked, 0U);
    std::uint64_t crossed_lane = 0;
    for (const auto& [name, count] : report.causes)
      crossed_lane += name == "crossed_lane" ? count : 0;
    EXPECT_EQ(crossed_lane > 0, kind == NetKind::kTcp) << "by a connection on another shard";
  }
}

TEST(Site, OnACalmDayEverythingThatIsNotTakenAwayArrives) {
  for (const NetKind kind : {NetKind::kTcp, NetKind::kO2ib}) {
    SiteConfig site = four_shards(kind);
    site.traffic.put_unique = site.traffic.put_lazy = site.traffic.put_managed = 0;
    site.traffic.unlink_percent = site.traffic.abandon_percent = 0;
    site.traffic.size_min = 100;
    const SiteReport report = run_site(site);
    ASSERT_EQ(report.violation, "");
    const LedgerTally& tally = report.operations;
    EXPECT_EQ(tally.begun, 300U);
    EXPECT_EQ(report.connections_lost, 0U);
    std::uint64_t dropped = 0;
    for (const auto& [name, count] : report.causes)
      dropped += name.starts_with("dropped") ? count : 0;
    EXPECT_GE(tally.delivered + tally.replies + dropped, tally.begun);
  }
}

TEST(Site, LostHealthIsRestoredOrAViolation) {
  for (const bool heals : {true, false}) {
    const SiteConfig config = four_shards(NetKind::kTcp);
    Site site(config);
    site.start();
    site.run_for(std::chrono::milliseconds(10));
    lnet::Node& node = site.world().hosts[0]->node();
    if (!heals) node.parameters().recovery_interval_s.set(1'000'000);
    node.coordinator().local().nis[1]->health.set(300);
    node.coordinator().tell_of_changed();
    site.quiesce();
    const std::string violation = site.report().violation;
    const std::string expected =
        heals ? "" : "not well although all faults have ended: node 0: its ";
    EXPECT_EQ(violation.substr(0, expected.size()), expected);
    EXPECT_EQ(violation.empty(), heals) << violation;
  }
}

// No LND and no core notices the loss of the planted message, and all connections stay.
TEST(Site, AMessageThatIsLostWithoutALostConnectionIsAViolation) {
  for (const NetKind kind : kNetKinds) {
    const SiteConfig config = four_shards(kind);
    Site site(config);
    site.start();
    site.run_for(std::chrono::milliseconds(10));
    World& world = site.world();
    const Instant now = world.loop.now();
    Operation* const operation = world.ledger.begin(now + std::chrono::seconds(1));
    ASSERT_NE(operation, nullptr);
    operation->target = 1;
    operation->sent_well = true;
    const std::uint64_t id = world.ledger.id_of(*operation);
    world.trails.handed(id, 0, world.hosts[1]->nids()[0], now);
    world.trails.sent(id, 0, true, now);
    world.ledger.ended(*operation);
    site.quiesce();
    const std::string violation = site.report().violation;
    EXPECT_EQ(violation.substr(0, 21), "lost without a cause:") << violation;
  }
}

// The ledger knows each offset, and that no other bytes came there.
TEST(Site, PutsLandWhereTheirInitiatorsSay) {
  for (const NetKind kind : {NetKind::kTcp, NetKind::kO2ib}) {
    SiteConfig site = four_shards(kind);
    site.traffic.put_wildcard = site.traffic.put_unique = site.traffic.put_lazy = 0;
    site.traffic.get = 0;
    site.traffic.unlink_percent = site.traffic.abandon_percent = 0;
    const SiteReport report = run_site(site);
    ASSERT_EQ(report.violation, "");
    EXPECT_EQ(report.operations.begun, 300U);
    EXPECT_EQ(report.operations.delivered, 300U);
    EXPECT_GT(report.crossed_match, 0U);
  }
}

TEST(Site, EveryFaultOfTheWireIsSurvived) {
  using drivers::Direction;
  using drivers::Fault;
  struct Case {
    NetKind kind;
    Fault fault;
    Direction direction;
    double probability;
  };
  for (const Case& each : {Case{NetKind::kTcp, Fault::kDelay, Direction::kTx, 0.2},
                           Case{NetKind::kTcp, Fault::kDelay, Direction::kRx, 0.2},
                           Case{NetKind::kTcp, Fault::kStall, Direction::kTx, 0.2},
                           Case{NetKind::kTcp, Fault::kStall, Direction::kRx, 0.2},
                           Case{NetKind::kTcp, Fault::kSplit, Direction::kTx, 0.9},
                           Case{NetKind::kTcp, Fault::kTruncate, Direction::kTx, 0.02},
                           Case{NetKind::kTcp, Fault::kReset, Direction::kTx, 0.02},
                           Case{NetKind::kTcp, Fault::kReset, Direction::kRx, 0.02},
                           Case{NetKind::kO2ib, Fault::kDelay, Direction::kRx, 0.2},
                           Case{NetKind::kO2ib, Fault::kStall, Direction::kTx, 0.2},
                           Case{NetKind::kO2ib, Fault::kReset, Direction::kTx, 0.02},
                           Case{NetKind::kO2ib, Fault::kReset, Direction::kRx, 0.02},
                           Case{NetKind::kO2ib, Fault::kFail, Direction::kRx, 0.02}}) {
    SiteConfig site = four_shards(each.kind);
    ASSERT_TRUE(site.nets[0].faults.add(
        {.fault = each.fault, .direction = each.direction, .probability = each.probability}));
    const SiteReport report = run_site(site);
    EXPECT_EQ(report.violation, "") << drivers::name_of(each.fault);
    EXPECT_GT(report.wire_faults, 5U) << drivers::name_of(each.fault);
    EXPECT_GT(report.operations.delivered, 20U) << drivers::name_of(each.fault);
  }
}

// They share the sockets of the first network unless they have faults of their own.
TEST(Site, FaultsOfEachTcpNetHappen) {
  using drivers::Direction;
  using drivers::Fault;
  SiteConfig site = four_shards(NetKind::kTcp);
  site.nets.push_back({});
  EXPECT_EQ(run_site(site).wire_faults, 0U);
  for (const std::size_t which : {0U, 1U}) {
    SiteConfig worse = site;
    ASSERT_TRUE(worse.nets[which].faults.add(
        {.fault = Fault::kDelay, .direction = Direction::kRx, .probability = 0.2}));
    const SiteReport report = run_site(worse);
    EXPECT_EQ(report.violation, "");
    EXPECT_GT(report.wire_faults, 0U);
  }
}

TEST(Site, AllFaultsAreSurvivedTogether) {
  SiteConfig site = four_shards(NetKind::kO2ib);
  site.nets.push_back({.kind = NetKind::kTcp});
  site.weather = Weather::kHostile;
  site.time = std::chrono::seconds(2);
  site.traffic.pause = std::chrono::milliseconds(20);
  site.faults = {.kills = 3, .partitions = 3, .peer_deletes = 10};
  const SiteReport report = run_site(site);
  EXPECT_EQ(report.violation, "");
  EXPECT_GT(report.kills, 0U);
  EXPECT_GT(report.connections_lost, 0U);
}

}  // namespace
}  // namespace plnet::sim::site_test
