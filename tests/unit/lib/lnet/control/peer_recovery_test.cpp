// SPDX-License-Identifier: BSD-3-Clause
// Next hops that are down and needed are pinged until they answer.
#include "lib/lnet/control/peer_recovery.hpp"

#include <algorithm>
#include <chrono>

#include <gtest/gtest.h>

#include "tests/unit/lib/lnet/control/test_node.hpp"

namespace plnet::lnet::peer_recovery_test {
namespace {

using std::chrono::seconds;

const Nid kRouter = nid("10.0.0.1@tcp");
const Nid kServer = nid("10.0.0.9@tcp");
const Nid kServerToo = nid("10.1.0.9@tcp");

class Recovery : public ::testing::Test {
 protected:
  using Id = RecoveryTable::Id;

  Recovery() { (void)node_.make_peer(kServer); }
  PeerNi& server() { return *node_.coordinator.peers().find(kServer); }
  [[nodiscard]] bool up() { return server().status.get() == kNiUp; }
  void lose() {
    server().status.set(kNiDown);
    node_.coordinator.request_recovery(kServer);
  }
  void get_another_nid() {
    PeerDirectory& directory = node_.coordinator.directory();
    ASSERT_TRUE(directory.attach(*directory.peer_of(kServer), kServerToo));
    directory.commit();
  }
  void get_ill() {
    get_another_nid();
    server().last_alive_ns.set(node_.now().time_since_epoch().count());
    server().health.set(700);
    node_.coordinator.request_recovery(kServer);
  }
  void pass(int count) {
    for (int i = 0; i < count; ++i)
      run(network_, {&node_}, seconds(1));
  }
  // The seconds at which pings began.
  std::vector<int> pings_within(int time) {
    std::vector<int> when;
    std::uint64_t seen = count(Id::kPings);
    for (int second = 1; second <= time; ++second) {
      pass(1);
      (void)node_.turn();
      if (count(Id::kPings) > seen) when.push_back(second);
      seen = count(Id::kPings);
    }
    return when;
  }
  std::uint64_t count(Id id) { return node_.coordinator.recovery().counters().get(id); }

