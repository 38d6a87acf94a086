// SPDX-License-Identifier: BSD-3-Clause
#include "lib/lnet/paths/route_table.hpp"

#include <array>
#include <cerrno>
#include <set>
#include <vector>

#include <gtest/gtest.h>

#include "lib/lnet/paths/route_aliveness.hpp"
#include "tests/unit/lib/lnet/paths/path_site.hpp"

namespace plnet::lnet::route_table_test {
namespace {

class RouteTables : public testing::Test {
 protected:
  RouteTables() {
    site.add_net(kTcp0, 1);
    site.add_net(kTcp1, 1);
  }
  Result<Route*> add(NetId net, SitePeer& gateway, std::uint32_t hops = kRouteHopsUndefined) {
    return table.add({.net = net, .gateway = gateway.ni().nid, .hops = hops}, gateway.peer,
                     site.local, true);
  }
  SitePeer& gateway() { return site.add_peer(true, {{kTcp0, 1}}); }

  PathSite site;
  RouteTable table{Random(7)};
};

TEST_F(RouteTables, refuses_what_the_kernel_refuses_with_its_errno) {
  const Nid good = nid_on(kTcp0, 9);
  struct Case {
    RouteSetup spec;
    int number;
  };
  const std::vector<Case> cases = {
      {{.net = kIb0, .gateway = Nid::any()}, EINVAL},
      {{.net = kIb0, .gateway = site.local.loopback->nid}, EINVAL},
      {{.net = kNetAny, .gateway = good}, EINVAL},
      {{.net = make_net(NetType::kLoopback), .gateway = good}, EINVAL},
      {{.net = make_net(NetType::kLoopback, 3), .gateway = good}, EINVAL},
      {{.net = kTcp0, .gateway = good}, EINVAL},  // rather than EEXIST
      {{.net = kIb0, .gateway = good, .hops = 0}, EINVAL},
      {{.net = kIb0, .gateway = good, .hops = 256}, EINVAL},
      {{.net = kTcp1, .gateway = good}, EEXIST},
      {{.net = kIb0, .gateway = nid_on(kIb1, 9)}, EHOSTUNREACH},
  };
  for (const Case& given : cases) {
    const auto checked = RouteTable::check(given.spec, site.local);
    ASSERT_FALSE(checked);
    EXPECT_EQ(errno_of(checked.error()), given.number);
    SitePeer& peer = gateway();
    EXPECT_FALSE(table.add(given.spec, peer.peer, site.local, true));
  }
  EXPECT_TRUE(RouteTable::check({.net = kIb0, .gateway = good}, site.local));
  EXPECT_TRUE(RouteTable::check({.net = kIb0, .gateway = good, .hops = 255}, site.local));
  EXPECT_TRUE(table.routes().empty());
}

TEST_F(RouteTables, one_route_for_each_net_and_gateway) {
  SitePeer& first = gateway();
  ASSERT_TRUE(add(kIb0, first));
  EXPECT_TRUE(add(kIb1, first));
  EXPECT_TRUE(add(kIb0, gateway()));
  EXPECT_EQ(add(kIb0, first, 3).error(), Errc::kExists);
  EXPECT_EQ(table.routes().size(), 3U);
}

TEST_F(RouteTables, a_route_starts_as_told_and_counts_undefined_hops_as_one) {
  SitePeer& peer = gateway();
  const auto route =
      table.add({.net = kIb0, .gateway = peer.ni().nid}, peer.peer, site.local, false);
  ASSERT_TRUE(route);
  EXPECT_FALSE((*route)->alive.get());
  EXPECT_EQ((*route)->hops_counted(), 1U);
  EXPECT_EQ((*route)->local_net(), kTcp0);
  EXPECT_EQ((*add(kIb1, peer, 4))->hops_counted(), 4U);
}

TEST_F(RouteTables, a_view_has_the_routes_net_by_net) {
  SitePeer& one = gateway();
  SitePeer& two = gateway();
  SitePeer& none = gateway();
  Route* const a = *add(kIb1, one);
  Route* const b = *add(kIb0, one);
  Route* const c = *add(kIb1, two);
  const RouteView moved = table.view();
  ASSERT_EQ(moved.nets().size(), 2U);
  ASSERT_NE(moved.net(kIb0), nullptr);
  EXPECT_EQ(moved.net(kIb0)->routes[0], b);
  ASSERT_EQ(moved.net(kIb1)->routes.size(), 2U);
  EXPECT_EQ(std::set<Route*>(moved.net(kIb1)->routes.begin(), moved.net(kIb1)->routes.end()),
            (std::set<Route*>{a, c}));
  EXPECT_EQ(moved.net(kKfi0), nullptr);
  EXPECT_TRUE(moved.is_gateway(one.peer));
  EXPECT_TRUE(moved.is_gateway(two.peer));
  EXPECT_FALSE(moved.is_gateway(none.peer));
  EXPECT_TRUE(RouteView().empty());
  EXPECT_FALSE(RouteView().is_gateway(one.peer));
}

TEST_F(RouteTables, a_view_finds_each_of_many_nets_and_no_other) {
  constexpr std::uint16_t kMany = 300;
  SitePeer& one = gateway();
  for (std::uint16_t number = 100; number < 100 + kMany; ++number)
    ASSERT_TRUE(add(make_net(NetType::kTcp, number), one));
  const RouteView view = table.view();
  EXPECT_EQ(view.nets().size(), kMany);
  for (std::uint16_t number = 0; number < 100 + 2 * kMany; ++number) {
    const NetId id = make_net(NetType::kTcp, number);
    const RemoteNet* const net = view.net(id);
    ASSERT_EQ(net != nullptr, number >= 100 && number < 100 + kMany) << number;
    EXPECT_TRUE(net == nullptr || net->id == id);
  }
  EXPECT_EQ(RouteView().net(kIb0), nullptr);
}

TEST_F(RouteTables, clients_come_to_prefer_different_routers) {
  SitePeer& one = gateway();
  SitePeer& two = gateway();
  SitePeer& three = gateway();
  std::set<const Peer*> firsts;
  std::set<const Peer*> lasts;
  for (std::uint64_t client = 0; client < 50; ++client) {
    RouteTable own{Random(client)};
    for (SitePeer* const peer : {&one, &two, &three})
      EXPECT_TRUE(own.add({.net = kIb0, .gateway = peer->ni().nid}, peer->peer, site.local, true));
    firsts.insert(own.routes().front()->gateway.load());
    lasts.insert(own.routes().back()->gateway.load());
  }
  EXPECT_EQ(firsts.size(), 3U);
  EXPECT_EQ(lasts.size(), 3U);
}

TEST_F(RouteTables, routes_are_removed_by_net_by_gateway_by_both_or_all) {
  SitePeer& one = gateway();
  SitePeer& two = gateway();
  const auto fill = [&] {
    (void)table.remove(kNetAny, nullptr);
    for (SitePeer* const peer : {&one, &two}) {
      ASSERT_TRUE(add(kIb0, *peer));
      ASSERT_TRUE(add(kIb1, *peer));
    }
  };
  fill();
  EXPECT_EQ(table.remove(kIb0, &one.peer)->size(), 1U);
  // no failure: another route to the net remains
  EXPECT_EQ(table.remove(kIb0, &one.peer)->size(), 0U);
  EXPECT_EQ(table.remove(kIb0, nullptr)->size(), 1U);
  EXPECT_EQ(table.remove(kIb0, nullptr).error(), Errc::kNotFound);
  fill();
  EXPECT_EQ(table.remove(kNetAny, &two.peer)->size(), 2U);
  EXPECT_EQ(table.remove(kNetAny, nullptr)->size(), 2U);
  EXPECT_EQ(table.remove(kNetAny, nullptr)->size(), 0U);
}

TEST_F(RouteTables, numbers_stay_dense) {
  SitePeer& one = gateway();
  SitePeer& two = gateway();
  ASSERT_EQ((*add(kIb0, one))->number, 0U);
  ASSERT_EQ((*add(kIb1, one))->number, 1U);
  ASSERT_EQ((*add(kIb0, two))->number, 2U);
  ASSERT_TRUE(table.remove(kIb1, nullptr));
  EXPECT_EQ((*add(kIb1, two))->number, 1U);
}

TEST_F(RouteTables, there_is_a_limit) {
  std::vector<SitePeer*> gateways;
  for (int i = 0; i < 3; ++i)
    gateways.push_back(&gateway());
  std::size_t added = 0;
  for (std::uint16_t net = 0; added < kRoutesMax; ++net) {
    for (SitePeer* const peer : gateways) {
      if (added == kRoutesMax) break;
      ASSERT_TRUE(add(make_net(NetType::kO2ib, net), *peer));
      ++added;
    }
  }
  EXPECT_EQ(add(kKfi0, *gateways[0]).error(), Errc::kNoSpace);
}

class RouteAliveness : public testing::Test {
 protected:
  RouteAliveness() {
    site.add_net(kTcp0, 1);
    gateway = &site.add_peer(true, {{kTcp0, 2}, {kIb0, 2}});
    route = &site.add_route(kIb0, *gateway);
    multi_hop = &site.add_route(kIb1, *gateway);
  }
  void lower(std::size_t ni) const { gateway->ni(ni).status.set(kNiDown); }

