// SPDX-License-Identifier: BSD-3-Clause
// A gateway without checks is discovered because of the first message through it.
#include "lib/lnet/paths/route_table.hpp"
#include "lib/lnet/peers/peer_readiness.hpp"
#include "lib/lnet/peers/peer_records.hpp"
#include "tests/unit/lib/lnet/move/held_lnd.hpp"

namespace plnet::lnet::gateway_discovery_test {
namespace {

constexpr std::uint32_t kGateway = 9;
const Nid kServer = Nid::of(NetType::kTcp, 5, 77);

struct Rig : HeldNode {
  Rig() : HeldNode({}) {
    PeerNi& hop = node.add_peer(nid(kGateway));
    gateway = hop.peer.load();
    record_of(*gateway).drop_state(kPeerDiscovered | kPeerNidsUpToDate);
    auto& route = routes.emplace_back(std::make_unique<Route>());
    route->spec = {.net = kServer.net(), .gateway = nid(kGateway)};
    route->gateway.store(gateway);
    view = RouteView(routes);
    node.shared().routes.store(&view);
    settle();
  }

  void send() {
    ASSERT_TRUE(node.shard(0).put(bind(user), {.target = {kServer}, .portal = 5}));
    settle();
  }
  void end() {
    lnds[0]->end(0);
    settle();
    expect_conserved();
  }

  Recorder user;
  std::vector<std::unique_ptr<Route>> routes;
  RouteView view;
  Peer* gateway = nullptr;
};

TEST(GatewayDiscovery, HappensBeforeTheFirstMessageIfThereAreNoChecks) {
  Rig rig;
  rig.node.shared().parameters.alive_router_check_interval_s.set(0);
  rig.send();
  ASSERT_EQ(rig.lnds[0]->held.size(), 1U);
  EXPECT_EQ(rig.lnds[0]->held[0]->next_hop->nid, HeldNode::nid(kGateway));
  EXPECT_EQ(rig.lnds[0]->held[0]->header.destination, kServer);
  EXPECT_TRUE(is_up_to_date(rig.gateway->state.get()));
  rig.end();
}

TEST(GatewayDiscovery, AnUnlinkedMessageDoesNotWaitForItsEnd) {
  Rig rig;
  rig.node.shared().parameters.alive_router_check_interval_s.set(0);
  rig.node.holds_discoveries = true;
  const MdHandle md = rig.bind(rig.user, 100, 0, 1);
  ASSERT_TRUE(rig.node.shard(0).put(md, {.target = {kServer}, .portal = 5}));
  rig.settle();
  ASSERT_EQ(rig.node.held_discoveries.size(), 1U);
  Message& waiting = *rig.node.held_discoveries[0];
  ASSERT_NE(waiting.given_up, nullptr);
  EXPECT_FALSE(waiting.given_up->get());
  ASSERT_TRUE(rig.node.shard(0).unlink(md));
  EXPECT_TRUE(waiting.given_up->get());
  EXPECT_TRUE(rig.user.events.empty()) << "its memory is not its user's yet";

  waiting.outcome = std::unexpected(Errc::kCancelled);
  rig.node.end_discovery(waiting);
  rig.settle();
  ASSERT_EQ(rig.user.events.size(), 1U);
  EXPECT_TRUE(rig.user.events[0].unlinked);
  EXPECT_EQ(rig.user.events[0].status.error(), Errc::kCancelled);
  EXPECT_EQ(rig.cause(Cause::kTxMdAborted), 1U);
  EXPECT_EQ(rig.cause(Cause::kTxDiscovery), 0U);
  rig.expect_conserved();
}

TEST(GatewayDiscovery, IsLeftToTheChecksIfThereAreSome) {
  Rig rig;
  rig.send();
  ASSERT_EQ(rig.lnds[0]->held.size(), 1U);
  EXPECT_FALSE(is_up_to_date(rig.gateway->state.get()));
  rig.end();
}

}  // namespace
}  // namespace plnet::lnet::gateway_discovery_test