  FakeNetwork network_;
  TestNode node_{network_, {kRouter}};
  RawPeer peer_{network_, {kServer, kServerToo}};
};

TEST_F(Recovery, UnneededPeersAreNotPinged) {
  server().status.set(kNiDown);
  pass(100);
  EXPECT_EQ(peer_.pings, 0);
}

TEST_F(Recovery, AnAnsweringPeerIsUpWithinASecond) {
  lose();
  EXPECT_EQ(node_.coordinator.recovery().targets(), std::vector<Nid>{kServer});
  (void)node_.turn();
  EXPECT_FALSE(up());
  pass(2);
  EXPECT_TRUE(up());
  EXPECT_EQ(peer_.pings, 1);
  EXPECT_EQ(peer_.sink, 272U) << "LNET_PING_INFO_MIN_SIZE";
  EXPECT_EQ(count(Id::kRecovered), 1U);
  EXPECT_EQ(count(Id::kPeerNis), 0U);
  EXPECT_TRUE(node_.coordinator.recovery().targets().empty());
  pass(100);
  EXPECT_EQ(peer_.pings, 1) << "that is all";
}

TEST_F(Recovery, PingsGoFurtherAndFurtherApartUpToAMinute) {
  network_.send_failure = 1;
  lose();
  std::uint64_t seen = 0;
  std::vector<int> when;
  for (int second = 1; second < 250; ++second) {
    pass(1);
    (void)node_.turn();
    node_.coordinator.request_recovery(kServer);  // messages keep arriving
    if (count(Id::kPings) > seen) when.push_back(second);
    seen = count(Id::kPings);
  }
  EXPECT_EQ(when, (std::vector{1, 3, 7, 15, 31, 63, 123, 183, 243}));
  EXPECT_EQ(count(Id::kBegun), 1U);
  network_.send_failure = 0;
  pass(61);
  EXPECT_TRUE(up());
}

TEST_F(Recovery, TheReportShowsEachEntry) {
  peer_.answers = false;
  EXPECT_TRUE(node_.coordinator.recovery().efforts().empty());
  lose();
  const Instant begun = network_.now();
  const auto effort = [&] { return node_.coordinator.recovery().efforts().at(0); };
  EXPECT_EQ(effort().nid, kServer);
  EXPECT_EQ(effort().pings, 0U);
  EXPECT_EQ(effort().next, begun + seconds(1));
  pass(1);
  (void)node_.turn();
  EXPECT_EQ(effort().pings, 1U);
  EXPECT_EQ(effort().next, begun + seconds(3));
  peer_.answers = true;
  pass(60);
  EXPECT_TRUE(node_.coordinator.recovery().efforts().empty());
}

TEST_F(Recovery, TheSettingMayKeepPingsCloser) {
  node_.parameters.max_recovery_ping_interval_s.set(4);
  network_.send_failure = 1;
  lose();
  pass(30);
  EXPECT_GE(count(Id::kPings), 7U);
}

// An interface that messages merely avoid is not a next hop that is down.
TEST_F(Recovery, IntervalsOfAnUnhealthyNiGrowUpToTheSetting) {
  network_.send_failure = 1;
  get_ill();
  EXPECT_EQ(pings_within(3000),
            (std::vector{1, 3, 7, 15, 31, 63, 127, 255, 511, 1023, 1923, 2823}));
  node_.parameters.max_recovery_ping_interval_s.set(2000);
  EXPECT_EQ(pings_within(4000), (std::vector{723, 2723})) << "3723, and each 2000 s later";
}

TEST_F(Recovery, PingsOfADownOrHeardNiDoNotWaitForTheInterval) {
  network_.send_failure = 1;
  get_ill();
  (void)pings_within(1100);
  node_.coordinator.request_recovery_if_needed(server());
  EXPECT_TRUE(pings_within(100).empty()) << "nothing is new";
  server().last_alive_ns.set(node_.now().time_since_epoch().count());
  node_.coordinator.request_recovery_if_needed(server());
  EXPECT_EQ(pings_within(10), (std::vector{1, 3, 7}));
  (void)pings_within(1100);
  lose();
  EXPECT_EQ(pings_within(100).size(), 1U) << "messages wait for it";
}

TEST_F(Recovery, AnNiThatTrafficRestoresIsRemovedSoon) {
  get_ill();
  peer_.answers = false;
  pass(600);
  EXPECT_EQ(count(Id::kPeerNis), 1U);
  server().health.set(kHealthMax);
  pass(11);
  EXPECT_EQ(count(Id::kPeerNis), 0U);
  EXPECT_EQ(count(Id::kRecovered), 1U);
}

TEST_F(Recovery, ASilentNiIsPingedUntilItReturns) {
  peer_.answers = false;
  lose();
  pass(60);
  EXPECT_GE(count(Id::kPings), 3U);
  EXPECT_FALSE(up());
  peer_.answers = true;
  pass(61);
  EXPECT_TRUE(up());
}

// A ping that ended in time may still be held by its LND, which keeps trying.
TEST_F(Recovery, OnlyOnePingOfEachIsWithItsLnd) {
  network_.send_failure = 1;
  network_.connect_time = seconds(50);
  lose();
  pass(50);
  EXPECT_EQ(count(Id::kPings), 1U);
  EXPECT_EQ(count(Id::kFailed), 1U);
  pass(3);
  EXPECT_EQ(count(Id::kPings), 2U) << "the first has ended";
  network_.connect_time = seconds(600);
  pass(120);
  EXPECT_EQ(count(Id::kPings), 4U) << "one that does not end for a minute is not waited for";
}

TEST_F(Recovery, AnNiHeardMeanwhileIsNotPinged) {
  lose();
  server().status.set(kNiUp);
  pass(3);
  EXPECT_EQ(peer_.pings, 0);
  EXPECT_EQ(count(Id::kRecovered), 1U);
}

TEST_F(Recovery, AnUnneededNiIsNotPingedFurther) {
  network_.send_failure = 1;
  lose();
  pass(400);
  EXPECT_EQ(count(Id::kPeerNis), 0U);
  EXPECT_EQ(count(Id::kLetGo), 1U);
  const std::uint64_t pings = count(Id::kPings);
  pass(200);
  EXPECT_EQ(count(Id::kPings), pings);
  network_.send_failure = 0;
  lose();
  pass(2);
  EXPECT_TRUE(up()) << "but with the next message at once";
}

TEST_F(Recovery, AnNiSilentForTheLimitIsNotPingedFurther) {
  node_.parameters.recovery_limit_s.set(20);
  server().last_alive_ns.set(node_.now().time_since_epoch().count());
  network_.send_failure = 1;
  lose();
  for (int second = 0; second < 60; ++second) {
    pass(1);
    if (count(Id::kPeerNis) > 0) node_.coordinator.request_recovery(kServer);
  }
  EXPECT_EQ(count(Id::kPings), 4U) << "after 1, 3, 7 and 15 s";
  EXPECT_EQ(count(Id::kLetGo), 1U);
}

TEST_F(Recovery, ARemovedNiIsForgotten) {
  peer_.answers = false;
  lose();
  pass(2);
  ASSERT_TRUE(node_.coordinator.delete_peer(kServer, Nid::any(), true));
  pass(120);
  EXPECT_EQ(count(Id::kPeerNis), 0U);
}

TEST_F(Recovery, ManyTakeTurnsAndMoreThanThatAreRefused) {
  constexpr std::size_t kMany = PeerRecovery::kPeerNisMax + 10;
  network_.response_timeout = seconds(600);
  for (std::uint32_t i = 0; i < kMany; ++i)
    node_.coordinator.request_recovery(Nid::of(NetType::kTcp, 0, 0x0a050000 + i));
  EXPECT_EQ(count(Id::kPeerNis), PeerRecovery::kPeerNisMax);
  EXPECT_EQ(count(Id::kNoRoom), 10U);
  pass(3);
  EXPECT_EQ(count(Id::kPeerNis), 0U) << "none of them is a peer";

  peer_.answers = false;
  for (std::uint32_t i = 0; i < 20; ++i) {
    const Nid each = Nid::of(NetType::kTcp, 0, 0x0a060000 + i);
    (void)node_.make_peer(each);
    node_.coordinator.peers().find(each)->status.set(kNiDown);
    node_.coordinator.request_recovery(each);
  }
  pass(2);
  EXPECT_EQ(count(Id::kPings), PeerRecovery::kUnderWayLeast);
  pass(30);
  EXPECT_GE(count(Id::kPings), 20U);
  for (std::uint32_t i = 0; i < 20; ++i) {
    const Nid each = Nid::of(NetType::kTcp, 0, 0x0a060000 + i);
    EXPECT_GE(std::ranges::count(network_.log, each, &FakeMessage::target), 1) << i;
  }
}

// The receiver of a reply restores health; in this test only the test itself does. The LND holds
// each ping of a silent peer for as long as it tries to connect.
TEST(RecoveryBehindSilentPeers, AReturnedPeerIsFoundAtOnce) {
  FakeNetwork network;
  network.response_timeout = seconds(600);
  CoordinatorLimits limits = small_limits();
  limits.peers.peers = limits.peers.peer_nis = 256;
  limits.exchanges = 256;
  TestNode node(network, {kRouter}, limits);
  const auto lose = [&](const Nid& nid) {
    node.coordinator.peers().find(nid)->status.set(kNiDown);
    node.coordinator.request_recovery(nid);
  };
  for (std::uint32_t i = 0; i < 50; ++i) {
    const Nid silent = Nid::of(NetType::kTcp, 0, 0x0a060000 + i);
    (void)node.make_peer(silent);
    lose(silent);
  }
  for (int i = 0; i < 40; ++i)
    run(network, {&node}, seconds(1));
  RawPeer back(network, {kServer});
  (void)node.make_peer(kServer);
  lose(kServer);
  for (int i = 0; i < 2; ++i)
    run(network, {&node}, seconds(1));
  EXPECT_EQ(node.coordinator.peers().find(kServer)->status.get(), kNiUp);
}

TEST_F(Recovery, AnUnhealthyNiOfSeveralIsPingedUntilItIsHealthy) {
  node_.parameters.max_recovery_ping_interval_s.set(60);
  get_ill();
  ASSERT_EQ(node_.nids_of(kServer).size(), 2U);
  pass(10);
  EXPECT_EQ(peer_.pings, 9) << "each answered, so the next one second later";
  peer_.answers = false;
  pass(600);
  EXPECT_EQ(count(Id::kPeerNis), 1U) << "though it is silent, and nothing asks for it any more";
  const std::uint64_t pings = count(Id::kPings);
  pass(60);
  EXPECT_EQ(count(Id::kPings), pings + 1);
  peer_.answers = true;
  pass(61);
  server().health.set(kHealthMax);
  pass(2);
  EXPECT_EQ(count(Id::kPeerNis), 0U);
  EXPECT_EQ(count(Id::kRecovered), 1U);
}

TEST_F(Recovery, HealthWithoutInfluenceIsNotRestored) {
  const PeerRecovery& recovery = node_.coordinator.recovery();
  server().last_alive_ns.set(node_.now().time_since_epoch().count());
  server().health.set(700);
  EXPECT_FALSE(recovery.lacks_health(server())) << "it has no other";
  ASSERT_TRUE(node_.coordinator.add_route({.net = make_net(NetType::kKfi, 7), .gateway = kServer}));
  EXPECT_TRUE(recovery.lacks_health(server())) << "but another gateway may be better";
  ASSERT_TRUE(node_.coordinator.delete_route(make_net(NetType::kKfi, 7), kServer));
  get_another_nid();
  EXPECT_TRUE(recovery.lacks_health(server()));
  node_.parameters.health_sensitivity.set(0);
  EXPECT_FALSE(recovery.lacks_health(server()));
  node_.parameters.health_sensitivity.set(100);
  server().last_alive_ns.set(INT64_MIN);
  EXPECT_FALSE(recovery.lacks_health(server())) << "never heard of";
}

// There is room for two, which two unhealthy silent interfaces occupy.
TEST(RecoveryWithoutRoom, SilentNisGiveWayToANextHopAndReturnLater) {
  using Id = RecoveryTable::Id;
  const Nid hop = nid("10.0.0.77@tcp");
  CoordinatorLimits limits = small_limits();
  limits.recovering = 2;
  FakeNetwork network;
  network.send_failure = 1;
  TestNode node(network, {kRouter}, limits);
  (void)node.make_peer(kServer);
  (void)node.make_peer(hop);
  PeerDirectory& directory = node.coordinator.directory();
  ASSERT_TRUE(directory.attach(*directory.peer_of(kServer), kServerToo));
  directory.commit();
  for (const Nid& each : {kServer, kServerToo}) {
    PeerNi& ni = *node.coordinator.peers().find(each);
    ni.last_alive_ns.set(node.now().time_since_epoch().count());
    ni.health.set(700);
    node.coordinator.request_recovery_if_needed(ni);
  }
  node.coordinator.peers().find(hop)->status.set(kNiDown);
  const PeerRecovery& recovery = node.coordinator.recovery();
  const auto pass = [&](int times) {
    for (int i = 0; i < times; ++i)
      run(network, {&node}, seconds(1));
  };
  const auto has = [&](const Nid& each) {
    const auto targets = recovery.targets();
    return std::ranges::find(targets, each) != targets.end();
  };
  pass(120);
  node.coordinator.request_recovery(hop);
  EXPECT_EQ(recovery.counters().get(Id::kNoRoom), 1U);
  EXPECT_FALSE(has(hop)) << "they have not been there for long";
  pass(300);
  node.coordinator.request_recovery(hop);
  EXPECT_TRUE(has(hop));
  EXPECT_NE(has(kServer), has(kServerToo));
  node.coordinator.peers().find(hop)->status.set(kNiUp);
  pass(130);
  EXPECT_TRUE(has(kServer) && has(kServerToo)) << "there is room again";
}

TEST_F(Recovery, AScanFindsUnreportedUnhealthyNis) {
  get_another_nid();
  server().last_alive_ns.set(node_.now().time_since_epoch().count());
  server().health.set(700);
  node_.coordinator.request_all_recoveries();
  pass(3);
  EXPECT_EQ(node_.coordinator.recovery().targets(), std::vector<Nid>{kServer});
  server().health.set(kHealthMax);
  pass(3);
  EXPECT_TRUE(node_.coordinator.recovery().targets().empty());
  EXPECT_EQ(node_.coordinator.recovery().next_deadline(), Instant::max());
}

TEST_F(Recovery, EndsWithTheNode) {
  peer_.answers = false;
  lose();
  pass(2);
  node_.coordinator.shut_down();
  pass(2);
  EXPECT_TRUE(node_.coordinator.quiet());
  node_.coordinator.request_recovery(kServer);
  EXPECT_EQ(count(Id::kBegun), 1U);
}

}  // namespace
}  // namespace plnet::lnet::peer_recovery_test
