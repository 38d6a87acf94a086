// SPDX-License-Identifier: BSD-3-Clause
#include <set>

#include <gtest/gtest.h>

#include "tests/mocks/seeds.hpp"
#include "tests/unit/lib/socklnd/tcp_site.hpp"

namespace plnet::socklnd {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;

TEST(SockLnd, MessagesOfAllSizesArriveOnceAndWhole) {
  for (std::uint64_t seed = 1; seed <= mocks::seeds_of(30); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    TcpSite site(seed, seed % 2 == 0 ? SimShape::rough() : SimShape::calm(), 2,
                 {.two_shards = seed % 3 == 0, .park_percent = 20, .drop_percent = 0});
    exchange(site, 0, 1, 120);
    ASSERT_TRUE(site.settle());
    site.expect_no_breach();
    const auto& tally = site[1].core().tally();
    EXPECT_EQ(tally.puts, 120U);
    EXPECT_EQ(tally.gets, 40U);
    EXPECT_EQ(site[0].core().tally().failed, 0U);
    EXPECT_EQ(site[0].core().tally().acks, 60U);
    EXPECT_EQ(site[0].core().tally().replies, 40U);
    if (HasFailure()) return;
  }
}

TEST(SockLnd, TheFirstSenderMakesAllConnections) {
  NodeOptions options;
  options.lnd.link_mbps = 25'000;
  TcpSite site(1, SimShape::calm(), 2, options);
  site[0].core().put(nid_of(1), 10, false);
  ASSERT_TRUE(site.settle());
  site.run_for(seconds(3));
  EXPECT_EQ(site[0].count(LndId::kOpenedByUs), 7U) << "control, three each way";
  EXPECT_EQ(site[1].count(LndId::kOpenedByPeer), 7U);
  EXPECT_EQ(site[1].count(LndId::kAttempts), 0U);
  const Peer* const peer = site[0].lnd().peer({nid_of(1)});
  ASSERT_NE(peer, nullptr);
  EXPECT_EQ(peer->open, (std::array<std::uint16_t, 4>{0, 1, 3, 3}));
  const Peer* const other = site[1].lnd().peer({nid_of(0)});
  EXPECT_EQ(other->open, (std::array<std::uint16_t, 4>{0, 1, 3, 3}));
}

TEST(SockLnd, ManySmallMessagesShareAWrite) {
  TcpSite site(1, SimShape::calm(), 2);
  site[0].core().put(nid_of(1), 10, false);
  ASSERT_TRUE(site.settle());
  site.run_for(seconds(1));
  const auto before = site[0].count(LndId::kWrites);
  for (unsigned i = 0; i < 64; ++i)
    site[0].core().put(nid_of(1), 100, false);
  ASSERT_TRUE(site.settle());
  EXPECT_EQ(site[1].core().tally().puts, 65U);
  EXPECT_LE(site[0].count(LndId::kWrites) - before, 5U);
}

TEST(SockLnd, BothMayDialAtOnce) {
  unsigned races = 0;
  for (std::uint64_t seed = 1; seed <= mocks::seeds_of(60); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    TcpSite site(seed, seed % 2 == 0 ? SimShape::rough() : SimShape::calm(), 2);
    exchange(site, 0, 1, 20);
    exchange(site, 1, 0, 20);
    ASSERT_TRUE(site.settle());
    site.run_for(seconds(5));
    site.expect_no_breach();
    for (unsigned i = 0; i < 2; ++i) {
      EXPECT_EQ(site[i].core().tally().puts, 20U);
      EXPECT_EQ(site[i].core().tally().failed, 0U);
      const Peer* const peer = site[i].lnd().peer({nid_of(1 - i)});
      ASSERT_NE(peer, nullptr);
      for (const unsigned type : {1U, 2U, 3U}) {
        EXPECT_GE(peer->open[type], 1U);
        EXPECT_LE(peer->open[type], 2U);
      }
    }
    races += site[0].count(LndId::kRefusedRace) + site[1].count(LndId::kRefusedRace) > 0 ? 1U : 0U;
    EXPECT_EQ(site[0].count(LndId::kRefusedRace), 0U) << "the higher NID's connection survives";
    if (HasFailure()) return;
  }
  EXPECT_GT(races, 10U) << "they should meet now and then";
}

TEST(SockLnd, ResetsAtAnyByteLoseNoMessageTwice) {
  std::uint64_t resets = 0;
  for (std::uint64_t seed = 1; seed <= mocks::seeds_of(60); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    SimShape shape = SimShape::rough();
    shape.stream.reset_segment = 10'000;
    TcpSite site(seed, shape, 3, {.two_shards = seed % 2 == 0, .park_percent = 20});
    for (unsigned round = 0; round < 4; ++round) {
      for (unsigned from = 0; from < 3; ++from)
        exchange(site, from, (from + 1 + round % 2) % 3, 25);
      site.run_for(seconds(2));
    }
    // Lost messages are not sent again by the LND; the core decides about that.
    ASSERT_TRUE(site.settle());
    site.expect_no_breach();
    for (unsigned i = 0; i < 3; ++i) {
      resets += site[i].count(LndId::kClosedReset);
      const auto& order = site[i].core().order();
      EXPECT_LE(order.size(), 100U);
    }
    if (HasFailure()) return;
  }
  EXPECT_GT(resets, 60U);
}

// Nothing that a peer does to its connections affects the state of our interface.
TEST(SockLnd, ResetsAreNoLocalFailureAndUnsentMessagesDoNotArrive) {
  unsigned unsent = 0;
  for (std::uint64_t seed = 1; seed <= mocks::seeds_of(60); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    SimShape shape = SimShape::rough();
    shape.stream.reset_segment = 10'000;
    TcpSite site(seed, shape, 2, {.two_shards = seed % 2 == 0});
    for (unsigned round = 0; round < 4; ++round) {
      for (unsigned i = 0; i < 40; ++i)
        site[0].core().put(nid_of(1), i * 397 % 9000, false);
      site.run_for(seconds(2));
    }
    ASSERT_TRUE(site.settle());
    const auto& order = site[1].core().order();
    const std::set<std::uint64_t> arrived(order.begin(), order.end());
    for (const lnet::Completion& end : site[0].core().completions()) {
      if (end.status) continue;
      EXPECT_GE(end.health, Health::kRemoteError) << name_of(end.health);
      if (!end.unsent) continue;
      ++unsent;
      const auto put = end.transmit->header.area<lnet::PutArea>();
      EXPECT_FALSE(arrived.contains(put.match_bits));
    }
    site.expect_no_breach();
    if (HasFailure()) return;
  }
  EXPECT_GT(unsent, 20U);
}

TEST(SockLnd, AfterARestartTheFirstAttemptIsRefusedAndTheSecondWorks) {
  for (std::uint64_t seed = 1; seed <= mocks::seeds_of(20); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    TcpSite site(seed, SimShape::calm(), 2);
    exchange(site, 0, 1, 10);
    ASSERT_TRUE(site.settle());
    site.run_for(seconds(2));
    site.restart(1, {});
    exchange(site, 1, 0, 10);  // node 0 still holds the old connections
    ASSERT_TRUE(site.settle());
    EXPECT_EQ(site[1].core().tally().failed, 0U);
    EXPECT_EQ(site[0].core().tally().puts, 10U);
    EXPECT_EQ(site[0].count(LndId::kRefusedStale), 1U);
    EXPECT_GE(site[1].count(LndId::kAttemptRefused), 1U);
    EXPECT_EQ(site[0].count(LndId::kClosedSibling), 3U);
    EXPECT_EQ(site[0].core().breaches(), std::vector<std::string>{});
    if (HasFailure()) return;
  }
}

TEST(SockLnd, APeerThatIsNotThereFailsItsMessagesAndIsLeftAloneForAWhile) {
  TcpSite site(1, SimShape::calm(), 3);
  site[2].driver().stop_listening(address_of(2));
  lnet::Transmit& first = site[0].core().put(nid_of(2), 100, false);
  ASSERT_TRUE(site.settle());
  ASSERT_EQ(site[0].core().completions().size(), 1U);
  EXPECT_EQ(site[0].core().completions()[0].transmit, &first);
  EXPECT_EQ(site[0].core().completions()[0].status.error(), Errc::kRefused);
  EXPECT_EQ(site[0].core().completions()[0].health, Health::kRemoteDropped);
  site[0].core().put(nid_of(2), 100, false);
  ASSERT_TRUE(site.settle());
  EXPECT_EQ(site[0].core().completions()[1].status.error(), Errc::kNoRoute);
  EXPECT_EQ(site[0].core().completions()[1].health, Health::kRemoteError);
  EXPECT_EQ(site[0].count(LndId::kAttempts), 1U);
  site.run_for(seconds(2));
  site[0].core().put(nid_of(2), 100, false);
  ASSERT_TRUE(site.settle());
  EXPECT_EQ(site[0].core().completions()[2].status.error(), Errc::kRefused);
  EXPECT_EQ(site[0].count(LndId::kAttempts), 2U);
  EXPECT_EQ(site[0].core().notices(), std::vector(2, lnet::PeerNotice::kDown));
  site.expect_no_breach();
}

TEST(SockLnd, ASenderDetectsAHalfOpenPeer) {
  TcpSite site(1, SimShape::calm(), 2);
  exchange(site, 0, 1, 5);
  ASSERT_TRUE(site.settle());
  site.run_for(seconds(2));
  site.cluster.network.block_both(0, 1);
  for (unsigned i = 0; i < 10; ++i)
    site[0].core().put(nid_of(1), 500'000, false);
  ASSERT_TRUE(site.settle());
  const auto& tally = site[0].core().tally();
  EXPECT_GT(tally.failed, 0U);
  EXPECT_GT(site[0].count(LndId::kLostBytes), 0U);
  const std::uint64_t stuck = site[0].count(LndId::kClosedTxStuck);
  EXPECT_GE(stuck + site[0].count(LndId::kClosedTcpTimeout), 1U);
  unsigned timeouts = 0;
  for (const lnet::Completion& completion : site[0].core().completions()) {
    timeouts +=
        completion.health == Health::kNetworkTimeout || completion.health == Health::kRemoteTimeout
            ? 1U
            : 0U;
  }
  EXPECT_GE(timeouts, 1U);
  EXPECT_LE(timeouts, 2U);
  site.expect_no_breach();
}

// Our own TCP accepts each of them, and none is acknowledged.
TEST(SockLnd, ATrickleToAHalfOpenPeerFindsItOutToo) {
  SimShape patient = SimShape::calm();
  patient.stream.retransmits_max = 1'000'000;
  NodeOptions no_keepalive;
  no_keepalive.lnd.tunables.keepalive = no_keepalive.lnd.tunables.keepalive_idle = 0;
  TcpSite site(1, patient, 2, no_keepalive);
  exchange(site, 0, 1, 5);
  ASSERT_TRUE(site.settle());
  site.run_for(seconds(2));
  site.cluster.network.block_both(0, 1);
  for (unsigned i = 0; i < 14 && site[0].count(LndId::kClosedTxStuck) == 0; ++i) {
    site[0].core().put(nid_of(1), 10, false);
    site.run_for(seconds(5));
  }
  EXPECT_EQ(site[0].count(LndId::kClosedTxStuck), 1U);
  site.expect_no_breach();
}

TEST(SockLnd, AnEndedConnectionClosesItsSiblings) {
  TcpSite site(1, SimShape::calm(), 2);
  exchange(site, 0, 1, 5);
  ASSERT_TRUE(site.settle());
  site.run_for(seconds(2));
  ASSERT_EQ(site[0].count(LndId::kOpen), 3U);
  site[1].lnd().shut_down();
  ASSERT_TRUE(site.run([&] { return site[0].count(LndId::kOpen) == 0; }));
  EXPECT_EQ(site[1].count(LndId::kClosedShutdown), 3U);
  EXPECT_EQ(site[0].count(LndId::kClosedByPeer) + site[0].count(LndId::kClosedSibling) +
                site[0].count(LndId::kClosedReset),
            3U);
  ASSERT_TRUE(site.settle());
  EXPECT_EQ(site[0].core().notices(),
            (std::vector{lnet::PeerNotice::kAlive, lnet::PeerNotice::kLost}));
}

TEST(SockLnd, SilenceBringsAKeepalive) {
  TcpSite site(1, SimShape::calm(), 2);
  exchange(site, 0, 1, 3);
  ASSERT_TRUE(site.settle());
  site.run_for(seconds(60));
  EXPECT_GE(site[0].count(LndId::kKeepalivesSent), 1U);
  EXPECT_LE(site[0].count(LndId::kKeepalivesSent), 3U);
  EXPECT_GE(site[1].count(LndId::kNoopsReceived), 1U);
  EXPECT_EQ(site[0].count(LndId::kOpen), 3U);
}

// Acceptance of keepalives by the peer's TCP is a sign of life as well; otherwise they would be
// sent every ten seconds.
TEST(SockLnd, InALongSilenceKeepalivesAreFarBetween) {
  TcpSite site(1, SimShape::calm(), 2);
  NodeOptions silent;
  silent.lnd.tunables.keepalive = 0;
  site.restart(1, silent);
  exchange(site, 0, 1, 3);
  ASSERT_TRUE(site.settle());
  site.pace = std::chrono::milliseconds(100);
  site.run_for(minutes(20));
  EXPECT_GE(site[0].count(LndId::kKeepalivesSent), 20U);
  EXPECT_LE(site[0].count(LndId::kKeepalivesSent), 41U);
  EXPECT_EQ(site[0].count(LndId::kOpen), 3U);
}

TEST(SockLnd, AnUnprivilegedNodeUsesOneConnectionAndIsAnsweredOnIt) {
  TcpSite site(1, SimShape::rough(), 2, {.acceptor = {.policy = AcceptPolicy::kAll}});
  NodeOptions unprivileged{.acceptor = {.policy = AcceptPolicy::kAll}};
  unprivileged.lnd.privileged = false;
  site.restart(0, unprivileged);
  site[0].core().put(nid_of(1), 4000, false);
  site[0].core().put(nid_of(1), 10, false);
  ASSERT_TRUE(site.settle());
  site.run_for(seconds(2));
  site.expect_no_breach();
  EXPECT_EQ(site[1].core().tally().puts, 2U);
  EXPECT_EQ(site[0].count(LndId::kOpenedByUs), 1U);
  EXPECT_EQ(site[1].count(LndId::kOpenedByPeer), 1U);
  EXPECT_EQ(site[1].lnd().peer({nid_of(0)}) == nullptr ||
                site[1].lnd().peer({nid_of(0)})->open_count() == 0,
            true)
      << "for node 1 it is another process";
}

TEST(SockLnd, AnUnprivilegedNodeDoesNotConnectOverIpv6AndIsAnsweredThereNevertheless) {
  TcpSite site(1, SimShape::calm(), 2, {.acceptor = {.policy = AcceptPolicy::kAll}, .ipv6 = true});
  NodeOptions unprivileged{.acceptor = {.policy = AcceptPolicy::kAll}, .ipv6 = true};
  unprivileged.lnd.privileged = false;
  site.restart(0, unprivileged);
  site[0].core().put(large_nid_of(1), 10, false);
  ASSERT_TRUE(site.settle());
  EXPECT_FALSE(site[0].core().completions()[0].status);
  EXPECT_GT(site[0].count(LndId::kAttemptUnprivileged), 0U);
  EXPECT_EQ(site[1].count(LndId::kOpenedByPeer), 0U);
  site[1].core().put(large_nid_of(0), 10, false);
  ASSERT_TRUE(site.settle());
  EXPECT_EQ(site[0].core().tally().puts, 1U);
}

TEST(SockLnd, ASecureAcceptorRefusesAnUnprivilegedNode) {
  TcpSite site(1, SimShape::calm(), 2);
  NodeOptions unprivileged;
  unprivileged.lnd.privileged = false;
  site.restart(0, unprivileged);
  site[0].core().put(nid_of(1), 10, false);
  ASSERT_TRUE(site.settle());
  EXPECT_EQ(site[0].core().completions()[0].health, Health::kRemoteDropped);
  EXPECT_EQ(site[1].count(AcceptorId::kRefusedPort), 1U);
}

TEST(SockLnd, AThousandPeers) {
  constexpr unsigned kPeers = 1000;
  // All in the same millisecond: with a backlog of 127 the last would still be waiting after a
  // minute.
  NodeOptions options{.core_bytes = 1U << 20U};
  options.lnd.peers_max = kPeers + 1;
  options.lnd.connections_max = 4 * kPeers;
  TcpSite site(1, SimShape::calm(), 1, options);
  site.pace = std::chrono::milliseconds(50);
  options.lnd.peers_max = 4;
  options.lnd.connections_max = 16;
  options.core_bytes = 4096;
  for (unsigned i = 1; i <= kPeers; ++i) {
    const auto host = site.cluster.network.add_host();
    ASSERT_TRUE(
        site.cluster.network.add_address(host, drivers::mapped_ipv4(drivers::kFirstAddress + i))
            .has_value());
    site.cluster.shards.push_back(
        std::make_unique<SimShard>(site.cluster.network, host, site.cluster.shape.shard, 1, i));
    site.nodes.push_back(std::make_unique<TcpNode>(site.cluster, site.fabric, i, options, i));
  }
  for (unsigned i = 1; i <= kPeers; ++i)
    site[i].core().put(nid_of(0), 200, true);
  ASSERT_TRUE(site.settle(minutes(3)));
  EXPECT_EQ(site[0].core().tally().puts, kPeers);
  for (unsigned i = 1; i <= kPeers; ++i)
    ASSERT_EQ(site[i].core().tally().acks, 1U) << i;
}

}  // namespace
}  // namespace plnet::socklnd
