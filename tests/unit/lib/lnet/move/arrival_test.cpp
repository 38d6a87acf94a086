// SPDX-License-Identifier: BSD-3-Clause
// Decisions that depend on the path by which a message arrived.
#include <gtest/gtest.h>

#include "tests/unit/lib/lnet/move/held_lnd.hpp"

namespace plnet::lnet::arrival_test {
namespace {

struct Deaf final : EventHandler {
  void on_event(const Event& /*event*/) override {}
};

RxDecision offer_from_elsewhere(HeldNode& rig, RxHandle rx) {
  MessageHeader header{.destination = HeldNode::nid(1),
                       .source = Nid::of(NetType::kO2ib, 0, 9),
                       .type = MessageType::kPut};
  header.set_area(PutArea{.match_bits = 1, .portal = 5});
  return rig.port().on_header({.header = header, .from = HeldNode::nid(2), .rx = rx});
}

// lustre-release lnet/lnet/lib-move.c: lnet_prep_send()
TEST(Arrival, ResponsesComeFromThePidOfThisNode) {
  HeldNode rig({});
  Recorder target;
  rig.attach(target);
  rig.node.add_peer(HeldNode::nid(9));
  rig.settle();
  MessageHeader header{.destination = HeldNode::nid(1), .source = HeldNode::nid(9)};
  header.type = MessageType::kPut;
  header.destination_pid = 555;
  header.source_pid = 88;
  header.payload_length = 10;
  header.set_area(PutArea{.ack_handle = {7, 7}, .match_bits = 1, .portal = 5});
  const RxOffer offer{.header = header, .from = HeldNode::nid(9), .rx = {3, 1}};
  ASSERT_EQ(rig.port().on_header(offer).verdict, RxVerdict::kReceive);
  rig.port().on_received({3, 1}, {}, Health::kOk);
  rig.settle();
  ASSERT_EQ(rig.lnds[0]->held.size(), 1U);
  EXPECT_EQ(rig.lnds[0]->held[0]->header.source_pid, kLustrePid);
  EXPECT_EQ(rig.lnds[0]->held[0]->header.destination_pid, 88U);
  rig.lnds[0]->end(0);
  rig.settle();
  rig.expect_conserved();
}

TEST(Arrival, ThroughAGatewayThatIsNoneOfOursIsDroppedIfAsked) {
  HeldNode rig({});
  rig.node.add_peer(HeldNode::nid(2), ShardId{0});
  rig.node.shared().parameters.drop_asym_route.set(1);
  Deaf handler;
  (void)rig.attach(handler);
  EXPECT_EQ(offer_from_elsewhere(rig, {1, 1}).verdict, RxVerdict::kDrop);
  EXPECT_EQ(rig.cause(Cause::kDroppedAsymRoute), 1U);
  EXPECT_EQ(rig.statistic(Statistic::kDropCount), 1U);
}

TEST(Arrival, FromAnotherNidOfItsNetworkIsDropped) {
  HeldNode rig({});
  Deaf handler;
  (void)rig.attach(handler);
  rig.node.add_peer(HeldNode::nid(2), ShardId{0});
  rig.node.add_peer(HeldNode::nid(3), ShardId{0});
  MessageHeader header{.destination = HeldNode::nid(1), .type = MessageType::kPut};
  header.set_area(PutArea{.match_bits = 1, .portal = 5});
  for (const std::uint32_t source : {3U, 4U}) {
    header.source = HeldNode::nid(source);
    const RxOffer offer{.header = header, .from = HeldNode::nid(2), .rx = {source, 1}};
    EXPECT_EQ(rig.port().on_header(offer).verdict, RxVerdict::kDrop) << source;
  }
  EXPECT_EQ(rig.cause(Cause::kDroppedForeignSource), 2U);
  EXPECT_EQ(rig.node.directory().find(HeldNode::nid(4)), nullptr);
}

TEST(Arrival, ThroughAnyGatewayIsWelcomeOtherwise) {
  HeldNode rig({});
  rig.node.add_peer(HeldNode::nid(2), ShardId{0});
  Deaf handler;
  (void)rig.attach(handler);
  EXPECT_EQ(offer_from_elsewhere(rig, {1, 1}).verdict, RxVerdict::kReceive);
  rig.port().on_received({1, 1}, {}, Health::kOk);
  EXPECT_EQ(rig.cause(Cause::kDroppedAsymRoute), 0U);
}

RxDecision offer_ping(HeldNode& rig, const Nid& source, const Nid& destination) {
  MessageHeader header{.destination = destination, .source = source, .type = MessageType::kGet};
  header.set_area(GetArea{.portal = kPingPortal});
  return rig.port().on_header({.header = header, .from = HeldNode::nid(2), .rx = {1, 1}});
}

TEST(Arrival, APingShowsARouterThatItsNetworkIsAlive) {
  HeldNode rig({});
  rig.node.add_peer(HeldNode::nid(2), ShardId{0});
  rig.settle();
  Ni& ni = rig.node.ni(1);
  const Nid elsewhere = Nid::of(NetType::kO2ib, 0, 9);
  (void)offer_ping(rig, HeldNode::nid(2), elsewhere);
  EXPECT_EQ(ni.pinged_ns.get(), INT64_MIN) << "it does not route";
  rig.node.shared().parameters.routing.set(static_cast<std::int32_t>(RoutingState::kStarting));
  (void)offer_ping(rig, HeldNode::nid(1), elsewhere);
  EXPECT_EQ(ni.pinged_ns.get(), INT64_MIN) << "from itself";
  (void)offer_ping(rig, HeldNode::nid(2), elsewhere);
  EXPECT_EQ(ni.pinged_ns.get(), rig.now.time_since_epoch().count());
  EXPECT_FALSE(ni.revived.get()) << "it was up";
  EXPECT_FALSE(rig.node.shared().ni_changed.load());
}

TEST(Arrival, APingRevivesANetworkThatWasDown) {
  HeldNode rig({});
  rig.node.add_peer(HeldNode::nid(2), ShardId{0});
  rig.settle();
  rig.node.shared().parameters.routing.set(static_cast<std::int32_t>(RoutingState::kEnabled));
  rig.node.ni(1).status.set(kNiDown);
  (void)offer_ping(rig, HeldNode::nid(2), HeldNode::nid(1));
  EXPECT_TRUE(rig.node.ni(1).revived.get());
  EXPECT_TRUE(rig.node.shared().ni_changed.load());
}

// A gateway to the source network of offer_from_elsewhere().
struct Gateway {
  explicit Gateway(HeldNode& rig) : peer_ni(rig.node.add_peer(HeldNode::nid(2), ShardId{0})) {
    auto& directory = rig.node.directory();
    PeerRecord& record = PeerDirectory::peer_of(record_of(peer_ni));
    record.add_state(kPeerMultiRail | kPeerRouterEnabled);
    EXPECT_TRUE(directory.attach(record, Nid::of(NetType::kO2ib, 0, 2)).has_value());
    directory.commit();
    peer = peer_ni.peer.load();
    far = directory.find(Nid::of(NetType::kO2ib, 0, 2));
    far->status.set(kNiDown);
    peer->alive.set(false);
    routes.push_back(std::make_unique<Route>());
    routes[0]->spec = {.net = make_net(NetType::kO2ib), .gateway = HeldNode::nid(2), .hops = 1};
    routes[0]->gateway.store(peer);
    routes[0]->alive.set(false);
    view = RouteView(routes);
    rig.node.shared().routes.store(&view);
  }

