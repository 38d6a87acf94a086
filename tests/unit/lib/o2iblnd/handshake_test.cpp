// SPDX-License-Identifier: BSD-3-Clause
// Connection setup: requests, answers, every rejection and its retry, races, restarts.
#include "tests/unit/lib/o2iblnd/scripted_verbs.hpp"

namespace plnet::o2iblnd::handshake_test {
namespace {

using namespace std::chrono_literals;

Message request_of(const ScriptedVerbs::Pair& pair) {
  Message message;
  EXPECT_EQ(decode(pair.data, message), std::nullopt);
  EXPECT_EQ(pair.data.size(), kConnectBytes);
  return message;
}

TEST(O2iblndHandshake, TheRequestIsTheKernels) {
  ScriptedNode node;
  (void)node.put(100);
  ASSERT_EQ(node.driver.pairs.size(), 1U);
  EXPECT_EQ(node.pair().local, (Ipv4Endpoint{ScriptedNode::kSite + 1, 1023}));
  EXPECT_EQ(node.pair().remote, (Ipv4Endpoint{ScriptedNode::kSite + 2, 987}));
  EXPECT_EQ(node.pair().size.send_requests, 258U * 8);
  EXPECT_EQ(node.pair().receives.size(), 18U);
  const Message request = request_of(node.pair());
  EXPECT_EQ(request.kind, Kind::kConnectRequest);
  EXPECT_EQ(request.version, kVersion2);
  EXPECT_EQ(request.source_stamp, ScriptedNode::kOwnStamp);
  EXPECT_EQ(request.destination_stamp, 0U);
  EXPECT_EQ(request.parameters, (Parameters{.queue_depth = 8, .max_frags = 257}));
  node.establish(0, 4, 256);
  EXPECT_EQ(node.facts().credits, 3U);
  const Message sent = node.next();
  EXPECT_EQ(sent.kind, Kind::kImmediate);
  EXPECT_EQ(sent.destination_stamp, ScriptedNode::kPeerStamp);
  node.sent();
  EXPECT_TRUE(node.last().status.has_value());
  EXPECT_EQ(node.core->notices(), std::vector{lnet::PeerNotice::kAlive});
  node.expect_clean();
}

TEST(O2iblndHandshake, AnyPortWillDoIfPrivilegedOnesAreNotWanted) {
  O2ibLndConfig config = ScriptedNode::small();
  config.tunables.use_privileged_port = 0;
  ScriptedNode node(config);
  (void)node.put(100);
  ASSERT_EQ(node.driver.pairs.size(), 1U);
  EXPECT_EQ(node.pair().local, (Ipv4Endpoint{ScriptedNode::kSite + 1, 0}));
}

TEST(O2iblndHandshake, ABadAnswerEndsTheConnection) {
  for (const auto& [depth, stamp] : {std::pair{9U, ScriptedNode::kOwnStamp}, {8U, 5UL}}) {
    ScriptedNode node;
    (void)node.put(100);
    Message ack = node.ack(depth);
    ack.destination_stamp = stamp;
    node.lnd->on_established(node.pair().id, ScriptedNode::bytes_of(ack));
    node.turn();
    EXPECT_TRUE(node.pair().in_error);
    node.expect_end(Errc::kAborted, Health::kLocalError);
    node.end();
    EXPECT_EQ(node.connections(), 0U);
    node.expect_clean();
  }
}

TEST(O2iblndHandshake, RejectionsAreFollowed) {
  const Parameters limits{.queue_depth = 4, .max_frags = 256};
  struct Row {
    Reject reject;
    Parameters then;
    std::uint64_t stamp;
    std::uint16_t version = kVersion2;
  };
  const std::array rows{
      Row{{.why = RejectReason::kStale, .incarnation = 9}, {8, 257}, 9},
      Row{{.why = RejectReason::kFragments, .incarnation = 9, .parameters = limits}, {8, 256}, 9},
      Row{{.why = RejectReason::kQueueDepth, .incarnation = 9, .parameters = limits}, {4, 257}, 9},
      Row{{.why = RejectReason::kRace, .incarnation = 9}, {8, 257}, 9},
      Row{{.version = kVersion1, .why = RejectReason::kFatal}, {8, 257}, ~0ULL, kVersion1},
      Row{{.version = kVersion1, .why = RejectReason::kIncompatible}, {8, 257}, ~0ULL, kVersion1},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(static_cast<int>(row.reject.why));
    ScriptedNode node;
    (void)node.put(100);
    node.reject(row.reject, 0);
    node.turn(60ms);
    ASSERT_EQ(node.driver.pairs.size(), 2U);
    const Message again = request_of(node.pair(1));
    EXPECT_EQ(again.version, row.version);
    EXPECT_EQ(again.parameters, row.then);
    EXPECT_EQ(again.destination_stamp, row.stamp);
    node.version = row.version;
    node.establish(1, 4, 256);
    EXPECT_EQ(node.next().version, row.version);
    node.sent(1);
    EXPECT_TRUE(node.last().status.has_value());
    node.expect_clean();
  }
}

TEST(O2iblndHandshake, OtherRejectionsFail) {
  for (const RejectReason why : {RejectReason::kNoResources, RejectReason::kFatal,
                                 RejectReason::kServiceId, RejectReason::kEarly}) {
    ScriptedNode node;
    (void)node.put(100);
    node.reject({.why = why}, 0);
    node.pass(3s);
    EXPECT_EQ(node.driver.pairs.size(), 1U);
    node.expect_end(Errc::kRefused, Health::kRemoteDropped);
    EXPECT_EQ(node.core->notices(), std::vector{lnet::PeerNotice::kDown});
    node.expect_clean();
  }
}

TEST(O2iblndHandshake, FailuresHaveTheirHealth) {
  const auto fails = [](Errc cause, Health health) {
    ScriptedNode node;
    (void)node.put(100);
    node.end(0, cause);
    node.expect_end(cause, health);
    node.expect_clean();
  };
  fails(Errc::kNoRoute, Health::kNetworkTimeout);
  fails(Errc::kTimedOut, Health::kNetworkTimeout);
  fails(Errc::kRefused, Health::kRemoteDropped);
  fails(Errc::kNetworkDown, Health::kLocalDropped);
  fails(Errc::kReset, Health::kLocalDropped);
  ScriptedNode node;
  (void)node.put(100);
  node.lnd->on_rejected(node.pair().id, RejectKind::kNobodyListens, {});
  node.turn();
  node.expect_end(Errc::kNoRoute, Health::kNetworkTimeout);
  node.driver.connect_fails = Errc::kNoMemory;
  (void)node.put(100);
  node.expect_end(Errc::kNoMemory, Health::kLocalDropped);
}

TEST(O2iblndHandshake, AnAttemptWithoutAnAnswerEnds) {
  ScriptedNode node;
  (void)node.put(100);
  node.pass(12s);
  EXPECT_FALSE(node.pair().in_error);
  node.pass(2s);
  EXPECT_TRUE(node.pair().in_error);
  EXPECT_EQ(node.count(LndId::kConnectTimeouts), 1U);
  node.expect_end(Errc::kNetworkDown, Health::kLocalDropped);
  node.end();
  node.expect_clean();
}

TEST(O2iblndHandshake, WithoutMemoryTheQueueIsLessDeep) {
  ScriptedNode node;
  node.driver.sends_max = 258 * 3;
  (void)node.put(100);
  EXPECT_EQ(request_of(node.pair()).parameters.queue_depth, 3);
  ScriptedNode other;
  other.driver.sends_max = 258 * 3;
  EXPECT_EQ(request_of(other.request(other.connect_request())).parameters.queue_depth, 3);
}

TEST(O2iblndHandshake, ARequestIsAnswered) {
  ScriptedNode node;
  const std::size_t index = node.accepted();
  const Message ack = request_of(node.pair(index));
  EXPECT_EQ(ack.kind, Kind::kConnectAck);
  EXPECT_EQ(ack.destination_stamp, ScriptedNode::kPeerStamp);
  EXPECT_EQ(ack.parameters, (Parameters{.queue_depth = 8, .max_frags = 257}));
  // The connection serves both directions.
  (void)node.put(10);
  EXPECT_EQ(node.driver.pairs.size(), 1U);
  EXPECT_EQ(node.next().kind, Kind::kImmediate);
  node.expect_clean();
}

TEST(O2iblndHandshake, EarlyMessagesAreKept) {
  ScriptedNode node;
  auto& pair = node.request(node.connect_request());
  Message early = node.message(Kind::kImmediate);
  early.header.type = lnet::MessageType::kAck;
  early.header.destination = ScriptedNode::nid(1);
  early.header.source = ScriptedNode::nid(2);
  node.receive(early, 0);
  EXPECT_EQ(node.count(LndId::kEarly), 1U);
  EXPECT_EQ(node.count(LndId::kReceivedImmediates), 0U);
  node.lnd->on_established(pair.id, {});
  node.turn();
  EXPECT_EQ(node.count(LndId::kReceivedImmediates), 1U);
  node.expect_clean();
}

RejectReason reason_of(const ScriptedVerbs::Pair& pair) {
  const auto reject = decode_reject(pair.data);
  EXPECT_TRUE(pair.rejected && reject);
  return reject ? reject->why : RejectReason::kServiceId;
}

TEST(O2iblndHandshake, RequestsAreRejected) {
  ScriptedNode node;
  Message one = node.connect_request();
  one.destination_stamp = 5;
  EXPECT_EQ(reason_of(node.request(one)), RejectReason::kStale);
  EXPECT_EQ(reason_of(node.request(node.connect_request(9))), RejectReason::kQueueDepth);
  one = node.connect_request();
  one.source_nid = 0x0002'0000'0a00'0002;  // of another network
  EXPECT_EQ(reason_of(node.request(one)), RejectReason::kFatal);
  node.lnd->shut_down();
  node.turn();
  EXPECT_EQ(reason_of(node.request(node.connect_request())), RejectReason::kEarly);
  EXPECT_EQ(node.connections(), 0U);
  node.expect_clean();
}

TEST(O2iblndHandshake, ThereIsAnEndOfRoom) {
  O2ibLndConfig config = ScriptedNode::small();
  config.connections_max = 2;
  ScriptedNode node(config);
  (void)node.accepted();
  (void)node.accepted();
  EXPECT_EQ(reason_of(node.request(node.connect_request())), RejectReason::kNoResources);
  config.connections_max = 8;
  config.peer_connections_max = 1;
  ScriptedNode other(config);
  (void)other.accepted();
  EXPECT_EQ(reason_of(other.request(other.connect_request())), RejectReason::kNoResources);
}

TEST(O2iblndHandshake, ANidIsConnectedFromItsAddress) {
  ScriptedNode node;
  (void)node.accepted();
  Message one = node.connect_request();
  one.source_stamp = 3003;  // would be another life of the peer
  EXPECT_EQ(reason_of(node.request(one, ScriptedNode::kSite + 9)), RejectReason::kFatal);
  EXPECT_FALSE(node.pair(0).in_error);
  node.expect_clean();
}

struct Gate final : PeerGate {
  bool admits(const lnet::Nid&) override { return false; }
};

TEST(O2iblndHandshake, ARuleOfAccessForbids) {
  Gate gate;
  O2ibLndConfig config = ScriptedNode::small();
  config.gate = &gate;
  ScriptedNode node(config);
  EXPECT_EQ(reason_of(node.request(node.connect_request())), RejectReason::kFatal);
  EXPECT_EQ(node.count(LndId::kRefusedAccess), 1U);
}

TEST(O2iblndHandshake, ARaceIsWonByTheGreaterOne) {
  // Node 2 is greater in both orders.
  for (const RaceOrder order : {RaceOrder::kHash, RaceOrder::kNumber}) {
    O2ibLndConfig config = ScriptedNode::small();
    config.race_order = order;
    ScriptedNode node(config);
    (void)node.put(100);
    auto& theirs = node.request(node.connect_request());
    EXPECT_TRUE(theirs.accepted);
    node.reject({.why = RejectReason::kRace, .incarnation = ScriptedNode::kPeerStamp}, 0);
    node.lnd->on_established(theirs.id, {});
    node.turn(1s);
    node.turn(1s);
    EXPECT_EQ(node.driver.pairs.size(), 2U);  // ours is not created again
    EXPECT_EQ(node.next().kind, Kind::kImmediate);
    node.expect_clean();
  }
}

TEST(O2iblndHandshake, ALesserOneLosesTwentyTimes) {
  ScriptedNode node;
  (void)node.core->put(lnet::Nid::of(lnet::NetType::kO2ib, 0, ScriptedNode::kSite), 10, false);
  node.turn();
  Message one = node.connect_request();
  one.source_nid = 0x0005'0000'0a00'0000;
  for (unsigned i = 0; i < kRacesMax; ++i)
    EXPECT_EQ(reason_of(node.request(one, ScriptedNode::kSite)), RejectReason::kRace);
  EXPECT_TRUE(node.request(one, ScriptedNode::kSite).accepted);
  EXPECT_EQ(node.count(LndId::kRaces), kRacesMax);
}

TEST(O2iblndHandshake, AfterTenRejectionsThereIsAPause) {
  ScriptedNode node;
  (void)node.put(100);
  for (std::size_t i = 0; i <= kReconnectsAtOnce; ++i) {
    ASSERT_EQ(node.driver.pairs.size(), i + 1);
    node.reject({.why = RejectReason::kStale, .incarnation = 9}, i);
    node.turn();
  }
  EXPECT_EQ(node.driver.pairs.size(), kReconnectsAtOnce + 1);
  node.pass(1s);
  EXPECT_EQ(node.driver.pairs.size(), kReconnectsAtOnce + 2);
}

TEST(O2iblndHandshake, AnotherLifeEndsTheOldConnections) {
  ScriptedNode node;
  (void)node.accepted();
  (void)node.put(10);
  node.sent();
  Message one = node.connect_request();
  one.source_stamp = 3003;
  EXPECT_EQ(reason_of(node.request(one)), RejectReason::kStale);
  EXPECT_TRUE(node.pair(0).in_error);
  node.end(0);
  auto& again = node.request(one);
  EXPECT_TRUE(again.accepted);
  node.lnd->on_established(again.id, {});
  node.turn();
  EXPECT_EQ(node.count(LndId::kRestarts), 1U);
  EXPECT_EQ(node.core->notices(), (std::vector{lnet::PeerNotice::kAlive, lnet::PeerNotice::kLost,
                                               lnet::PeerNotice::kAliveAfterRestart}));
}

TEST(O2iblndHandshake, SeveralConnectionsTakeTurns) {
  O2ibLndConfig config = ScriptedNode::small();
  config.tunables.conns_per_peer = 3;
  ScriptedNode node(config);
  (void)node.put(10);
  ASSERT_EQ(node.driver.pairs.size(), 3U);
  for (std::size_t i = 0; i < 3; ++i)
    node.establish(i);
  EXPECT_EQ(node.pair(0).chains.size(), 1U);  // all waiting messages use the first one
  for (unsigned i = 0; i < 6; ++i)
    (void)node.put(10);
  EXPECT_EQ(node.pair(0).chains.size() + node.pair(1).chains.size(), 5U);
  EXPECT_EQ(node.pair(2).chains.size(), 2U);
  node.end(0);
  EXPECT_EQ(node.core->notices(), std::vector{lnet::PeerNotice::kAlive});
  node.expect_clean();
}

TEST(O2iblndHandshake, TheDeviceComesAndGoes) {
  ScriptedNode node;
  node.lnd->on_device(false, Errc::kNetworkDown);
  node.lnd->on_device(false, Errc::kNetworkDown);
  node.lnd->on_device(true, Errc::kNetworkDown);
  EXPECT_EQ(node.core->interface_states(),
            (std::vector{lnet::InterfaceState::kFatal, lnet::InterfaceState::kUp}));
}

}  // namespace
}  // namespace plnet::o2iblnd::handshake_test
