// SPDX-License-Identifier: BSD-3-Clause
// A raw byte peer in front of the acceptor of a real node.
#include <gtest/gtest.h>

#include "tests/unit/lib/lnet/vectors.hpp"
#include "tests/unit/lib/socklnd/stranger.hpp"

namespace plnet::socklnd {
namespace {

using std::chrono::seconds;

// Node 0 is real; host 1 has an address but no node.
class SocklndAcceptor : public testing::Test {
 protected:
  SocklndAcceptor() { start({}); }
  void start(const NodeOptions& options) {
    site.reset();
    site = std::make_unique<TcpSite>(1, SimShape::calm(), 2, options);
    site->take_away(1);
  }
  // The answer to these bytes, after which the connection is closed.
  Bytes refused(const Bytes& bytes, AcceptorId why, bool privileged = true) {
    const std::uint64_t before = node().count(why);
    Stranger stranger(*site, 1, privileged);
    if (!bytes.empty()) stranger.say(bytes);
    EXPECT_TRUE(stranger.is_closed_within(seconds(2)));
    EXPECT_EQ(node().count(why), before + 1);
    EXPECT_TRUE(node().acceptor().idle());
    return stranger.heard;
  }
  TcpNode& node() { return (*site)[0]; }

  std::unique_ptr<TcpSite> site;
};

TEST_F(SocklndAcceptor, SilentRefusalsAndAnsweredOnes) {
  const Bytes ours = request_to(nid_of(0));
  const Bytes answer = lnet::vectors::from_hex("0071ceac010000000000000000000000");
  EXPECT_EQ(refused(lnet::vectors::from_hex("47455420"), AcceptorId::kRefusedMagic), Bytes{});
  EXPECT_EQ(refused(lnet::vectors::from_hex("ed0dbcee"), AcceptorId::kRefusedLegacy), Bytes{});
  EXPECT_EQ(refused(hello_from(1, ConnectionType::kControl), AcceptorId::kRefusedRequest), answer);
  EXPECT_EQ(refused(lnet::vectors::from_hex("0071ceac07000000"), AcceptorId::kRefusedRequest),
            answer);
  EXPECT_EQ(refused(request_to(nid_of(3)), AcceptorId::kRefusedNid), Bytes{});
  EXPECT_EQ(refused(both(ours, ours), AcceptorId::kRefusedHelloMagic), Bytes{});
  EXPECT_EQ(refused(both(ours, hello_from(1, ConnectionType::kNone)), AcceptorId::kRefusedType),
            Bytes{});
  Bytes many = both(ours, hello_from(1, ConnectionType::kControl));
  many[kAcceptorV1Bytes + 52] = std::byte{17};
  EXPECT_EQ(refused(many, AcceptorId::kRefusedAddresses), Bytes{});
  Bytes nobody = both(ours, hello_from(1, ConnectionType::kControl));
  std::fill_n(nobody.begin() + kAcceptorV1Bytes + 8, 8, std::byte{0xff});
  EXPECT_EQ(refused(nobody, AcceptorId::kRefusedSource), Bytes{});
  EXPECT_EQ(refused({}, AcceptorId::kRefusedPort, false), Bytes{});
}

TEST_F(SocklndAcceptor, ForbiddenPeersAreClosedAfterTheirHello) {
  start({.shut_out = nid_of(1)});
  const Bytes bytes = both(request_to(nid_of(0)), hello_from(1, ConnectionType::kControl));
  EXPECT_EQ(refused(bytes, AcceptorId::kRefusedAccess), Bytes{});
  EXPECT_EQ(node().count(AcceptorId::kHandedOver), 0U);
}

TEST_F(SocklndAcceptor, AnUnknownVersionIsAnsweredWithOurs) {
  for (const unsigned version : {1U, 5U, 200U}) {
    Bytes bytes = both(request_to(nid_of(0)), hello_from(1, ConnectionType::kControl));
    bytes[kAcceptorV1Bytes + 4] = static_cast<std::byte>(version);
    bytes.resize(kAcceptorV1Bytes + kHelloPrefixBytes);
    const Bytes heard = refused(bytes, AcceptorId::kRefusedHelloVersion);
    const auto hello = decode_hello(heard);
    ASSERT_TRUE(hello.has_value());
    EXPECT_EQ(hello->protocol, Protocol::kV3);
    EXPECT_EQ(hello->type, -1);
    EXPECT_EQ(hello->source, nid_of(0));
    EXPECT_EQ(hello->destination, nid_of(0));
    EXPECT_EQ(hello->source_pid, lnet::kLustrePid);
  }
}

TEST_F(SocklndAcceptor, PeersThatSendBeforeOurAnswerAreClosed) {
  Bytes bytes = both(request_to(nid_of(0)), hello_from(1, ConnectionType::kControl));
  bytes.push_back(std::byte{0xc0});
  EXPECT_EQ(refused(bytes, AcceptorId::kRefusedEager), Bytes{});
}

TEST_F(SocklndAcceptor, EachStepHasItsTime) {
  const Bytes all = both(request_to(nid_of(0)), hello_from(1, ConnectionType::kControl));
  for (const std::size_t length : {0U, 3U, 4U, 8U, 15U, 16U, 20U, 40U, 71U}) {
    Stranger stranger(*site, 1);
    if (length > 0) stranger.say(std::span(all).first(length));
    EXPECT_FALSE(stranger.is_closed_within(seconds(4)));
    EXPECT_TRUE(stranger.is_closed_within(seconds(2))) << length;
  }
  EXPECT_EQ(node().count(AcceptorId::kTimedOut), 9U);
}

TEST_F(SocklndAcceptor, PeersThatLeaveEarlyAreCounted) {
  Stranger silent(*site, 1);
  silent.leave();
  Stranger early(*site, 1);
  early.say(request_to(nid_of(0)));
  site->run_for(std::chrono::milliseconds(5));
  early.leave();
  site->run_for(std::chrono::milliseconds(5));
  EXPECT_EQ(node().count(AcceptorId::kLeftSilent), 1U);
  EXPECT_EQ(node().count(AcceptorId::kLeftEarly), 1U);
}

TEST_F(SocklndAcceptor, ThereIsRoomForSoManyStrangers) {
  start({.acceptor = {.strangers_max = 2}});
  Stranger first(*site, 1);
  Stranger second(*site, 1);
  Stranger third(*site, 1);
  EXPECT_TRUE(third.is_closed_within(seconds(1)));
  EXPECT_EQ(node().count(AcceptorId::kRefusedNoRoom), 1U);
  EXPECT_FALSE(first.closed || second.closed);
}

// Hosts 1 and up have addresses but no nodes.
class SocklndFullAcceptor : public testing::Test {
 protected:
  void start(std::size_t places, unsigned hosts) {
    site = std::make_unique<TcpSite>(1, SimShape::calm(), 1 + hosts,
                                     NodeOptions{.acceptor = {.strangers_max = places}});
    for (unsigned host = 1; host <= hosts; ++host)
      site->take_away(host);
  }
  Stranger& come(unsigned host) {
    return *strangers.emplace_back(std::make_unique<Stranger>(*site, host));
  }
  // It sends its HELLO and receives one.
  bool gets_in(unsigned host) {
    Stranger& peer = come(host);
    if (!peer.open) return false;
    peer.say(both(request_to(nid_of(0)), hello_from(host, ConnectionType::kControl)));
    return site->run([&] { return !peer.heard.empty() || peer.closed; }, seconds(1)) &&
           !peer.closed;
  }
  std::uint64_t count(AcceptorId id) { return (*site)[0].count(id); }

