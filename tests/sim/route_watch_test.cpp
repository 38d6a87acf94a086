// SPDX-License-Identifier: BSD-3-Clause
// The checks of routes are only useful if they detect a wrong route.
#include <gtest/gtest.h>

#include "apps/lnet-sim/site/site.hpp"

namespace plnet::sim::route_watch_test {
namespace {

constexpr std::uint32_t kClient = 0;
constexpr std::uint32_t kRouter = 1;

// A client, two routers, a server, without further traffic.
SiteConfig quiet_site() {
  SiteConfig site;
  site.nodes = 4;
  site.nets.assign(2, {});
  site.groups = {{.name = "client", .nets = {0}, .talks_to = {2}},
                 {.name = "routers", .nodes = 2, .nets = {0, 1}, .router = true},
                 {.name = "server", .nets = {1}}};
  site.groups[0].routes = {{.net = 1, .via = 1, .hops = 1}};
  site.groups[2].routes = {{.net = 0, .via = 1, .hops = 1}};
  site.gateways = {.check_interval_s = 1, .ping_timeout_s = 6};
  site.traffic.operations = 0;
  return site;
}

TEST(RouteWatch, ARouteThatStaysUpWithoutItsGatewayIsNoticed) {
  SiteConfig plan = quiet_site();
  const Duration bound = RouteBounds(plan.gateways).gone();
  plan.faults.episodes = {{.mishaps = {Mishap::kCrash}}};
  plan.faults.outage = 2 * bound;
  plan.time = Duration{1};
  Site site(plan);
  site.start();
  site.run_for(std::chrono::seconds(1));
  for (const std::uint32_t node : {0U, 3U})  // nodes without routes learn nothing
    site.world().hosts[node]->node().parameters().alive_router_check_interval_s.set(0);
  site.begin_faults();
  site.run_for(bound - std::chrono::seconds(2));
  EXPECT_EQ(site.report().violation, "");
  site.run_for(std::chrono::seconds(6));
  EXPECT_NE(site.report().violation.find("is up"), std::string::npos) << site.report().violation;
}

// Down for a moment, long after the last event.
TEST(RouteWatch, ARouteThatGoesDownForNoReasonIsNoticed) {
  const SiteConfig plan = quiet_site();
  Site site(plan);
  site.start();
  site.begin_faults();
  site.run_for(RouteBounds(plan.gateways).up({}) + std::chrono::seconds(2));
  World& world = site.world();
  lnet::Coordinator& coordinator = world.hosts[kClient]->node().coordinator();
  const lnet::Nid gateway = world.layout.nid(0, 0, kRouter);
  coordinator.peers().find(gateway)->peer.load()->alive.set(false);
  coordinator.gateway_checks().look_again(0);
  world.hosts[kClient]->ring(0);
  site.run_for(std::chrono::milliseconds(1));
  EXPECT_EQ(site.report().violation, "") << "not looked at yet";
  site.run_for(std::chrono::seconds(1));
  EXPECT_NE(site.report().violation.find("is down"), std::string::npos) << site.report().violation;
}

}  // namespace
}  // namespace plnet::sim::route_watch_test