  PeerNi& peer_ni;
  Peer* peer = nullptr;
  PeerNi* far = nullptr;
  std::vector<std::unique_ptr<Route>> routes;
  RouteView view;
};

TEST(Arrival, ThroughADeadGatewayRevivesIt) {
  HeldNode rig({});
  Gateway gateway(rig);
  Deaf handler;
  (void)rig.attach(handler);
  EXPECT_EQ(offer_from_elsewhere(rig, {1, 1}).verdict, RxVerdict::kReceive);
  EXPECT_TRUE(gateway.peer->alive.get());
  EXPECT_EQ(gateway.far->status.get(), kNiUp);
  EXPECT_TRUE(gateway.routes[0]->alive.get());
  EXPECT_EQ(rig.node.shared().gateways_changed.load(), kGatewayHeard);
  rig.port().on_received({1, 1}, {}, Health::kOk);
}

TEST(Arrival, DiffersFromTheLndStatusOfAGateway) {
  HeldNode rig({});
  Gateway gateway(rig);
  rig.settle();  // updates the shard's clock
  const auto told = [&](PeerNotice notice) {
    rig.node.shared().gateways_changed.store(0);
    rig.port().on_peer(HeldNode::nid(2), notice, rig.now);
    return rig.node.shared().gateways_changed.load();
  };
  EXPECT_EQ(told(PeerNotice::kDown), kGatewayTold);
  EXPECT_EQ(told(PeerNotice::kAlive), kGatewayTold);
  EXPECT_EQ(told(PeerNotice::kAlive), 0U) << "nothing has changed";
}

TEST(Arrival, FromADeadGatewayItselfIsNoSignOfItsRoutes) {
  HeldNode rig({});
  Gateway gateway(rig);
  Deaf handler;
  (void)rig.attach(handler);
  EXPECT_EQ(rig.offer_put(2, {1, 1}).verdict, RxVerdict::kReceive);
  EXPECT_FALSE(gateway.peer->alive.get());
  EXPECT_FALSE(gateway.routes[0]->alive.get());
  rig.port().on_received({1, 1}, {}, Health::kOk);
}

TEST(Arrival, ThroughADeadGatewayThatIsNoneOfOursRevivesNothingIfAsked) {
  HeldNode rig({});
  Gateway gateway(rig);
  const RouteView none;
  rig.node.shared().routes.store(&none);
  rig.node.shared().parameters.drop_asym_route.set(1);
  EXPECT_EQ(offer_from_elsewhere(rig, {1, 1}).verdict, RxVerdict::kDrop);
  EXPECT_FALSE(gateway.peer->alive.get());
}

}  // namespace
}  // namespace plnet::lnet::arrival_test
