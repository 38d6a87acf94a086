// SPDX-License-Identifier: BSD-3-Clause
#include "lib/lnet/control/routes.hpp"

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "tests/unit/lib/lnet/control/test_node.hpp"

namespace plnet::lnet::routes_test {
namespace {

const Nid kOurs = nid("10.0.0.1@tcp");
const Nid kOther = nid("10.1.0.1@tcp1");
const Nid kGateway = nid("10.0.0.9@tcp");
const Nid kGatewayToo = nid("10.1.0.9@tcp1");
const Nid kThird = nid("10.0.0.8@tcp");
const NetId kFar = make_net(NetType::kO2ib, 7);
const NetId kFarther = make_net(NetType::kO2ib, 8);

class RoutesTest : public ::testing::Test {
 protected:
  using Nids = std::multiset<std::string>;

  Outcome<void> add(NetId net, const Nid& gateway, std::uint32_t priority = 0) {
    return node_.coordinator.add_route({.net = net, .gateway = gateway, .priority = priority});
  }
  Outcome<void> remove(NetId net, const Nid& gateway) {
    return node_.coordinator.delete_route(net, gateway);
  }
  // Moves a NID from one node to the other; both report it.
  void hand_over(RawPeer& one, RawPeer& other, const Nid& moved) {
    network_.own(moved, &other);
    one.say({kGateway});
    other.say({kThird, moved});
    other.push(moved, kOther);
    settle();
  }
  void settle() { run(network_, {&node_}, std::chrono::seconds(1)); }
  const RouteView& view() { return node_.coordinator.routes().view(); }
  // The NIDs with which the routes to a net were configured.
  Nids gateways(NetId net) {
    Nids nids;
    if (const RemoteNet* const remote = view().net(net)) {
      for (const Route* const route : remote->routes)
        nids.insert(text_of(route->spec.gateway));
    }
    return nids;
  }
  PeerRecord& record(const Nid& of) { return record_of(*node_.peer(of)); }
  Result<void> discover(const Nid& of) {
    TestDiscover request;
    request.nid = of;
    node_.coordinator.discover(request, true);
    settle();
    return request.result;
  }

