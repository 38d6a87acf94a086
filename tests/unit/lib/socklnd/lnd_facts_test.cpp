// SPDX-License-Identifier: BSD-3-Clause
// The LND's report of its connections and peers.
#include <map>

#include <gtest/gtest.h>

#include "tests/unit/lib/socklnd/tcp_site.hpp"

namespace plnet::socklnd {
namespace {

using std::chrono::seconds;

std::vector<ConnectionFacts> connections_of(const SockLnd& lnd, Instant now) {
  std::vector<ConnectionFacts> found;
  for (std::uint32_t slot = 0; slot < lnd.connection_slots(); ++slot) {
    if (const auto facts = lnd.connection_facts(slot, now)) found.push_back(*facts);
  }
  return found;
}

std::vector<PeerFacts> peers_of(SockLnd& lnd, Instant now) {
  std::vector<PeerFacts> found;
  for (std::uint32_t slot = 0; slot < lnd.peer_slots(); ++slot) {
    if (const auto facts = lnd.peer_facts(slot, now)) found.push_back(*facts);
  }
  return found;
}

TEST(SockLndFacts, BothSidesTellOfTheSameConnections) {
  TcpSite site(1, SimShape::calm(), 2);
  EXPECT_TRUE(connections_of(site[0].lnd(), site.cluster.loop.now()).empty());
  for (unsigned i = 0; i < 3; ++i)
    site[0].core().put(nid_of(1), 10, false);
  site[0].core().put(nid_of(1), 100'000, false);
  ASSERT_TRUE(site.settle());
  site.run_for(seconds(5));
  const Instant now = site.cluster.loop.now();
  const auto ours = connections_of(site[0].lnd(), now);
  const auto theirs = connections_of(site[1].lnd(), now);
  ASSERT_EQ(ours.size(), 3U);
  ASSERT_EQ(theirs.size(), 3U);
  std::uint64_t sent = 0;
  std::uint64_t sent_bytes = 0;
  std::uint64_t received = 0;
  std::uint64_t received_bytes = 0;
  std::map<ConnectionType, int> types;
  for (const ConnectionFacts& facts : ours) {
    EXPECT_EQ(facts.peer.nid, nid_of(1));
    EXPECT_EQ(facts.state, Connection::State::kOpen);
    EXPECT_EQ(facts.protocol, Protocol::kV3);
    EXPECT_TRUE(facts.by_us);
    EXPECT_EQ(facts.messages_queued, 0U);
    ASSERT_TRUE(facts.age && facts.since_sent);
    EXPECT_GE(*facts.age, seconds(4));
    EXPECT_GE(*facts.age, *facts.since_sent);
    ++types[facts.type];
    sent += facts.messages_sent;
    sent_bytes += facts.bytes_sent;
  }
  EXPECT_EQ(types, (std::map<ConnectionType, int>{{ConnectionType::kControl, 1},
                                                  {ConnectionType::kBulkIn, 1},
                                                  {ConnectionType::kBulkOut, 1}}));
  for (const ConnectionFacts& facts : theirs) {
    EXPECT_FALSE(facts.by_us);
    received += facts.messages_received;
    received_bytes += facts.bytes_received;
  }
  EXPECT_EQ(sent, 4U);
  EXPECT_EQ(received, 4U);
  // Each connection of ours also carried a request and a HELLO, which the acceptor of the peer has
  // read.
  EXPECT_EQ(sent_bytes, received_bytes + ours.size() * (kAcceptorV1Bytes + kHelloNid4Bytes));
}

TEST(SockLndFacts, BytesAreUnsentUntilThePeersTcpAcknowledgesThem) {
  TcpSite site(1, SimShape::calm(), 2);
  const auto now = [&] { return site.cluster.loop.now(); };
  const auto unsent = [&](Instant since) { return site[0].lnd().unsent_bytes(since); };
  site[0].core().put(nid_of(1), 1000, false);
  ASSERT_TRUE(site.settle());
  site.run_for(seconds(1));
  EXPECT_EQ(unsent(now()), 0U);
  const auto a = site.cluster.shards[0]->host();
  const auto b = site.cluster.shards[1]->host();
  site.cluster.network.block_both(a, b);
  site[0].core().put(nid_of(1), 1000, false);
  site.run_for(seconds(1));
  ASSERT_TRUE(site[0].core().settled()) << "TCP has taken it";
  const Instant since = now();
  const std::uint64_t bytes = unsent(since);
  EXPECT_GT(bytes, 1000U);
  site[0].core().put(nid_of(1), 1000, false);
  site.run_for(seconds(1));
  EXPECT_EQ(unsent(since), bytes) << "later messages are separate";
  EXPECT_GT(unsent(now()), bytes);
  site.cluster.network.unblock_both(a, b);
  ASSERT_TRUE(site.run([&] { return unsent(now()) == 0; }));
  site.expect_no_breach();
}

TEST(SockLndFacts, APeerThatIsNotThereIsBackedOffFrom) {
  TcpSite site(1, SimShape::calm(), 2);
  site[1].driver().stop_listening(address_of(1));
  site[0].core().put(nid_of(1), 100, false);
  ASSERT_TRUE(site.settle());
  const auto peers = peers_of(site[0].lnd(), site.cluster.loop.now());
  ASSERT_EQ(peers.size(), 1U);
  EXPECT_EQ(peers[0].state, PeerState::kBackingOff);
  EXPECT_EQ(peers[0].references, 2U) << "the table and the core";
  EXPECT_EQ(peers[0].backoff, seconds(1));
  EXPECT_GT(peers[0].retry_in, Duration{});
  EXPECT_LE(peers[0].retry_in, seconds(1));
  EXPECT_EQ(peers[0].incarnation, 0U);
  EXPECT_EQ(peers[0].wanted, 3U);
  EXPECT_FALSE(peers[0].protocol || peers[0].attempt);
}

TEST(SockLndFacts, APeerThatComesByItselfIsNotBackedOffFrom) {
  TcpSite site(1, SimShape::calm(), 2);
  site[1].driver().stop_listening(address_of(1));
  const auto seen = [&] { return peers_of(site[0].lnd(), site.cluster.loop.now()).front(); };
  for (int i = 0; i < 10 && (i == 0 || seen().backoff < seconds(8)); ++i) {
    site[0].core().put(nid_of(1), 100, false);
    ASSERT_TRUE(site.settle());
    site.run_for(seen().retry_in);
  }
  site[0].core().put(nid_of(1), 100, false);
  ASSERT_TRUE(site.settle());
  ASSERT_GE(seen().retry_in, seconds(4));
  ASSERT_TRUE(site[1].driver().listen(address_of(1), 8, {}).has_value());
  site[1].core().put(nid_of(0), 100, false);
  ASSERT_TRUE(site.settle());
  EXPECT_EQ(seen().state, PeerState::kOpen);
  EXPECT_EQ(seen().backoff, Duration{});
  EXPECT_EQ(seen().retry_in, Duration{});
  const auto sent = site[0].core().tally().sent;
  site[0].core().put(nid_of(1), 100, false);
  ASSERT_TRUE(site.settle());
  EXPECT_EQ(site[0].core().tally().sent, sent + 1);
  site.expect_no_breach();
}

TEST(SockLndFacts, APeerWithConnectionsIsIdentified) {
  NodeOptions options;
  options.lnd.incarnation = 77;
  TcpSite site(1, SimShape::calm(), 2, options);
  site[0].core().put(nid_of(1), 100, false);
  ASSERT_TRUE(site.settle());
  site.run_for(seconds(2));
  const auto peers = peers_of(site[0].lnd(), site.cluster.loop.now());
  ASSERT_EQ(peers.size(), 1U);
  EXPECT_EQ(peers[0].state, PeerState::kOpen);
  EXPECT_EQ(site[0].count(LndId::kPeers), 1U) << "gauges are sums of what is shown";
  for (const LndId row : {LndId::kOpenControl, LndId::kOpenBulkIn, LndId::kOpenBulkOut})
    EXPECT_EQ(site[0].count(row), 1U);
  EXPECT_EQ(site[0].count(LndId::kOpen), 3U);
  EXPECT_EQ(peers[0].references, 5U) << "the table, the core, three connections";
  EXPECT_EQ(peers[0].open, (std::array<std::uint16_t, 4>{0, 1, 1, 1}));
  EXPECT_EQ(peers[0].incarnation, 77U);
  EXPECT_EQ(peers[0].protocol, Protocol::kV3);
  EXPECT_EQ(peers[0].messages_waiting + peers[0].messages_queued, 0U);
  EXPECT_EQ(peers[0].retry_in, Duration{});
  EXPECT_TRUE(peers[0].since_heard.has_value());
}

TEST(SockLndTunables, MoreConnectionsAreMadeWhenTheyAreWanted) {
  TcpSite site(1, SimShape::calm(), 2);
  site[0].core().put(nid_of(1), 100, false);
  ASSERT_TRUE(site.settle());
  site.run_for(seconds(2));
  Tunables tunables;
  tunables.conns_per_peer = 3;
  for (unsigned node = 0; node < 2; ++node)
    site[node].lnd().set_tunables(tunables);
  ASSERT_TRUE(site.run([&] { return site[0].lnd().peer({nid_of(1)})->open_count() == 7; }));
  tunables.conns_per_peer = 1;
  for (unsigned node = 0; node < 2; ++node)
    site[node].lnd().set_tunables(tunables);
  site.run_for(seconds(2));
  EXPECT_EQ(site[0].lnd().peer({nid_of(1)})->open_count(), 7U) << "those that there are stay";
}

TEST(SockLndTunables, AShorterTimeoutIsInForceAtOnce) {
  TcpSite site(1, SimShape::calm(), 2);
  site[0].core().put(nid_of(1), 100, false);
  ASSERT_TRUE(site.settle());
  site.run_for(seconds(2));
  Tunables tunables;
  tunables.sock_timeout = 4;
  site[0].lnd().set_tunables(tunables);
  EXPECT_EQ(site[0].lnd().traits().lnd_timeout, seconds(4));
  site.cluster.network.set_present(site.cluster.shards[1]->host(), false);
  site[0].core().put(nid_of(1), 100, false);
  EXPECT_TRUE(site.run([&] { return site[0].count(LndId::kClosedTxStuck) > 0; }, seconds(25)))
      << "a timer of the old timeout may still be running, which is due within a quarter of it";
}

}  // namespace
}  // namespace plnet::socklnd
