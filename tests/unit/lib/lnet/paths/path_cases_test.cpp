// SPDX-License-Identifier: BSD-3-Clause
// The cases: source given or not, destination local or remote, multi-rail or not; allowed senders,
// and recorded choices.
#include <map>
#include <utility>

#include <gtest/gtest.h>

#include "tests/unit/lib/lnet/paths/path_site.hpp"

namespace plnet::lnet::path_cases_test {
namespace {

constexpr NetId kLoNet = make_net(NetType::kLoopback);

void expect_direct(const Result<Path>& path, const Ni& ni, const PeerNi& to) {
  ASSERT_TRUE(path);
  EXPECT_EQ(path->ni, &ni);
  EXPECT_EQ(path->next_hop, &to);
  EXPECT_EQ(path->destination, &to);
  EXPECT_EQ(path->route, nullptr);
  EXPECT_FALSE(path->via_router);
  EXPECT_FALSE(path->loopback);
  EXPECT_EQ(path->source_nid(), ni.nid);
  EXPECT_EQ(path->destination_nid(), to.nid);
  EXPECT_EQ(path->hop_pid(77), 77U);
}

void expect_routed(const Result<Path>& path, const Ni& ni, const PeerNi& gateway,
                   const PeerNi& to) {
  ASSERT_TRUE(path);
  EXPECT_EQ(path->ni, &ni);
  EXPECT_EQ(path->next_hop, &gateway);
  EXPECT_EQ(path->destination, &to);
  EXPECT_TRUE(path->via_router);
  EXPECT_EQ(path->source_nid(), ni.nid);
  EXPECT_EQ(path->destination_nid(), to.nid);
  EXPECT_EQ(path->hop_pid(77), kLustrePid);
}

// Two local nets with two NIs each, and two nets behind gateways.
class PathCases : public testing::Test {
 protected:
  PathCases() {
    site.add_net(kTcp0, 2);
    site.add_net(kTcp1, 2);
  }
  SitePeer& remote_peer(bool multi_rail) {
    gateway = &site.add_peer(true, {{kTcp0, 2}, {kTcp1, 2}});
    site.add_route(kIb0, *gateway);
    return site.add_peer(multi_rail, {{kIb0, 2}});
  }