  FakeNetwork network_;
  TestNode node_{network_, {kOurs, kOther}};
};

TEST_F(RoutesTest, ARouteMakesItsGatewayAPeerThatStays) {
  ASSERT_TRUE(add(kFar, kGateway));
  ASSERT_NE(node_.peer(kGateway), nullptr);
  EXPECT_FALSE(node_.peer(kGateway)->multi_rail()) << "until it is discovered";
  EXPECT_TRUE(view().is_gateway(*node_.peer(kGateway)));
  EXPECT_EQ(record(kGateway).gateway_refs, 1U);
  EXPECT_EQ(node_.coordinator.delete_peer(kGateway, Nid::any()).error(), PeerError::kBusy);
  ASSERT_TRUE(add(kFarther, kGateway));
  EXPECT_EQ(record(kGateway).gateway_refs, 2U);
}

TEST_F(RoutesTest, ADeletedRouteIsInvisibleAndItsGatewayFree) {
  ASSERT_TRUE(add(kFar, kGateway));
  settle();
  ASSERT_TRUE(remove(kFar, kGateway));
  EXPECT_TRUE(view().empty());
  EXPECT_EQ(record(kGateway).gateway_refs, 0U);
  settle();
  EXPECT_TRUE(node_.coordinator.delete_peer(kGateway, Nid::any()));
  EXPECT_EQ(add(kFar, kGateway).error().code, Errc::kAgain) << "its record is being removed";
  settle();
  EXPECT_TRUE(add(kFar, kGateway)) << "as if it had never been there";
}

TEST_F(RoutesTest, InvalidRoutesGetTheErrnoOfTheKernel) {
  ASSERT_TRUE(add(kFar, kGateway));
  EXPECT_EQ(errno_of(add(kFar, kGateway, 3).error().code), EEXIST);
  EXPECT_EQ(errno_of(add(kOther.net(), kGateway).error().code), EEXIST);
  EXPECT_EQ(errno_of(add(kFar, Nid::any()).error().code), EINVAL);
  EXPECT_EQ(errno_of(add(kFar, nid("10.2.0.9@tcp2")).error().code), EHOSTUNREACH);
  EXPECT_EQ(errno_of(add(kGateway.net(), kGateway).error().code), EINVAL);
  EXPECT_EQ(errno_of(remove(kFar, kGatewayToo).error().code), ENOENT);
  EXPECT_EQ(errno_of(remove(kFarther, kGateway).error().code), ENOENT);
  EXPECT_EQ(gateways(kFar), Nids{text_of(kGateway)});
}

TEST_F(RoutesTest, TwoGatewaysThatTurnOutToBeOneNodeLeaveTheBetterRoute) {
  RawPeer far(network_, {kGateway, kGatewayToo});
  ASSERT_TRUE(add(kFar, kGateway, 5));
  ASSERT_TRUE(add(kFar, kGatewayToo, 1));
  ASSERT_TRUE(add(kFarther, kGatewayToo));
  ASSERT_TRUE(discover(kGateway));
  ASSERT_EQ(node_.peer(kGateway), node_.peer(kGatewayToo));
  EXPECT_EQ(gateways(kFar).size(), 1U);
  EXPECT_EQ(gateways(kFarther), Nids{text_of(kGatewayToo)});
  for (const RemoteNet& net : view().nets()) {
    for (const Route* const route : net.routes)
      EXPECT_EQ(route->gateway.load(), node_.peer(kGateway));
  }
  EXPECT_EQ(record(kGateway).gateway_refs, 2U);
}

// The NID that moves has no route, so routes through either node remain.
TEST_F(RoutesTest, AGatewayThatLosesANidToAnotherKeepsTheRoutesByThoseThatItHas) {
  RawPeer one(network_, {kGateway, kGatewayToo});
  RawPeer other(network_, {kThird});
  ASSERT_TRUE(add(kFar, kGateway));
  ASSERT_TRUE(add(kFar, kThird));
  ASSERT_TRUE(discover(kGateway));
  ASSERT_TRUE(discover(kThird));
  hand_over(one, other, kGatewayToo);
  ASSERT_EQ(node_.peer(kGatewayToo), node_.peer(kThird));
  EXPECT_EQ(gateways(kFar), (Nids{text_of(kGateway), text_of(kThird)}));
  EXPECT_EQ(record(kGateway).gateway_refs, 1U);
  EXPECT_EQ(record(kThird).gateway_refs, 1U);
  EXPECT_TRUE(view().is_gateway(*node_.peer(kGateway)));
}

TEST_F(RoutesTest, ARouteFollowsItsNidToAnotherNode) {
  RawPeer one(network_, {kGateway, kGatewayToo});
  RawPeer other(network_, {kThird});
  ASSERT_TRUE(add(kFar, kThird));
  ASSERT_TRUE(add(kFar, kGatewayToo, 1));
  ASSERT_TRUE(add(kFarther, kGatewayToo));
  ASSERT_TRUE(discover(kGateway));
  ASSERT_TRUE(discover(kThird));
  hand_over(one, other, kGatewayToo);
  EXPECT_EQ(gateways(kFar), Nids{text_of(kThird)}) << "one node, the better route";
  EXPECT_EQ(gateways(kFarther), Nids{text_of(kGatewayToo)});
  EXPECT_EQ(record(kGateway).gateway_refs, 0U);
  EXPECT_EQ(record(kThird).gateway_refs, 2U);
  EXPECT_FALSE(view().is_gateway(*node_.peer(kGateway)));
  ASSERT_TRUE(remove(kFar, kThird));
  settle();
  EXPECT_EQ(gateways(kFar), Nids{text_of(kGatewayToo)}) << "stood behind it";
  EXPECT_EQ(record(kThird).gateway_refs, 2U);
}

TEST_F(RoutesTest, ASecondRouteOfAGatewayReplacesARemovedOne) {
  RawPeer far(network_, {kGateway, kGatewayToo});
  ASSERT_TRUE(add(kFar, kGateway));
  ASSERT_TRUE(add(kFar, kGatewayToo));
  ASSERT_TRUE(discover(kGateway));
  ASSERT_EQ(gateways(kFar).size(), 1U);
  const Nid first = nid(*gateways(kFar).begin());
  const Nid second = first == kGateway ? kGatewayToo : kGateway;
  ASSERT_TRUE(remove(kFar, first));
  settle();
  EXPECT_EQ(gateways(kFar), Nids{text_of(second)});
  ASSERT_TRUE(remove(kFar, second));
  settle();
  EXPECT_TRUE(view().empty());
  EXPECT_EQ(record(kGateway).gateway_refs, 0U);
}

TEST_F(RoutesTest, AGatewayThatBeginsAnewKeepsItsRoutesAllTheTime) {
  RawPeer far(network_, {kGateway});
  ASSERT_TRUE(add(kFar, kGateway));
  ASSERT_TRUE(discover(kGateway));
  const Peer* const before = node_.peer(kGateway);
  far.say({kGateway}, kPingNiStatus | kPingMultiRail);  // discovery is off there now
  const int lost = node_.hops_lost;
  ASSERT_TRUE(discover(kGateway));
  EXPECT_EQ(node_.count(DiscoveryTable::Id::kDiscoveryLost), 1U);
  EXPECT_EQ(node_.hops_lost, lost);
  EXPECT_EQ(node_.peer(kGateway), before);
  EXPECT_EQ(node_.releases, 0) << "with its connections";
  EXPECT_EQ(gateways(kFar), Nids{text_of(kGateway)});
  EXPECT_EQ(record(kGateway).gateway_refs, 1U);
  EXPECT_TRUE(view().is_gateway(*node_.peer(kGateway)));
}

TEST_F(RoutesTest, ANetworkThatGoesTakesTheRoutesByItsGatewaysAlong) {
  ASSERT_TRUE(add(kFar, kGateway));
  ASSERT_TRUE(add(kFar, kGatewayToo));
  node_.remove(kOther);
  settle();
  EXPECT_EQ(gateways(kFar), Nids{text_of(kGateway)});
  EXPECT_EQ(node_.peer(kGatewayToo), nullptr);
}

TEST_F(RoutesTest, ShutDownLeavesNoRoute) {
  ASSERT_TRUE(add(kFar, kGateway));
  node_.coordinator.shut_down();
  settle();
  EXPECT_TRUE(view().empty());
  EXPECT_EQ(errno_of(add(kFar, kGateway).error().code), ESHUTDOWN);
}

// The routes match the configuration while gateways are merged and forgotten; the reference count
// of each gateway node equals its routes.
TEST_F(RoutesTest, RoutesMatchASlowModelUnderAllChangesOfGateways) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    FakeNetwork network(seed);
    TestNode node(network, {kOurs, kOther});
    Random random(seed * 77);
    std::vector<std::unique_ptr<RawPeer>> machines;
    std::vector<Nid> nids;
    for (int i = 0; i < 4; ++i) {
      const Nid one = nid("10.0.0." + std::to_string(20 + i) + "@tcp");
      const Nid two = nid("10.1.0." + std::to_string(20 + i) + "@tcp1");
      machines.push_back(std::make_unique<RawPeer>(network, std::vector{one, two}));
      nids.insert(nids.end(), {one, two});
    }
    const std::vector<NetId> nets{kFar, kFarther};
    std::set<std::pair<NetId, std::size_t>> model;  // net, and index of the NID
    for (int turn = 0; turn < 120; ++turn) {
      const NetId net = nets[random.below(nets.size())];
      const std::size_t which = random.below(nids.size());
      switch (random.below(4)) {
        case 0:
        case 1: {
          if (model.contains({net, which})) break;
          if (node.coordinator.add_route({.net = net, .gateway = nids[which]})) {
            model.insert({net, which});
          }
          break;
        }
        case 2:
          if (model.erase({net, which}) > 0) {
            ASSERT_TRUE(node.coordinator.delete_route(net, nids[which])) << seed;
          }
          break;
        default: {
          TestDiscover request;
          request.nid = nids[which];
          node.coordinator.discover(request, true);
          run(network, {&node}, std::chrono::seconds(1));
        }
      }
      run(network, {&node}, std::chrono::seconds(1));
      // One route for each net and node, by one of the configured NIDs.
      std::map<std::pair<NetId, const Peer*>, std::set<std::size_t>> expected;
      for (const auto& [to, number] : model)
        expected[{to, node.peer(nids[number])}].insert(number);
      std::map<const Peer*, std::uint32_t> references;
      std::size_t routes = 0;
      for (const RemoteNet& remote : node.coordinator.routes().view().nets()) {
        for (const Route* const route : remote.routes) {
          const Peer* const gateway = route->gateway.load();
          ASSERT_EQ(gateway, node.peer(route->spec.gateway)) << seed;
          const auto found = expected.find({remote.id, gateway});
          ASSERT_NE(found, expected.end()) << seed << " turn " << turn;
          const auto at = std::ranges::find(nids, route->spec.gateway) - nids.begin();
          EXPECT_TRUE(found->second.contains(static_cast<std::size_t>(at))) << seed;
          ++references[gateway];
          ++routes;
        }
      }
      ASSERT_EQ(routes, expected.size()) << seed << " turn " << turn;
      for (const Nid& each : nids) {
        if (Peer* const peer = node.peer(each)) {
          ASSERT_EQ(record_of(*peer).gateway_refs, references[peer]) << seed;
        }
      }
    }
  }
}

}  // namespace
}  // namespace plnet::lnet::routes_test
