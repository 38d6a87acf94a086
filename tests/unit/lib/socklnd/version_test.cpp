// SPDX-License-Identifier: BSD-3-Clause
// Peers of other protocol versions, and interfaces whose NIDs only V4 can carry.
#include <gtest/gtest.h>

#include "tests/unit/lib/socklnd/scripted_peer.hpp"
#include "tests/unit/lib/socklnd/stranger.hpp"

namespace plnet::socklnd {
namespace {

using std::chrono::seconds;

// Node 0 is real; host 1 answers as a case wants.
class SocklndVersion : public testing::Test {
 protected:
  SocklndVersion() : site(1, SimShape::calm(), 2) { site.take_away(1); }

  void answer(const ScriptedPeer::Answer& how) {
    peer = std::make_unique<ScriptedPeer>(site, 1, how);
  }
  void put(std::uint32_t length) { site[0].core().put(nid_of(1), length, false); }
  [[nodiscard]] std::vector<Protocol> versions() const {
    std::vector<Protocol> all;
    for (const Hello& hello : peer->hellos)
      all.push_back(hello.protocol);
    return all;
  }
  [[nodiscard]] const Peer& seen() { return *site[0].lnd().peer({nid_of(1)}); }

  TcpSite site;
  std::unique_ptr<ScriptedPeer> peer;
};

constexpr auto kControl = static_cast<std::int32_t>(ConnectionType::kControl);

TEST_F(SocklndVersion, APeerThatSpeaksOnlyV2IsSpokenToInV2) {
  answer([this](const Hello& theirs) {
    return theirs.protocol == Protocol::kV2 ? peer->accepting(theirs, Protocol::kV2)
                                            : peer->refusing(theirs, Protocol::kV2);
  });
  for (const std::uint32_t length : {0U, 100U, 5000U})
    put(length);
  ASSERT_TRUE(site.settle());
  site.run_for(seconds(100));  // keepalives exist in later versions only
  EXPECT_EQ(versions(), (std::vector{Protocol::kV3, Protocol::kV2, Protocol::kV2, Protocol::kV2}));
  EXPECT_EQ(site[0].count(LndId::kAttemptVersion), 1U);
  EXPECT_EQ(seen().open, (std::array<std::uint16_t, 4>{0, 1, 1, 1}));
  EXPECT_EQ(site[0].core().tally().sent, 3U);
  EXPECT_EQ(peer->messages().size(), 3U);
  EXPECT_TRUE(peer->understood_all());
  EXPECT_EQ(peer->noops(), 0U);
  site.expect_no_breach();
}

// The kernel takes the version of the reply for the connection.
TEST_F(SocklndVersion, AReplyThatAcceptsInAnotherVersionIsTaken) {
  answer([this](const Hello& theirs) { return peer->accepting(theirs, Protocol::kV2); });
  put(100);
  ASSERT_TRUE(site.settle());
  site.run_for(seconds(2));
  EXPECT_EQ(versions(), (std::vector{Protocol::kV3, Protocol::kV2, Protocol::kV2}));
  EXPECT_EQ(peer->messages().size(), 1U);
  EXPECT_TRUE(peer->understood_all());
  EXPECT_EQ(site[0].count(LndId::kOpen), 3U);
}

TEST_F(SocklndVersion, APeerThatChangesItsVersionIsMetAnew) {
  bool changed = false;
  answer([&, this](const Hello& theirs) {
    if (theirs.type != kControl) changed = true;
    return peer->accepting(theirs, changed ? Protocol::kV2 : Protocol::kV3);
  });
  put(100);
  ASSERT_TRUE(site.settle());
  site.run_for(seconds(2));
  EXPECT_EQ(site[0].count(LndId::kAttemptStale), 1U);
  EXPECT_EQ(site[0].count(LndId::kClosedSibling), 1U) << "the one in V3";
  EXPECT_EQ(peer->hellos.at(2).protocol, Protocol::kV3) << "nothing is known of it any more";
  EXPECT_EQ(peer->hellos.at(2).type, kControl);
  EXPECT_EQ(seen().open, (std::array<std::uint16_t, 4>{0, 1, 1, 1}));
  EXPECT_EQ(seen().protocol, Protocol::kV2);
  EXPECT_TRUE(peer->understood_all());
  site.expect_no_breach();
}

TEST_F(SocklndVersion, APeerThatNeverMakesUpItsMindHasFailed) {
  answer([this](const Hello& theirs) {
    return peer->refusing(theirs, theirs.protocol == Protocol::kV3 ? Protocol::kV2 : Protocol::kV3);
  });
  put(100);
  ASSERT_TRUE(site.settle());
  EXPECT_EQ(peer->hellos.size(), Peer::kRefusalsMax);
  EXPECT_EQ(site[0].core().tally().failed, 1U);
  site.run_for(seconds(2));
  put(100);
  ASSERT_TRUE(site.settle());
  EXPECT_EQ(peer->hellos.size(), Peer::kRefusalsMax + 1) << "none was accepted since";
  EXPECT_EQ(site[0].core().tally().failed, 2U);
}

TEST_F(SocklndVersion, ARefusalThatShowsARestartEndsOlderConnections) {
  bool restarted = false;
  answer([&, this](const Hello& theirs) {
    if (theirs.type == kControl || restarted) return peer->accepting(theirs, Protocol::kV3);
    restarted = true;
    ++peer->incarnation;
    return peer->refusing(theirs, Protocol::kV3);
  });
  put(100);
  ASSERT_TRUE(site.settle());
  site.run_for(std::chrono::milliseconds(500));  // at once, not as after a lost race
  EXPECT_EQ(site[0].count(LndId::kAttemptStale), 1U);
  EXPECT_EQ(site[0].count(LndId::kAttemptRefused), 0U);
  EXPECT_EQ(site[0].count(LndId::kClosedSibling), 1U);
  EXPECT_EQ(seen().open, (std::array<std::uint16_t, 4>{0, 1, 1, 1}));
  EXPECT_EQ(seen().incarnation, peer->incarnation);
}

// A peer that answers is alive, even after failures.
TEST_F(SocklndVersion, AMessageWaitsForAPeerThatAsksToRetry) {
  bool silent = true;
  bool refused = false;
  answer([&, this](const Hello& theirs) {
    if (silent || std::exchange(refused, true)) {
      Hello hello = peer->accepting(theirs, Protocol::kV3);
      if (silent) hello.type = static_cast<std::int32_t>(ConnectionType::kBulkIn);  // fatal
      return hello;
    }
    return peer->refusing(theirs, Protocol::kV3);
  });
  put(100);
  ASSERT_TRUE(site.settle());
  ASSERT_EQ(site[0].core().tally().failed, 1U);
  silent = false;
  site.run_for(std::chrono::milliseconds(1100));
  put(100);
  ASSERT_TRUE(site.settle());
  EXPECT_TRUE(refused);
  EXPECT_EQ(site[0].core().tally().failed, 1U);
  EXPECT_EQ(site[0].core().tally().sent, 1U);
  EXPECT_EQ(peer->messages().size(), 1U);
}

TEST_F(SocklndVersion, AReplyOfAnotherTypeIsFatal) {
  answer([this](const Hello& theirs) {
    Hello hello = peer->accepting(theirs, Protocol::kV3);
    hello.type = static_cast<std::int32_t>(ConnectionType::kBulkIn);
    return hello;
  });
  put(100);
  ASSERT_TRUE(site.settle());
  EXPECT_EQ(site[0].count(LndId::kAttemptType), 1U);
  EXPECT_EQ(site[0].core().tally().failed, 1U);
}

// --- Large NIDs ---

TEST(SocklndLargeNids, MessagesOfAllSizesArriveOnceAndWhole) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    TcpSite site(seed, seed % 2 == 0 ? SimShape::rough() : SimShape::calm(), 2,
                 {.ipv6 = true, .two_shards = seed % 3 == 0, .park_percent = 20});
    for (std::uint32_t i = 0; i < 60; ++i) {
      site[i % 2].core().put(site[1 - i % 2].nid(), i * 97 % 5000, i % 3 == 0);
      site[i % 2].core().get(site[1 - i % 2].nid(), i * 131 % 6000);
    }
    ASSERT_TRUE(site.settle());
    site.run_for(seconds(3));
    site.expect_no_breach();
    for (unsigned i = 0; i < 2; ++i) {
      EXPECT_EQ(site[i].core().tally().puts, 30U);
      EXPECT_EQ(site[i].core().tally().replies, 30U);
      EXPECT_EQ(site[i].core().tally().failed, 0U);
      const Peer* const peer = site[i].lnd().peer({site[1 - i].nid()});
      ASSERT_NE(peer, nullptr);
      EXPECT_EQ(peer->protocol, Protocol::kV4);
    }
    if (HasFailure()) return;
  }
}