  PathSite site;
  SitePeer* gateway = nullptr;
};

TEST_F(PathCases, loopback_needs_no_peer) {
  const auto path = site.select(PathRequest{});
  ASSERT_TRUE(path);
  EXPECT_TRUE(path->loopback);
  EXPECT_EQ(path->next_hop, nullptr);
  EXPECT_EQ(path->source_nid(), site.local.loopback->nid);
  EXPECT_EQ(path->destination_nid(), site.local.loopback->nid);
}

TEST_F(PathCases, a_message_to_ourselves_stays_here_once_we_are_known_as_0_at_lo) {
  SitePeer& self = site.add_peer(true, {{kLoNet, 1}, {kTcp0, 2}});
  EXPECT_TRUE(site.select(self.ni(1))->loopback);
  EXPECT_TRUE(site.select(self.ni(0))->loopback);
  // Not for a recovery ping of a local NI, nor with a given source.
  EXPECT_FALSE(site.select({.destination = &self.ni(1), .recovery = true})->loopback);
  expect_direct(site.select({.destination = &self.ni(1), .source = site.ni(1).nid}), site.ni(1),
                self.ni(1));

  SitePeer& unknown = site.add_peer(true, {{kTcp0, 2}});
  EXPECT_FALSE(site.select(unknown.ni())->loopback);
}

TEST_F(PathCases, without_a_network_of_ours_all_but_loopback_fails) {
  PathSite bare;
  SitePeer& peer = bare.add_peer(true, {{kTcp0, 1}});
  EXPECT_EQ(bare.select(peer.ni()).error(), Errc::kNetworkDown);
  EXPECT_TRUE(bare.select(PathRequest{})->loopback);
}

TEST_F(PathCases, a_source_that_is_not_ours_is_invalid) {
  SitePeer& peer = site.add_peer(true, {{kTcp0, 1}});
  const Nid stranger = nid_on(kTcp0, 1);
  EXPECT_EQ(site.select({.destination = &peer.ni(), .source = stranger}).error(), Errc::kInvalid);
  EXPECT_EQ(errno_of(Errc::kInvalid), EINVAL);
}

TEST_F(PathCases, a_given_source_goes_with_exactly_the_given_destination) {
  for (const bool multi_rail : {false, true}) {
    SitePeer& peer = site.add_peer(multi_rail, {{kTcp0, 2}});
    peer.ni(1).health.set(1);
    site.ni(1).fatal.set(true);
    for (int i = 0; i < 3; ++i)
      expect_direct(site.select({.destination = &peer.ni(1), .source = site.ni(1).nid}), site.ni(1),
                    peer.ni(1));
    EXPECT_EQ(peer.ni(1).preferred_ni.get(), multi_rail ? nullptr : &site.ni(1));
  }
}

TEST_F(PathCases, a_given_source_confines_the_gateway_to_its_net) {
  for (const bool multi_rail : {false, true}) {
    SitePeer& peer = remote_peer(multi_rail);
    gateway->ni(3).tx_credits.set(9);
    expect_routed(site.select({.destination = &peer.ni(1), .source = site.ni(2).nid}), site.ni(2),
                  gateway->ni(3), peer.ni(1));
    EXPECT_EQ(peer.ni(1).preferred_ni.get(), multi_rail ? nullptr : &site.ni(2));
  }
}

TEST_F(PathCases, a_given_source_on_another_net_of_ours_needs_a_route) {
  SitePeer& peer = site.add_peer(true, {{kTcp0, 1}});
  const auto path = site.select({.destination = &peer.ni(), .source = site.ni(2).nid});
  EXPECT_EQ(path.error(), Errc::kNoRoute);
  EXPECT_EQ(errno_of(Errc::kNoRoute), EHOSTUNREACH);
}

TEST_F(PathCases, a_peer_that_is_not_multi_rail_always_gets_the_same_source) {
  SitePeer& peer = site.add_peer(false, {{kTcp0, 1}, {kTcp1, 1}});
  const auto first = site.select(peer.ni());
  expect_direct(first, site.ni(0), peer.ni());
  EXPECT_TRUE(first->record_preference);
  site.ni(0).health.set(0);
  const auto second = site.select(peer.ni());
  expect_direct(second, site.ni(0), peer.ni());
  EXPECT_FALSE(second->record_preference);
  // Each of its NIDs has its own preference.
  expect_direct(site.select(peer.ni(1)), site.ni(2), peer.ni(1));
}

TEST_F(PathCases, portal_0_is_not_bound_to_the_preferred_source_but_sets_it) {
  SitePeer& peer = site.add_peer(false, {{kTcp0, 1}});
  const PathRequest ping{.destination = &peer.ni(), .reserved_portal = true};
  EXPECT_TRUE(site.select(ping)->record_preference);
  EXPECT_EQ(peer.ni().preferred_ni.get(), &site.ni(0));
  expect_direct(site.select(ping), site.ni(1), peer.ni());
  expect_direct(site.select(peer.ni()), site.ni(0), peer.ni());
}

TEST_F(PathCases, responses_and_forwarded_messages_set_no_preference) {
  SitePeer& peer = site.add_peer(false, {{kTcp0, 1}});
  EXPECT_TRUE(site.select({.destination = &peer.ni(), .source = site.ni(0).nid, .response = true}));
  EXPECT_TRUE(site.select({.destination = &peer.ni(), .response = true}));
  EXPECT_TRUE(site.select({.destination = &peer.ni(), .forwarded = true}));
  EXPECT_EQ(peer.ni().preferred_ni.get(), nullptr);

  PathSite small;
  small.add_net(kTcp0, 1);
  SitePeer& only = small.add_peer(false, {{kTcp0, 1}});
  EXPECT_TRUE(small.select({.destination = &only.ni(), .response = true}));
  EXPECT_TRUE(small.select({.destination = &only.ni(), .forwarded = true}));
  EXPECT_EQ(only.ni().preferred_ni.get(), nullptr);
  EXPECT_TRUE(small.select(only.ni())->record_preference);
  EXPECT_EQ(only.ni().preferred_ni.get(), &small.ni(0));
  EXPECT_FALSE(small.select(only.ni())->record_preference);
}

TEST_F(PathCases, a_preferred_source_that_is_gone_is_passed_over) {
  SitePeer& peer = site.add_peer(false, {{kTcp0, 1}});
  const Ni gone;
  peer.ni().preferred_ni.set(&gone);
  expect_direct(site.select(peer.ni()), site.ni(0), peer.ni());
  // A preferred NI on an unreachable net is replaced as well.
  peer.ni().preferred_ni.set(&site.ni(3));
  expect_direct(site.select(peer.ni()), site.ni(1), peer.ni());
  EXPECT_EQ(peer.ni().preferred_ni.get(), &site.ni(1));
  expect_direct(site.select(peer.ni()), site.ni(1), peer.ni());
}

// The kernel keeps both in one list, which a policy clears.
TEST_F(PathCases, a_policy_counts_for_more_than_the_source_that_was_recorded) {
  SitePeer& peer = site.add_peer(false, {{kTcp0, 1}});
  peer.ni().preferred_ni.set(&site.ni(0));
  site.prefer(peer.ni(), {site.ni(1).nid}, {});
  expect_direct(site.select(peer.ni()), site.ni(1), peer.ni());
  site.prefer(peer.ni(), {site.ni(3).nid}, {});
  expect_direct(site.select(peer.ni()), site.ni(0), peer.ni());  // it is on another net
  site.prefer(peer.ni(), {site.ni(0).nid, site.ni(1).nid}, {});
  site.ni(0).fatal.set(true);
  expect_direct(site.select(peer.ni()), site.ni(1), peer.ni());
  site.ni(1).fatal.set(true);
  expect_direct(site.select(peer.ni()), site.ni(0), peer.ni());  // there is no better one
}

TEST_F(PathCases, a_multi_rail_peer_is_reached_on_any_net_that_it_shares_with_us) {
  SitePeer& peer = site.add_peer(true, {{kIb0, 1}, {kTcp1, 2}});
  std::map<std::pair<Ni*, PeerNi*>, int> used;
  for (int i = 0; i < 4; ++i) {
    const auto path = site.select(peer.ni());
    ASSERT_TRUE(path);
    ++used[{path->ni, path->next_hop}];
    EXPECT_EQ(path->destination_nid(), path->next_hop->nid);
  }
  EXPECT_EQ((used[{&site.ni(2), &peer.ni(1)}]), 2);
  EXPECT_EQ((used[{&site.ni(3), &peer.ni(2)}]), 2);
}

TEST_F(PathCases, a_recovery_message_goes_to_exactly_its_nid) {
  SitePeer& peer = site.add_peer(true, {{kTcp0, 2}});
  peer.ni(1).health.set(0);
  for (int i = 0; i < 4; ++i) {
    const auto path =
        site.select({.destination = &peer.ni(1), .recovery = true, .reserved_portal = true});
    expect_direct(path, site.ni(i % 2 == 0 ? 0 : 1), peer.ni(1));
  }
  EXPECT_EQ(peer.ni(1).preferred_ni.get(), nullptr);
}

TEST_F(PathCases, a_response_without_a_source_still_goes_to_the_given_nid) {
  SitePeer& peer = site.add_peer(true, {{kTcp0, 2}});
  peer.ni(1).health.set(0);
  expect_direct(site.select({.destination = &peer.ni(1), .response = true}), site.ni(0),
                peer.ni(1));
}

TEST_F(PathCases, a_router_in_check_is_pinged_on_the_net_in_question) {
  SitePeer& router = site.add_peer(true, {{kTcp0, 1}, {kTcp1, 1}});
  router.ni(1).health.set(0);
  const auto path =
      site.select({.destination = &router.ni(), .reserved_portal = true, .check_net = kTcp1});
  expect_direct(path, site.ni(2), router.ni(1));
  // A net that is not local cannot be checked.
  expect_direct(site.select({.destination = &router.ni(), .check_net = kIb0}), site.ni(0),
                router.ni());
}

TEST_F(PathCases, the_last_router_keeps_the_nid_that_the_originator_chose) {
  SitePeer& peer = site.add_peer(true, {{kTcp0, 2}});
  const PathRequest request{.destination = &peer.ni(1), .forwarded = true, .accepts_any_nid = true};
  auto path = site.select(request);
  expect_direct(path, site.ni(0), peer.ni(1));
  EXPECT_TRUE(path->keeps_source);
  // But not to an NI that is down,
  peer.ni(1).status.set(kNiDown);
  path = site.select(request);
  expect_direct(path, site.ni(1), peer.ni(0));
  EXPECT_TRUE(path->keeps_source);
  // nor to one with less health.
  peer.ni(1).status.set(kNiUp);
  peer.ni(1).health.set(kHealthMax - 1);
  expect_direct(site.select(request), site.ni(0), peer.ni(0));
  // An old client could not identify the sender of the answer.
  expect_direct(site.select({.destination = &peer.ni(1), .forwarded = true}), site.ni(1),
                peer.ni(1));
  // A response has no alternative, nor has a peer that is not multi-rail.
  expect_direct(site.select({.destination = &peer.ni(1),
                             .forwarded = true,
                             .accepts_any_nid = true,
                             .response = true}),
                site.ni(0), peer.ni(1));
  peer.peer.set_state(0);
  expect_direct(site.select(request), site.ni(1), peer.ni(1));
}

TEST_F(PathCases, who_takes_an_answer_from_any_nid) {
  SitePeer& old_neighbour = site.add_peer(false, {{kTcp0, 1}});
  SitePeer& neighbour = site.add_peer(true, {{kTcp0, 1}});
  SitePeer& old = site.add_peer(false, {{kIb0, 1}});
  const auto takes = [&](const Nid& source, const PeerNi* known) {
    return accepts_any_nid(source, known, site.local);
  };
  EXPECT_FALSE(takes(old_neighbour.ni().nid, &old_neighbour.ni()));
  EXPECT_TRUE(takes(neighbour.ni().nid, &neighbour.ni()));
  EXPECT_FALSE(takes(nid_on(kTcp0, 77), nullptr)) << "it would have notified us";
  EXPECT_TRUE(takes(nid_on(kIb0, 77), nullptr)) << "it knows only its own routers";
  EXPECT_TRUE(takes(old.ni().nid, &old.ni()));
  old.peer.set_state(kPeerDiscovered);
  EXPECT_FALSE(takes(old.ni().nid, &old.ni()));
}

TEST_F(PathCases, a_router_on_the_way_goes_by_the_net_of_the_destination) {
  SitePeer& peer = remote_peer(true);
  SitePeer& far = site.add_peer(true, {{kIb1, 1}, {kIb0, 1}});
  const auto path = site.select({.destination = &far.ni(0), .forwarded = true});
  EXPECT_EQ(path.error(), Errc::kNoRoute);  // though its other NID is reachable
  expect_routed(site.select({.destination = &peer.ni(1), .forwarded = true}), site.ni(0),
                gateway->ni(0), peer.ni(1));
}

TEST(PathOfOthers, behind_one_gateway_there_is_one_way) {
  PathSite site;
  site.add_net(kTcp0, 1);
  site.add_net(kTcp1, 1);
  SitePeer& gateway = site.add_peer(true, {{kTcp1, 1}});
  SitePeer& peer = site.add_peer(true, {{kIb0, 1}});
  SitePeer& old = site.add_peer(false, {{kIb0, 1}});
  site.add_route(kIb0, gateway);
  const auto hop_of = [&](SitePeer& to) {
    return only_gateway(to.ni(), site.local, site.routes, site.sequences);
  };
  const auto forward_to = [&](SitePeer& to) {
    return site.select({.destination = &to.ni(), .forwarded = true});
  };
  expect_routed(forward_to(peer), site.ni(1), gateway.ni(), peer.ni());
  EXPECT_TRUE(forward_to(peer)->keeps_source);
  EXPECT_EQ(forward_to(peer)->route, site.route_list()[0].get());
  EXPECT_EQ(hop_of(peer).next_hop, &gateway.ni());
  EXPECT_EQ(hop_of(peer).ni, &site.ni(1));

  // A forwarded message does not have our source: it records none, and a recorded one does not
  // restrict it.
  EXPECT_EQ(hop_of(old).ni, &site.ni(1));
  expect_routed(forward_to(old), site.ni(1), gateway.ni(), old.ni());
  EXPECT_EQ(old.ni().preferred_ni.get(), nullptr);
  old.ni().preferred_ni.set(&site.ni(0));
  EXPECT_EQ(hop_of(old).ni, &site.ni(1));
  expect_routed(forward_to(old), site.ni(1), gateway.ni(), old.ni());

  site.route_list()[0]->alive.set(false);
  EXPECT_EQ(hop_of(peer).ni, nullptr);
  EXPECT_EQ(forward_to(peer).error(), Errc::kNoRoute);
  site.route_list()[0]->alive.set(true);
  // A gateway that is being deleted: its view is empty before other notifications arrive.
  const PeerView& full = gateway.peer.seen();
  const PeerView empty{.primary = full.primary, .nets = {}, .nis = {}};
  gateway.peer.view.store(&empty);
  EXPECT_EQ(hop_of(peer).ni, nullptr);
  EXPECT_EQ(forward_to(peer).error(), Errc::kNoRoute);
  gateway.peer.view.store(&full);
  EXPECT_EQ(hop_of(peer).next_hop, &gateway.ni());
  SitePeer& second = site.add_peer(true, {{kTcp0, 1}});
  site.add_route(kIb0, second);
  EXPECT_EQ(hop_of(peer).ni, nullptr) << "there is a choice";
}

TEST_F(PathCases, a_multi_rail_peer_behind_gateways_is_sent_to_on_all_its_nids) {
  SitePeer& peer = remote_peer(true);
  std::map<PeerNi*, int> destinations;
  std::map<PeerNi*, int> gateways;
  for (int i = 0; i < 8; ++i) {
    const auto path = site.select(peer.ni());
    ASSERT_TRUE(path);
    ++destinations[path->destination];
    ++gateways[path->next_hop];
    EXPECT_EQ(path->ni->net, path->next_hop->net);
  }
  EXPECT_EQ(destinations.size(), 2U);
  EXPECT_EQ(destinations[&peer.ni(0)], 4);
  EXPECT_EQ(gateways.size(), 4U);
  for (const auto& [ni, count] : gateways)
    EXPECT_EQ(count, 2);
}

TEST_F(PathCases, a_remote_peer_that_is_not_multi_rail_keeps_its_source_and_so_the_net) {
  SitePeer& peer = remote_peer(false);
  const auto first = site.select(peer.ni());
  ASSERT_TRUE(first);
  EXPECT_TRUE(first->record_preference);
  EXPECT_EQ(first->destination->preferred_ni.get(), first->ni);
  const Ni& ni = *first->ni;
  for (int i = 0; i < 5; ++i) {
    const auto path = site.select(*first->destination);
    ASSERT_TRUE(path);
    EXPECT_EQ(path->ni, &ni);
    EXPECT_EQ(path->next_hop->net, ni.net);
    EXPECT_EQ(path->destination, first->destination);
  }
}

TEST_F(PathCases, a_response_goes_back_through_the_router_that_brought_the_request) {
  SitePeer& peer = remote_peer(true);
  SitePeer& other = site.add_peer(true, {{kTcp0, 1}});
  site.add_route(kIb0, other);
  other.ni().health.set(1);
  for (auto& route : site.route_list())
    route->alive.set(false);  // it is not asked
  const PathRequest request{.destination = &peer.ni(1),
                            .source = site.ni(1).nid,
                            .router = &other.ni(),
                            .response = true};
  for (int i = 0; i < 3; ++i) {
    const auto path = site.select(request);
    expect_routed(path, site.ni(1), other.ni(), peer.ni(1));
    EXPECT_EQ(path->route, nullptr);
    EXPECT_FALSE(path->hint_missed);
  }
}

TEST_F(PathCases, a_hint_at_no_gateway_is_told_and_another_way_found) {
  SitePeer& peer = remote_peer(true);
  SitePeer& former = site.add_peer(true, {{kTcp0, 1}});
  PathRequest request{.destination = &peer.ni(1),
                      .source = site.ni(1).nid,
                      .router = &former.ni(),
                      .response = true};
  auto path = site.select(request);
  expect_routed(path, site.ni(1), gateway->ni(0), peer.ni(1));
  EXPECT_TRUE(path->hint_missed);
  // A gateway that is unreachable from the source's net does not help either.
  request.router = &gateway->ni(2);
  path = site.select(request);
  expect_routed(path, site.ni(1), gateway->ni(1), peer.ni(1));
  EXPECT_TRUE(path->hint_missed);
}

TEST_F(PathCases, routes_that_are_down_are_no_way) {
  SitePeer& peer = remote_peer(true);
  site.route_list()[0]->alive.set(false);
  EXPECT_EQ(site.select(peer.ni()).error(), Errc::kNoRoute);
  SitePeer& nowhere = site.add_peer(true, {{kKfi0, 1}});
  EXPECT_EQ(site.select(nowhere.ni()).error(), Errc::kNoRoute);
  nowhere.peer.set_state(0);
  EXPECT_EQ(site.select(nowhere.ni()).error(), Errc::kNoRoute);
}

TEST(PathRotation, what_goes_the_only_way_counts_for_those_who_can_choose) {
  PathSite site;
  site.add_net(kTcp0, 1);
  site.add_net(kTcp1, 1);
  SitePeer& simple = site.add_peer(true, {{kTcp0, 1}});
  SitePeer& rich = site.add_peer(true, {{kTcp0, 1}, {kTcp1, 1}});
  expect_direct(site.select(simple.ni()), site.ni(0), simple.ni());
  expect_direct(site.select(rich.ni()), site.ni(1), rich.ni(1));
}

TEST(PathRotation, equal_interfaces_and_routes_are_used_evenly) {
  PathSite site;
  site.add_net(kTcp0, 3);
  site.add_net(kTcp1, 2);
  SitePeer& near = site.add_peer(true, {{kTcp0, 4}, {kTcp1, 1}});
  SitePeer& far = site.add_peer(true, {{kIb0, 2}, {kIb1, 3}});
  for (int i = 0; i < 3; ++i) {
    SitePeer& gateway = site.add_peer(true, {{kTcp0, 1}});
    site.add_route(kIb0, gateway);
    site.add_route(kIb1, gateway);
  }
  std::map<const void*, int> used;
  for (int i = 0; i < 240; ++i) {
    for (SitePeer* const peer : {&near, &far}) {
      const auto path = site.select(peer->ni());
      ASSERT_TRUE(path);
      ++used[path->destination];
      ++used[path->route];
    }
  }
  for (std::size_t i = 0; i < 4; ++i)
    EXPECT_EQ(used[&near.ni(i)], 30);
  EXPECT_EQ(used[&near.ni(4)], 120);
  for (std::size_t i = 0; i < 2; ++i)
    EXPECT_EQ(used[&far.ni(i)], 60);
  for (std::size_t i = 2; i < 5; ++i)
    EXPECT_EQ(used[&far.ni(i)], 40);
  for (const auto& route : site.route_list())
    EXPECT_EQ(used[route.get()], 40);
}

}  // namespace
}  // namespace plnet::lnet::path_cases_test