  PathSite site;
  SitePeer* gateway = nullptr;
  Route* route = nullptr;
  Route* multi_hop = nullptr;
};

TEST_F(RouteAliveness, needs_the_gateway_its_routing_and_one_ni_on_our_side) {
  EXPECT_TRUE(is_route_alive(*route, {}));
  EXPECT_FALSE(is_route_alive(*route, {.alive = false}));
  lower(0);
  EXPECT_TRUE(is_route_alive(*route, {}));
  lower(1);
  EXPECT_FALSE(is_route_alive(*route, {}));
  gateway->ni(0).status.set(kNiUp);
  EXPECT_TRUE(is_route_alive(*route, {}));
  gateway->peer.set_state(kPeerMultiRail);
  EXPECT_FALSE(is_route_alive(*route, {}));
}

TEST_F(RouteAliveness, a_single_hop_needs_one_ni_on_the_far_side) {
  lower(2);
  lower(3);
  EXPECT_TRUE(is_route_alive(*route, {}));
  route->single_hop.set(true);
  EXPECT_FALSE(is_route_alive(*route, {}));
  EXPECT_TRUE(is_route_alive(*route, {.avoid_asym_router_failure = false}));
  route->single_hop.set(false);
  route->spec.hops = 1;
  EXPECT_FALSE(is_route_alive(*route, {}));
  route->spec.hops = 2;
  EXPECT_TRUE(is_route_alive(*route, {}));
  // The gateway has no NI on the net.
  EXPECT_TRUE(is_route_alive(*multi_hop, {}));
  multi_hop->spec.hops = 1;
  EXPECT_FALSE(is_route_alive(*multi_hop, {}));
}

TEST_F(RouteAliveness, without_discovery_only_the_last_reply_counts) {
  lower(0);
  lower(1);
  gateway->peer.set_state(0);
  EXPECT_TRUE(is_route_alive(*route, {.discovery_disabled = true}));
  EXPECT_FALSE(is_route_alive(*route, {.alive = false, .discovery_disabled = true}));
  route->replied_alive.set(false);
  EXPECT_FALSE(is_route_alive(*route, {.discovery_disabled = true}));
}

TEST_F(RouteAliveness, a_reply_is_judged_as_the_kernel_does) {
  const auto judge = [&](const Route& of, bool routing, std::uint32_t status, bool avoid = true) {
    const std::array entries = {PingEntry{gateway->ni(0).nid, kNiUp},
                                PingEntry{gateway->ni(2).nid, status},
                                PingEntry{gateway->ni(3).nid, kNiDown}};
    std::vector<std::byte> bytes(ping_bytes(entries));
    EXPECT_TRUE(build_ping({.routing = routing, .interfaces = entries}, bytes));
    return judge_reply(of, *PingView::parse(bytes), avoid);
  };
  EXPECT_EQ(judge(*route, true, kNiUp), (ReplyVerdict{.alive = true, .single_hop = true}));
  EXPECT_EQ(judge(*route, true, kNiDown), (ReplyVerdict{.alive = false, .single_hop = true}));
  EXPECT_EQ(judge(*route, true, kNiDown, false), (ReplyVerdict{.alive = true, .single_hop = true}));
  EXPECT_EQ(judge(*multi_hop, true, kNiUp), (ReplyVerdict{.alive = true, .single_hop = false}));
  multi_hop->spec.hops = 1;
  EXPECT_EQ(judge(*multi_hop, true, kNiUp), (ReplyVerdict{.alive = false, .single_hop = false}));
  // A gateway that does not route, or that is down on our side, proves nothing about the far side.
  route->single_hop.set(true);
  EXPECT_EQ(judge(*route, false, kNiUp), (ReplyVerdict{.alive = false, .single_hop = true}));
  lower(0);
  lower(1);
  EXPECT_EQ(judge(*route, true, kNiUp), (ReplyVerdict{.alive = false, .single_hop = true}));
}

TEST_F(RouteAliveness, a_message_through_a_dead_gateway_revives_what_depends_on_it) {
  const auto die = [&] {
    gateway->peer.alive.set(false);
    for (Route* const each : {route, multi_hop})
      each->alive.set(false);
    for (std::size_t ni = 0; ni < 4; ++ni)
      lower(ni);
  };
  die();
  gateway->ni(0).status.set(kNiUp);
  revive_gateway(gateway->peer, site.routes, {.net = kIb0});
  EXPECT_TRUE(gateway->peer.alive.get());
  EXPECT_EQ(gateway->ni(1).status.get(), kNiDown) << "not on the net that it came from";
  EXPECT_EQ(gateway->ni(2).status.get(), kNiUp);
  EXPECT_EQ(gateway->ni(3).status.get(), kNiUp);
  EXPECT_TRUE(route->alive.get());
  EXPECT_TRUE(multi_hop->alive.get());

  die();  // on our side, too: one failure is not enough
  revive_gateway(gateway->peer, site.routes, {.net = kIb0});
  EXPECT_FALSE(route->alive.get());

  die();
  gateway->ni(0).status.set(kNiUp);
  route->held_back.set(true);
  revive_gateway(gateway->peer, site.routes, {.net = kIb0});
  EXPECT_FALSE(route->alive.get()) << "it flapped";
  EXPECT_TRUE(multi_hop->alive.get()) << "that one did not";
  route->held_back.set(false);

  die();
  revive_gateway(gateway->peer, site.routes, {.net = kIb0, .discovery_disabled = true});
  EXPECT_TRUE(route->alive.get());
  EXPECT_FALSE(multi_hop->alive.get()) << "no message arrived from there";
}

}  // namespace
}  // namespace plnet::lnet::route_table_test