TEST(SocklndLargeNids, ARestartIsNoticed) {
  TcpSite site(1, SimShape::calm(), 2, {.ipv6 = true});
  site[0].core().put(site[1].nid(), 10, false);
  ASSERT_TRUE(site.settle());
  site.run_for(seconds(2));
  site.restart(1, {.ipv6 = true});
  site[1].core().put(site[0].nid(), 10, false);
  ASSERT_TRUE(site.settle());
  EXPECT_EQ(site[0].count(LndId::kRefusedStale), 1U);
  EXPECT_EQ(site[0].core().tally().puts, 1U);
  EXPECT_EQ(site[1].core().tally().failed, 0U);
}

// A NID of 20 bytes does not fit into their HELLO, so an answer would have no source.
TEST(SocklndLargeNids, AnOlderHelloIsAnsweredWithOurVersion) {
  for (const Protocol protocol : {Protocol::kV2, Protocol::kV3}) {
    TcpSite site(1, SimShape::calm(), 2, {.ipv6 = true});
    site.take_away(1);
    Hello hello{.protocol = protocol, .source = nid_of(1), .destination = nid_of(0)};
    hello.type = kControl;
    Stranger stranger(site, 1, true, {ipv6_of(0), 988});
    stranger.say(both(request_to(site[0].nid()), bytes_of(hello)));
    EXPECT_TRUE(stranger.is_closed_within(seconds(1)));
    const auto reply = decode_hello(stranger.heard);
    ASSERT_TRUE(reply.has_value());
    EXPECT_EQ(reply->protocol, Protocol::kV4);
    EXPECT_EQ(reply->type, -1);
    EXPECT_EQ(reply->source, site[0].nid());
    EXPECT_EQ(site[0].count(AcceptorId::kRefusedHelloVersion), 1U);
  }
}

