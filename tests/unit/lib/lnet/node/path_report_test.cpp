// SPDX-License-Identifier: BSD-3-Clause
#include "lib/lnet/node/path_report.hpp"

#include <algorithm>
#include <array>

#include <gtest/gtest.h>

#include "lib/lnet/control/selection_policies.hpp"
#include "lib/lnet/move/shard_core.hpp"
#include "lib/lnet/names/nid_text.hpp"
#include "tests/unit/lib/lnet/paths/path_site.hpp"

namespace plnet::lnet::path_report_test {
namespace {

struct PathReportOf : testing::Test {
  PathSite site;

  PathReport report(const Nid& source, const Nid& destination, PeerNi* known) {
    return report_path({source, destination}, known,
                       {.local = site.local,
                        .routes = site.routes,
                        .sequences = site.sequences,
                        .parameters = site.parameters,
                        .shards = 8});
  }
  static bool has(const PathReport& report, const char* kind, const std::string& name,
                  std::string_view why) {
    return std::ranges::any_of(report.alternatives, [&](const PathAlternative& other) {
      return other.kind == kind && other.name == name && other.why == why;
    });
  }
};

TEST_F(PathReportOf, NamesTheNextHopAndTheRejectedNi) {
  site.add_net(kTcp0, 2);
  SitePeer& peer = site.add_peer(true, {{kTcp0, 1}});
  peer.ni().home = 5;
  peer.ni().cpt = 2;
  peer.ni().tx_credits_max.set(8);
  site.ni(0).health.set(900);
  const PathReport told = report(Nid::any(), peer.ni().nid, &peer.ni());
  ASSERT_TRUE(told.step.has_value());
  EXPECT_FALSE(told.forwarded);
  EXPECT_EQ(told.step->ni, site.ni(1).nid);
  EXPECT_EQ(told.step->next_hop, peer.ni().nid);
  ASSERT_TRUE(told.step->place.has_value());
  EXPECT_EQ(told.step->place->shard, 5);
  EXPECT_EQ(told.step->place->lane_shard, 5);
  EXPECT_EQ(told.step->place->tx_credits, 8);
  EXPECT_TRUE(has(told, "NI", text_of(site.ni(0).nid), text_of(Criterion::kHealth)));
}

// The home of the next hop serves neither NI: its connections are on a shard that does.
TEST_F(PathReportOf, TheShardThatHasTheConnectionsDependsOnTheNi) {
  site.add_net(kTcp0, 2);
  site.ni(0).shards = ShardSet{}.set(2);
  site.ni(1).shards = ShardSet{}.set(6);
  SitePeer& peer = site.add_peer(true, {{kTcp0, 1}});
  peer.ni().home = 3;
  peer.ni().cpt = 1;
  const std::array<ShardId, 2> lanes{2, 6};
  for (std::size_t i = 0; i < lanes.size(); ++i) {
    const PathReport told = report(site.ni(i).nid, peer.ni().nid, &peer.ni());
    ASSERT_TRUE(told.step.has_value() && told.step->place.has_value());
    EXPECT_EQ(told.step->ni, site.ni(i).nid);
    EXPECT_EQ(told.step->place->cpt, 1);
    EXPECT_EQ(told.step->place->shard, 3);
    EXPECT_EQ(told.step->place->lane_shard, lanes[i]);
  }
}

TEST_F(PathReportOf, ANidOfOursAsSourceIsTaken) {
  site.add_net(kTcp0, 2);
  SitePeer& peer = site.add_peer(true, {{kTcp0, 1}});
  const PathReport told = report(site.ni(1).nid, peer.ni().nid, &peer.ni());
  ASSERT_TRUE(told.step.has_value());
  EXPECT_EQ(told.step->ni, site.ni(1).nid);
  EXPECT_TRUE(told.alternatives.empty());
}

TEST_F(PathReportOf, MessagesOfOtherNodesAreForwardedByARoute) {
  site.add_net(kTcp0, 1);
  SitePeer& down = site.add_peer(true, {{kTcp0, 1}});
  SitePeer& up = site.add_peer(true, {{kTcp0, 1}});
  site.add_route(kIb0, down).alive.set(false);
  site.add_route(kIb0, up);
  const Nid far = nid_on(kIb0, 77);
  const PathReport told = report(nid_on(kTcp0, 99), far, nullptr);
  EXPECT_TRUE(told.forwarded);
  EXPECT_FALSE(told.known);
  EXPECT_FALSE(told.routing);
  ASSERT_TRUE(told.step.has_value());
  EXPECT_EQ(told.step->next_hop, up.ni().nid);
  EXPECT_EQ(told.step->destination, far);
  ASSERT_TRUE(told.step->route.has_value());
  EXPECT_TRUE(
      has(told, "route", "o2ib by " + text_of(down.ni().nid), text_of(Exclusion::kRouteDown)));
}

TEST_F(PathReportOf, ContainsTheCauseOfADownRoute) {
  site.add_net(kTcp0, 1);
  Route& silent = site.add_route(kIb0, site.add_peer(true, {{kTcp0, 1}}));
  Route& flapping = site.add_route(kIb0, site.add_peer(true, {{kTcp0, 1}}));
  Route& muted = site.add_route(kIb0, site.add_peer(true, {{kTcp0, 1}}));
  site.add_route(kIb0, site.add_peer(true, {{kTcp0, 1}}));
  for (Route* const route : {&silent, &flapping, &muted})
    route->alive.set(false);
  silent.told_up = flapping.told_up = false;
  silent.told_cause = RouteCause::kPingTimedOut;
  flapping.told_cause = RouteCause::kHeldBack;
  for (int i = 0; i < 3; ++i) {
    flapping.flaps.recover();
    (void)flapping.flaps.fail(Instant{});
  }
  muted.told_cause = RouteCause::kAnswered;  // not judged since
  const auto told = [&](const RouteTroubles& troubles) {
    return report_path({Nid::any(), nid_on(kIb0, 77)}, nullptr,
                       {.local = site.local,
                        .routes = site.routes,
                        .sequences = site.sequences,
                        .parameters = site.parameters,
                        .troubles = &troubles});
  };
  const auto name = [](const Route& route) { return "o2ib by " + text_of(route.spec.gateway); };
  RouteTroubles troubles = troubles_of(site.routes);
  const PathReport report = told(troubles);
  EXPECT_TRUE(has(report, "route", name(silent), "the route is down: ping timed out"));
  EXPECT_TRUE(has(report, "route", name(flapping),
                  "the route is down: flapped, must answer several checks in a row; checks to "
                  "answer: 3"));
  EXPECT_TRUE(has(report, "route", name(muted), "the route is down"));
  std::swap(troubles[silent.number], troubles[flapping.number]);
  EXPECT_TRUE(has(told(troubles), "route", name(silent), "the route is down"))
      << "its number belonged to another peer at the request";
  EXPECT_TRUE(has(told({}), "route", name(silent), "the route is down"));
}

TEST_F(PathReportOf, TheGatewayOfAClientChoosesUnlessTheClientIsAPeer) {
  site.add_net(kTcp0, 1);
  SitePeer& down = site.add_peer(true, {{kTcp0, 1}});
  SitePeer& up = site.add_peer(true, {{kTcp0, 1}});
  Route& first = site.add_route(kIb0, down);
  Route& second = site.add_route(kIb0, up);
  first.alive.set(false);
  const Nid client = nid_on(kIb0, 77);
  EXPECT_EQ(bringer_of(client, nullptr, site.routes), &up.ni());
  second.alive.set(false);
  EXPECT_EQ(bringer_of(client, nullptr, site.routes), &down.ni()) << "none is up";
  EXPECT_EQ(bringer_of(client, &up.ni(), site.routes), &up.ni());
  EXPECT_EQ(bringer_of(nid_on(kTcp0, 99), nullptr, site.routes), nullptr);
}

TEST_F(PathReportOf, ContainsAccessRulesAndLostNextHopsOfForwardedMessages) {
  site.add_net(kTcp0, 1);
  SitePeer& peer = site.add_peer(true, {{kTcp0, 1}});
  Qsbr qsbr{1, 1};
  AccessTable table(qsbr);
  const AccessRule allow{.action = AccessAction::kAllow, .to = kIb0};
  const AccessRule deny{.use = AccessUse::kForward, .from = kTcp0};
  table.set({{allow, deny}});
  const auto told = [&](const Nid& source, const Nid& destination) {
    return report_path({source, destination}, &peer.ni(),
                       {.local = site.local,
                        .routes = site.routes,
                        .sequences = site.sequences,
                        .parameters = site.parameters,
                        .access = table.view()});
  };
  const auto denied = told(nid_on(kTcp0, 99), peer.ni().nid).denied;
  ASSERT_EQ(denied.size(), 1U);
  EXPECT_EQ(denied[0].rule, 1U);
  EXPECT_EQ(denied[0].from, kNetAny);
  EXPECT_TRUE(told(nid_on(kTcp0, 99), nid_on(kIb0, 9)).denied.empty()) << "allowed";
  EXPECT_TRUE(told(nid_on(kIb0, 9), peer.ni().nid).denied.empty()) << "nothing leads back there";
  EXPECT_TRUE(told(nid_on(kTcp0, 99), site.ni(0).nid).denied.empty()) << "is for us";
  EXPECT_TRUE(told(site.ni(0).nid, peer.ni().nid).denied.empty()) << "is ours";
  EXPECT_EQ(table.list()[1].matched, 0U) << "to ask counts for nothing";

  EXPECT_FALSE(told(nid_on(kTcp0, 99), peer.ni().nid).step->hop_down);
  site.ni(0).tunables.peer_timeout_s = 180;
  peer.ni().status.set(kNiUp == 0 ? 1 : 0);
  EXPECT_TRUE(told(nid_on(kTcp0, 99), peer.ni().nid).step->hop_down);
}

// The requester waits for the answer at that NI.
TEST_F(PathReportOf, AnAnswerGoesToTheInterfaceThatAskedHoweverIll) {
  site.add_net(kTcp0, 1);
  SitePeer& client = site.add_peer(true, {{kTcp0, 2}});
  SitePeer& server = site.add_peer(true, {{kTcp0, 1}});
  PathViews views{.local = site.local,
                  .routes = site.routes,
                  .sequences = site.sequences,
                  .parameters = site.parameters,
                  .from = &server.ni(0)};
  const PathQuestion question{server.ni(0).nid, client.ni(0).nid};
  EXPECT_FALSE(report_path(question, &client.ni(0), views).of_answers);
  client.ni(0).health.set(10);
  const auto report = report_path(question, &client.ni(0), views);
  ASSERT_TRUE(report.step && report.of_answers);
  EXPECT_EQ(report.step->next_hop, client.ni(1).nid);
  EXPECT_EQ(report.of_answers->next_hop, client.ni(0).nid);
}

TEST_F(PathReportOf, AClientBehindGatewaysIsDeniedByTheNetworksThatLeadBackToIt) {
  site.add_net(kTcp0, 1);
  site.add_net(kTcp1, 1);
  SitePeer& peer = site.add_peer(true, {{kTcp0, 1}});
  SitePeer& here = site.add_peer(true, {{kTcp0, 1}});
  SitePeer& there = site.add_peer(true, {{kTcp1, 1}});
  Qsbr qsbr{1, 1};
  AccessTable table(qsbr);
  const AccessRule deny{.use = AccessUse::kForward, .from = kTcp0};
  table.set({{deny}});
  const auto denied = [&] {
    return report_path({nid_on(kIb0, 9), peer.ni().nid}, &peer.ni(),
                       {.local = site.local,
                        .routes = site.routes,
                        .sequences = site.sequences,
                        .parameters = site.parameters,
                        .access = table.view()})
        .denied;
  };
  EXPECT_TRUE(denied().empty());
  site.add_route(kIb0, there);
  EXPECT_TRUE(denied().empty()) << "it comes in by the other network";
  site.add_route(kIb0, here);
  ASSERT_EQ(denied().size(), 1U);
  EXPECT_EQ(denied()[0].from, kTcp0) << "by the other it may";
  const AccessRule deny_other{.use = AccessUse::kForward, .from = kTcp1};
  table.set({{deny, deny_other}});
  ASSERT_EQ(denied().size(), 2U);
  EXPECT_EQ(denied()[1].rule, 1U);
  const AccessRule deny_all{.use = AccessUse::kForward};
  table.set({{deny_all}});
  ASSERT_EQ(denied().size(), 1U);
  EXPECT_EQ(denied()[0].from, kNetAny) << "however it comes";
}

// Two NIs on one network, each near another CPT: the report names the NI that messages would use,
// from either CPT.
TEST_F(PathReportOf, TheNearerNiIsNamedAsMessagesTakeIt) {
  site.add_net(kTcp0, 2);
  SitePeer& peer = site.add_peer(true, {{kTcp0, 1}});
  const CptDistances distances(2, {10, 40, 40, 10});
  site.parameters.numa_range.set(0);
  site.ni(1).device_cpt = 1;
  for (const std::uint16_t cpt : std::to_array<std::uint16_t>({1, 0, 1, 0})) {
    const PathReport told = report_path({Nid::any(), peer.ni().nid}, &peer.ni(),
                                        {.local = site.local,
                                         .routes = site.routes,
                                         .sequences = site.sequences,
                                         .parameters = site.parameters,
                                         .shards = 8,
                                         .cpt = cpt,
                                         .distances = &distances});
    const auto taken = site.select({.destination = &peer.ni(),
                                    .memory_cpt = cpt,
                                    .distances = &distances,
                                    .device_priorities = {}});
    ASSERT_TRUE(told.step.has_value() && taken.has_value());
    EXPECT_EQ(told.step->ni, taken->ni->nid);
    EXPECT_EQ(told.step->ni, site.ni(cpt).nid);
    EXPECT_TRUE(has(told, "NI", text_of(site.ni(1U - cpt).nid), text_of(Criterion::kDistance)));
  }
}

TEST_F(PathReportOf, RejectedHeadersAreNotReachable) {
  site.add_net(kTcp0, 2);
  site.add_net(kTcp1, 1);
  SitePeer& server = site.add_peer(true, {{kTcp0, 1}});
  const auto told = [&](const Nid& source, const Nid& destination) {
    return report(source, destination, destination == server.ni().nid ? &server.ni() : nullptr);
  };
  EXPECT_FALSE(told(nid_on(kTcp1, 9), server.ni().nid).is_reachable()) << "no router";
  site.parameters.routing.set(1);
  const Nid client = nid_on(kTcp0, 99);
  const PathReport direct = told(client, server.ni().nid);
  EXPECT_FALSE(direct.is_reachable()) << "the client should send to it directly";
  ASSERT_EQ(direct.rejected.size(), 1U);
  EXPECT_EQ(direct.rejected[0].cause, Cause::kRejectedNotDirect);
  const PathReport other = told(client, site.ni(2).nid);
  EXPECT_FALSE(other.is_reachable()) << "a NID of ours on another network";
  ASSERT_EQ(other.rejected.size(), 1U);
  EXPECT_EQ(other.rejected[0].cause, Cause::kRejectedOtherNid);
  EXPECT_TRUE(told(client, site.ni(1).nid).is_reachable()) << "it sends to that NI";
  EXPECT_TRUE(told(nid_on(kTcp1, 9), server.ni().nid).is_reachable());
  EXPECT_TRUE(told(site.ni(0).nid, server.ni().nid).is_reachable()) << "of our own";
  EXPECT_TRUE(told(nid_on(kIb0, 9), server.ni().nid).is_reachable()) << "for any cause";

  SitePeer& near = site.add_peer(true, {{kTcp0, 1}});
  SitePeer& far = site.add_peer(true, {{kTcp1, 1}});
  site.add_route(kIb0, near);
  site.add_route(kIb0, far);
  const PathReport either = told(nid_on(kIb0, 9), server.ni().nid);
  EXPECT_TRUE(either.is_reachable()) << "by the other network";
  ASSERT_EQ(either.rejected.size(), 1U);
  EXPECT_EQ(either.rejected[0].from, kTcp0);
}

TEST_F(PathReportOf, ContainsAStalledNextHop) {
  site.add_net(kTcp0, 1);
  SitePeer& peer = site.add_peer(true, {{kTcp0, 1}});
  PeerPorts ports(16, 16, 16, 16);
  const auto told = [&] {
    return report_path({nid_on(kIb0, 9), peer.ni().nid}, &peer.ni(),
                       {.local = site.local,
                        .routes = site.routes,
                        .sequences = site.sequences,
                        .parameters = site.parameters,
                        .peers = &ports});
  };
  EXPECT_FALSE(told().step->hop_stalled) << "nothing was forwarded there";
  PeerPort* const port = ports.get(peer.ni());
  ASSERT_NE(port, nullptr);
  EXPECT_FALSE(told().step->hop_stalled);
  port->hop.stalled = true;
  EXPECT_TRUE(told().step->hop_stalled);
}

TEST_F(PathReportOf, AStrangerOnOurNetHasNoPlaceYet) {
  site.add_net(kTcp0, 1);
  const PathReport told = report(Nid::any(), nid_on(kTcp0, 99), nullptr);
  ASSERT_TRUE(told.step.has_value());
  EXPECT_EQ(told.step->next_hop, nid_on(kTcp0, 99));
  EXPECT_FALSE(told.step->place.has_value());
}

TEST_F(PathReportOf, AnUnknownPeerHasItsFuturePolicies) {
  site.add_net(kTcp0, 2);
  SitePeer& near = site.add_peer(true, {{kTcp0, 1}});
  SitePeer& preferred = site.add_peer(true, {{kTcp0, 1}});
  site.add_route(kIb0, near);
  site.add_route(kIb0, preferred, 1);
  const auto told = [&](const Nid& destination, const PeerWelcome* welcome) {
    return report_path({Nid::any(), destination}, nullptr,
                       {.local = site.local,
                        .routes = site.routes,
                        .sequences = site.sequences,
                        .parameters = site.parameters,
                        .welcome = welcome});
  };
  const PeerWelcome welcome{.preferences = Preferences({site.ni(1).nid}, {preferred.view.primary})};
  const Nid direct = nid_on(kTcp0, 99);
  const Nid far = nid_on(kIb0, 99);
  EXPECT_EQ(told(direct, nullptr).step->ni, site.ni(0).nid);
  EXPECT_EQ(told(direct, &welcome).step->ni, site.ni(1).nid);
  EXPECT_EQ(told(far, nullptr).step->next_hop, near.ni().nid);
  EXPECT_EQ(told(far, &welcome).step->next_hop, preferred.ni().nid);
  EXPECT_TRUE(has(told(far, &welcome), "route", "o2ib by " + text_of(near.ni().nid),
                  text_of(Criterion::kPreferred)));
}

TEST_F(PathReportOf, UnreachableNodesAndThisNode) {
  site.add_net(kTcp0, 1);
  const PathReport none = report(Nid::any(), nid_on(kIb0, 1), nullptr);
  EXPECT_EQ(none.step.error(), Errc::kNoRoute);
  EXPECT_TRUE(has(none, "network", "o2ib", text_of(Exclusion::kNoRoutes)));
  const PathReport ours = report(Nid::any(), site.ni(0).nid, nullptr);
  ASSERT_TRUE(ours.step.has_value());
  EXPECT_TRUE(ours.step->loopback);
}

}  // namespace
}  // namespace plnet::lnet::path_report_test
