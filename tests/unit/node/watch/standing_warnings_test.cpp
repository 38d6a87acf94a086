// SPDX-License-Identifier: BSD-3-Clause
#include "node/watch/standing_warnings.hpp"

#include <string>

#include <gtest/gtest.h>

#include "lib/lnet/names/nid_text.hpp"

namespace plnet::node::standing_warnings_test {
namespace {

lnet::Nid nid_of(std::string_view text) {
  return lnet::parse_nid(text).value();
}

TEST(StandingWarnings, ADownInterfaceHasItsCause) {
  std::vector<lnet::NetReport> nets(1);
  EXPECT_TRUE(warnings_of_nis(nets).empty());
  nets[0].nis.push_back({.nid = nid_of("10.0.0.1@tcp")});
  EXPECT_TRUE(warnings_of_nis(nets).empty());
  nets[0].nis.push_back({.nid = nid_of("10.0.0.2@tcp"), .up = false, .down_cause = "no carrier"});
  const auto all = warnings_of_nis(nets);
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0]["what"], "10.0.0.2@tcp is down");
  EXPECT_EQ(all[0]["why"], "no carrier");
  nets[0].nis.resize(20, nets[0].nis.back());
  EXPECT_EQ(warnings_of_nis(nets).size(), 9U) << "a screen has an end";
}

TEST(StandingWarnings, RoutesThatAreDownAreCounted) {
  std::vector<lnet::RouteReport> routes(3);
  for (lnet::RouteReport& each : routes) {
    each.route = {.net = lnet::make_net(lnet::NetType::kO2ib), .gateway = nid_of("10.0.0.9@tcp")};
    each.up = true;
  }
  EXPECT_TRUE(warnings_of_routes(routes).empty());
  routes[1].up = false;
  routes[1].last_changes = {{.up = false, .cause = "it does not answer"}};
  const auto all = warnings_of_routes(routes);
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0]["what"], "1 of 3 routes is down");
  EXPECT_EQ(all[0]["why"], "to o2ib by 10.0.0.9@tcp: it does not answer");
  EXPECT_EQ(all[0]["fix"], "lnetctl route show -v 1; on 10.0.0.9@tcp: lnetctl status");
}

TEST(StandingWarnings, RoutingThatIsDrainedIsANote) {
  lnet::RoutingReport routing;
  EXPECT_TRUE(warnings_of_routing(routing).empty());
  routing.change = {.phase = "telling peers", .is_drain = true, .held = 7};
  const auto all = warnings_of_routing(routing);
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0]["severity"], "note");
  EXPECT_EQ(all[0]["why"], "telling peers; 7 forwarded messages are held");
}

TEST(StandingWarnings, LnetThatDoesNotRunAndAStuckPollerAreWarnings) {
  EXPECT_TRUE(warnings_of({}).empty());
  const auto down = warnings_of({.down = Error{Errc::kNetworkDown, "not configured"}});
  ASSERT_EQ(down.size(), 1U);
  EXPECT_EQ(down[0]["what"], "LNet does not run");
  const auto stuck = warnings_of({.answered = false});
  ASSERT_EQ(stuck.size(), 1U);
  EXPECT_EQ(stuck[0]["what"], "a poller does not answer");
}

}  // namespace
}  // namespace plnet::node::standing_warnings_test