// The kernel chooses the first version by the socket, not by the interface.
TEST(SocklndLargeNids, AnIpv4InterfaceCallsALargeNidInV4) {
  TcpSite site(1, SimShape::calm(), 2, {.ipv6 = true});
  site.restart(0, {});
  site[0].core().put(site[1].nid(), 10, false);
  ASSERT_TRUE(site.settle());
  EXPECT_EQ(site[0].core().tally().failed + site[0].core().tally().sent, 1U);
}

// Our NID does not fit into the peer's version, so there is no common version.
TEST(SocklndLargeNids, APeerOfTheOtherFamilyThatAnswersInAnOlderVersionHasFailed) {
  for (const Protocol protocol : {Protocol::kV2, Protocol::kV3}) {
    for (const bool refuses : {true, false}) {
      SCOPED_TRACE(refuses);
      TcpSite site(1, SimShape::calm(), 2, {.ipv6 = true});
      site.take_away(1);
      ScriptedPeer peer(site, 1, [&](const Hello& theirs) {
        Hello hello = refuses ? peer.refusing(theirs, protocol) : peer.accepting(theirs, protocol);
        hello.destination = nid_of(0);  // as it understood the request
        return hello;
      });
      site[0].core().put(nid_of(1), 10, false);
      ASSERT_TRUE(site.settle());
      EXPECT_EQ(site[0].count(LndId::kAttemptVersion), 1U);
      EXPECT_EQ(site[0].count(LndId::kOpenedByUs), 0U);
      EXPECT_EQ(site[0].core().tally().failed, 1U);
      ASSERT_EQ(peer.hellos.size(), 1U);
      site.run_for(seconds(100));  // it may have another system by now
      site[0].core().put(nid_of(1), 10, false);
      ASSERT_TRUE(site.settle());
      ASSERT_EQ(peer.hellos.size(), 2U);
      EXPECT_EQ(peer.hellos.back().protocol, Protocol::kV4) << "nothing was learnt from it";
      EXPECT_EQ(site[0].core().tally().failed, 2U);
      site.expect_no_breach();
    }
  }
}

TEST(SocklndLargeNids, APeerOfTheOtherFamilyThatSpeaksOurVersionIsMet) {
  TcpSite site(1, SimShape::calm(), 2, {.ipv6 = true});
  site.take_away(1);
  ScriptedPeer peer(site, 1,
                    [&](const Hello& theirs) { return peer.accepting(theirs, Protocol::kV4); });
  site[0].core().put(nid_of(1), 10, false);
  ASSERT_TRUE(site.settle());
  EXPECT_EQ(site[0].core().tally().sent, 1U);
  EXPECT_EQ(site[0].count(LndId::kAttemptVersion), 0U);
}

}  // namespace
}  // namespace plnet::socklnd