  std::unique_ptr<TcpSite> site;
  std::vector<std::unique_ptr<Stranger>> strangers;
};

TEST_F(SocklndFullAcceptor, TheLongestSilentStrangerMakesRoomForAnotherAddress) {
  start(2, 2);
  Stranger& first = come(1);
  Stranger& second = come(1);
  EXPECT_TRUE(gets_in(2));
  EXPECT_TRUE(first.closed);
  EXPECT_FALSE(second.closed);
  EXPECT_EQ(count(AcceptorId::kEvicted), 1U);
  EXPECT_EQ(count(AcceptorId::kRefusedNoRoom), 0U);
}

TEST_F(SocklndFullAcceptor, ProgressEndsASilence) {
  start(2, 2);
  Stranger& first = come(1);
  Stranger& second = come(1);
  first.say(request_to(nid_of(0)));
  site->run_for(std::chrono::milliseconds(5));
  EXPECT_TRUE(gets_in(2));
  EXPECT_FALSE(first.closed);
  EXPECT_TRUE(second.closed);
}

TEST_F(SocklndFullAcceptor, AnAddressHasNoMoreThanItsShareOfThePlaces) {
  constexpr std::size_t kPlaces = 2 * kAddressShare * kAddressPlacesLeast;
  start(kPlaces, 3);
  for (std::size_t i = 0; i < kPlaces / kAddressShare; ++i)
    EXPECT_FALSE(come(1).closed) << i;
  EXPECT_TRUE(come(1).is_closed_within(seconds(1)));
  EXPECT_EQ(count(AcceptorId::kRefusedShare), 1U);
  EXPECT_TRUE(gets_in(2));
  EXPECT_EQ(count(AcceptorId::kEvicted), 0U) << "there was room";
}

TEST_F(SocklndFullAcceptor, AnHonestPeerGetsInHoweverManyAddressesKeepComing) {
  constexpr unsigned kAddresses = 8;
  constexpr unsigned kHonest = kAddresses + 1;
  start(4, kHonest);
  for (unsigned round = 0; round < 5; ++round) {
    for (unsigned host = 1; host <= kAddresses; ++host)
      (void)come(host);
  }
  EXPECT_TRUE(gets_in(kHonest));
  EXPECT_EQ(count(AcceptorId::kStrangers), 3U) << "of the attackers";
  site->run_for(seconds(6));
  EXPECT_TRUE((*site)[0].acceptor().idle());
}

// Host 2 claims to be node 1.
class SocklndForeignNid : public SocklndFullAcceptor {
 protected:
  Stranger& claim(unsigned host, unsigned node, std::uint64_t incarnation = 7) {
    Stranger& peer = come(host);
    peer.say(both(request_to(nid_of(0)), hello_from(node, ConnectionType::kControl, incarnation)));
    (void)site->run([&] { return !peer.heard.empty() || peer.closed; }, seconds(1));
    return peer;
  }
  // The HELLO of node 1 with these addresses appended.
  static Bytes listing(ConnectionType type, unsigned host) {
    Bytes hello = hello_from(1, type);
    hello[52] = std::byte{1};
    const auto ip = socklnd::address_of(host).ip;
    for (std::size_t i = 0; i < 4; ++i)
      hello.push_back(static_cast<std::byte>(ip[15 - i]));
    return hello;
  }
};

TEST_F(SocklndForeignNid, IsRefusedAndEndsNoConnectionOfItsNode) {
  start(16, 2);
  Stranger& node = claim(1, 1);
  ASSERT_FALSE(node.closed);
  Stranger& attacker = claim(2, 1, 8);
  EXPECT_TRUE(attacker.closed);
  EXPECT_TRUE(attacker.heard.empty());
  EXPECT_EQ(count(AcceptorId::kRefusedForeign), 1U);
  EXPECT_FALSE(node.is_closed_within(seconds(1)));
}

TEST_F(SocklndForeignNid, IsAcceptedFromAnAddressThatItsNodeHasListed) {
  start(16, 3);
  EXPECT_TRUE(claim(2, 1).closed) << "not yet";
  Stranger& first = come(1);
  first.say(both(request_to(nid_of(0)), listing(ConnectionType::kControl, 2)));
  ASSERT_FALSE(first.is_closed_within(seconds(1)));
  Stranger& second = come(2);
  second.say(both(request_to(nid_of(0)), hello_from(1, ConnectionType::kBulkIn)));
  EXPECT_FALSE(second.is_closed_within(seconds(1)));
  EXPECT_FALSE(second.heard.empty());
  EXPECT_TRUE(claim(3, 1).closed) << "an address that it has not listed";
  Stranger& third = come(3);
  third.say(both(request_to(nid_of(0)), listing(ConnectionType::kBulkOut, 3)));
  EXPECT_TRUE(third.is_closed_within(seconds(1))) << "no node lists itself";
}

TEST_F(SocklndForeignNid, IsAcceptedIfConfigured) {
  site = std::make_unique<TcpSite>(1, SimShape::calm(), 3,
                                   NodeOptions{.acceptor = {.any_address = true}});
  site->take_away(1);
  site->take_away(2);
  EXPECT_FALSE(claim(2, 1).closed);
  EXPECT_EQ(count(AcceptorId::kRefusedForeign), 0U);
}

TEST_F(SocklndFullAcceptor, WaitingConnectionsAreNotRead) {
  start(16, 2);
  (*site)[0].later = 20;
  EXPECT_TRUE(gets_in(1));
  EXPECT_EQ(count(AcceptorId::kWaited), 1U);
  (*site)[0].later = 1'000'000'000;
  Stranger& waits = come(2);
  waits.say(both(request_to(nid_of(0)), hello_from(2, ConnectionType::kControl)));
  EXPECT_FALSE(waits.is_closed_within(seconds(40)));
  EXPECT_TRUE(waits.is_closed_within(seconds(10)));
  EXPECT_EQ(count(AcceptorId::kRefusedWait), 1U);
  EXPECT_TRUE((*site)[0].acceptor().idle());
}

TEST_F(SocklndAcceptor, AHelloIsAnsweredWithOurViewOfTheType) {
  Stranger stranger(*site, 1);
  stranger.say(both(request_to(nid_of(0)), hello_from(1, ConnectionType::kBulkOut)));
  site->run_for(std::chrono::milliseconds(5));
  ASSERT_FALSE(stranger.closed);
  const auto reply = decode_hello(stranger.heard);
  ASSERT_TRUE(reply.has_value());
  EXPECT_EQ(reply->type, static_cast<std::int32_t>(ConnectionType::kBulkIn));
  EXPECT_EQ(reply->source, nid_of(0));
  EXPECT_EQ(reply->destination, nid_of(1));
  EXPECT_EQ(reply->source_pid, lnet::kLustrePid);
  EXPECT_EQ(node().lnd().peer({nid_of(1)})->open, (std::array<std::uint16_t, 4>{0, 0, 1, 0}));
}

TEST_F(SocklndAcceptor, DuplicatesAndOldIncarnationsAreRefusedByAHello) {
  const Bytes request = request_to(nid_of(0));
  Stranger first(*site, 1);
  first.say(both(request, hello_from(1, ConnectionType::kControl)));
  site->run_for(std::chrono::milliseconds(5));
  Stranger again(*site, 1);
  again.say(both(request, hello_from(1, ConnectionType::kControl)));
  EXPECT_TRUE(again.is_closed_within(seconds(1)));
  EXPECT_EQ(decode_hello(again.heard)->type, -1);
  EXPECT_EQ(node().count(LndId::kRefusedDuplicate), 1U);
  EXPECT_FALSE(first.closed);
  Stranger reborn(*site, 1);
  reborn.say(both(request, hello_from(1, ConnectionType::kControl, 8)));
  EXPECT_TRUE(reborn.is_closed_within(seconds(1)));
  EXPECT_EQ(decode_hello(reborn.heard)->type, -1);
  EXPECT_EQ(node().count(LndId::kRefusedStale), 1U);
  EXPECT_TRUE(first.is_closed_within(seconds(1))) << "the old ones go";
  Stranger retry(*site, 1);
  retry.say(both(request, hello_from(1, ConnectionType::kControl, 8)));
  EXPECT_FALSE(retry.is_closed_within(seconds(1)));
  EXPECT_EQ(decode_hello(retry.heard)->type, 1);
}

Bytes frame(const Frame& of) {
  Bytes bytes(kFrameBytes);
  encode_frame(of, std::span(bytes).first<kFrameBytes>());
  return bytes;
}

TEST_F(SocklndAcceptor, AZeroCopyRequestIsAcknowledgedOnce) {
  for (const Protocol protocol : {Protocol::kV2, Protocol::kV3, Protocol::kV4}) {
    start({.drop_percent = 100});  // also for dropped messages
    Stranger stranger(*site, 1);
    stranger.say(both(request_to(nid_of(0)), hello_from(1, ConnectionType::kBulkOut, 7, protocol)));
    site->run_for(std::chrono::milliseconds(5));
    const std::size_t hello = stranger.heard.size();
    EXPECT_EQ(hello, hello_bytes(protocol));
    Bytes message = frame({.type = kFrameLnet, .cookies = {42, 0}});
    lnet::MessageHeader header{.destination = nid_of(0),
                               .source = nid_of(1),
                               .type = lnet::MessageType::kPut,
                               .payload_length = 10};
    std::array<std::byte, lnet::kHeaderNid16Bytes> out{};
    if (protocol == Protocol::kV4) {
      encode_header_nid16(header, out);
    } else {
      ASSERT_TRUE(encode_header_nid4(header, std::span(out).first<lnet::kHeaderNid4Bytes>()));
    }
    message.insert(message.end(), out.begin(),
                   out.begin() + static_cast<std::ptrdiff_t>(lnet_header_bytes(protocol)));
    stranger.say(message);  // the dropped payload has not arrived yet
    site->run_for(std::chrono::milliseconds(5));
    const Bytes heard(stranger.heard.begin() + static_cast<std::ptrdiff_t>(hello),
                      stranger.heard.end());
    EXPECT_EQ(heard, frame({.type = kFrameNoop, .cookies = {0, 42}}));
    stranger.say(Bytes(10));
    site->run_for(std::chrono::milliseconds(5));
    EXPECT_EQ(stranger.heard.size(), hello + kFrameBytes);
    EXPECT_EQ(node().count(LndId::kAcksSent), 1U);
  }
}

TEST_F(SocklndAcceptor, AnUnrequestedAcknowledgementEndsTheConnection) {
  for (const auto& [bytes, why] :
       {std::pair{frame({.type = kFrameNoop, .cookies = {0, 42}}), LndId::kClosedCookies},
        std::pair{frame({.type = kFrameNoop, .cookies = {5, 1}}), LndId::kClosedCookies},
        std::pair{frame({.type = 0xc5}), LndId::kClosedFrame},
        std::pair{frame({.type = kFrameNoop, .checksum = 3}), LndId::kClosedNoopSum}}) {
    start({});
    Stranger stranger(*site, 1);
    stranger.say(both(request_to(nid_of(0)), hello_from(1, ConnectionType::kControl)));
    site->run_for(std::chrono::milliseconds(5));
    stranger.say(frame({.type = kFrameNoop, .cookies = {0, 1}}));  // a keepalive is accepted
    site->run_for(std::chrono::milliseconds(5));
    EXPECT_FALSE(stranger.closed);
    stranger.say(bytes);
    EXPECT_TRUE(stranger.is_closed_within(seconds(1)));
    EXPECT_EQ(node().count(why), 1U);
  }
}

}  // namespace
}  // namespace plnet::socklnd
