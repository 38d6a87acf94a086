// SPDX-License-Identifier: BSD-3-Clause
// Routers that are taken out of service under load: no message is lost by it. Routers that fail
// lose the messages that they hold, and the simulator detects that.
#include <gtest/gtest.h>

#include "apps/lnet-sim/site/site.hpp"
#include "tests/sim/site_file.hpp"

namespace plnet::sim::drained_site_test {
namespace {

SiteConfig site_of(const std::string& name) {
  return site_in(std::string(PLNET_SOURCE_ROOT) + "/config/sim/" + name + ".yaml");
}

TEST(DrainedSite, ADrainedRestartBesideASecondRouterLosesNothing) {
  DrainTally all;
  std::uint64_t not_routing = 0;
  for (const std::uint64_t seed : {3U, 6U}) {
    SiteConfig site = site_of("routed-drain").with_seed(seed);
    if (seed == 6)
      site.faults.outage = std::chrono::seconds(15);  // longer than peers need to notice
    const SiteReport report = run_site(site);
    ASSERT_EQ(report.violation, "")
        << "replay: lnet-sim run config/sim/routed-drain.yaml --seed " << seed;
    EXPECT_EQ(report.operations.failed + report.operations.silent, 0U);
    EXPECT_EQ(report.operations.delivered + report.operations.replies, report.operations.begun);
    all.begun += report.drains.begun;
    all.in_time += report.drains.in_time;
    all.restarts += report.drains.restarts;
    all.undrained += report.drains.undrained;
    all.called_off += report.drains.called_off;
    not_routing += report.routes_outlasted[static_cast<std::size_t>(RouteTruth::kNotRouting)];
  }
  EXPECT_GT(all.in_time, 5U);
  EXPECT_GT(all.restarts, 2U);
  EXPECT_GT(all.undrained, 0U);
  EXPECT_GT(all.called_off, 0U) << "in their midst";
  EXPECT_GT(not_routing, 0U) << "drained for longer than it takes to notice";
}

// Otherwise the site above would prove nothing.
TEST(DrainedSite, ACrashInsteadOfADrainLosesHeldMessages) {
  SiteConfig site = site_of("routed-drain");
  site.faults.drains = 0;
  site.faults.router_kills = 6;
  const SiteReport report = run_site(site);
  ASSERT_EQ(report.violation, "");
  EXPECT_GT(report.operations.failed, 0U);
}

// A next hop that stays unreachable for a router after the site is healed.
TEST(DrainedSite, ARouterThatDoesNotComeBackToANextHopIsNoticed) {
  SiteConfig plan;
  plan.nodes = 3;
  plan.nets.assign(2, {});
  plan.groups = {
      {.name = "client", .nets = {0}, .talks_to = {2}, .routes = {{.net = 1, .via = 1, .hops = 1}}},
      {.name = "router", .nets = {0, 1}, .router = true},
      {.name = "server", .nets = {1}, .routes = {{.net = 0, .via = 1, .hops = 1}}}};
  plan.traffic.operations = 10;
  for (const bool cut : {false, true}) {
    Site site(plan);
    site.start();
    site.run_for(std::chrono::seconds(1));
    World& world = site.world();
    if (cut) world.wires.network.block(world.hosts[1]->id(), world.hosts[2]->id());
    site.quiesce();
    const std::string violation = site.report().violation;
    EXPECT_EQ(violation.starts_with("no traffic although all faults have ended: node 0 to 2"), cut)
        << violation;
  }
}

// --- Checks of the drain watch ---

constexpr std::uint32_t kNodes = 3;
constexpr std::uint32_t kRouter = 2;
constexpr Instant kBegin{};
constexpr Duration kLasting = std::chrono::seconds(5);
constexpr Instant kLatest = kBegin + std::chrono::seconds(36);

lnet::Nid nid_of(std::uint32_t node) {
  return lnet::Nid::of(lnet::NetType::kTcp, 0, 10U << 24 | (node + 1));
}

lnet::MessageHeader message_for(std::uint32_t node) {
  return {.destination = nid_of(node), .source = nid_of(0), .type = lnet::MessageType::kPut};
}

TEST(DrainWatch, ADropAfterADrainAcknowledgementIsAViolation) {
  DrainWatch watch(kNodes, kLasting);
  watch.begin(kRouter, 7, kBegin, kLatest, 0);
  watch.sent(0, nid_of(kRouter), message_for(1));
  EXPECT_TRUE(watch.promise(kRouter, kBegin + std::chrono::seconds(2), 0));
  watch.sent(0, nid_of(kRouter), message_for(kRouter));
  watch.sent(0, nid_of(1), message_for(1));
  EXPECT_EQ(watch.wrong(), "") << "before its acknowledgement, for itself, and to another";
  watch.sent(0, nid_of(kRouter), message_for(1));
  EXPECT_NE(watch.wrong().find("router 2"), std::string::npos) << watch.wrong();
}

TEST(DrainWatch, RefusalsBeforeTheAcknowledgementCountToo) {
  DrainWatch watch(kNodes, kLasting);
  watch.begin(kRouter, 7, kBegin, kLatest, 4);
  watch.refused(kRouter, nid_of(0), nid_of(1));
  EXPECT_EQ(watch.wrong(), "");
  EXPECT_TRUE(watch.promise(kRouter, kBegin + std::chrono::seconds(2), 0));
  EXPECT_EQ(watch.wrong(), "") << "it may have had another cause";
  watch.end(kRouter, 5);
  EXPECT_NE(watch.wrong().find("was refused"), std::string::npos) << watch.wrong();
}

TEST(DrainWatch, QueuedMessagesThatAreDroppedCountAtTheEnd) {
  DrainWatch watch(kNodes, kLasting);
  const auto drain = [&](std::uint64_t excused_refusals, std::uint64_t dropped) {
    watch.begin(kRouter, 7, kBegin, kLatest, 10);
    watch.trouble(0, kRouter, kBegin);
    EXPECT_TRUE(watch.promise(kRouter, kBegin + std::chrono::seconds(2), 0));
    for (std::uint64_t i = 0; i < excused_refusals; ++i)
      watch.refused(kRouter, nid_of(0), nid_of(1));
    watch.end(kRouter, 10 + dropped);
  };
  drain(0, 0);
  drain(2, 2);
  EXPECT_EQ(watch.wrong(), "");
  drain(2, 3);
  EXPECT_NE(watch.wrong().find("has dropped 3 messages"), std::string::npos) << watch.wrong();
}

TEST(DrainWatch, MessagesOnAFailedPathAreExcused) {
  DrainWatch watch(kNodes, kLasting);
  watch.begin(kRouter, 7, kBegin, kLatest, 0);
  watch.trouble(0, kRouter, kBegin);
  EXPECT_TRUE(watch.promise(kRouter, kBegin + std::chrono::seconds(2), 0));
  watch.sent(0, nid_of(kRouter), message_for(1));
  watch.refused(kRouter, nid_of(0), nid_of(1));
  EXPECT_EQ(watch.wrong(), "");
  watch.refused(kRouter, nid_of(1), nid_of(0));
  EXPECT_NE(watch.wrong(), "") << "the other one's was not";
}

TEST(DrainWatch, TroubleShortlyBeforeExcusesToo) {
  DrainWatch watch(kNodes, kLasting);
  watch.trouble(0, kRouter, kBegin);
  watch.trouble(1, kBegin + std::chrono::seconds(1));
  const auto lose = [&](std::uint32_t sender, Instant begin) {
    watch.begin(kRouter, 7, begin, begin + std::chrono::seconds(36), 0);
    EXPECT_TRUE(watch.promise(kRouter, begin + std::chrono::seconds(1), 0));
    watch.sent(sender, nid_of(kRouter), message_for(1 - sender));
  };
  lose(0, kBegin + kLasting);
  lose(1, kBegin + kLasting + std::chrono::seconds(1));
  EXPECT_EQ(watch.wrong(), "");
  lose(0, kBegin + kLasting + std::chrono::seconds(1));
  EXPECT_NE(watch.wrong(), "");
}

TEST(DrainWatch, ARouterThatTimedOutGuaranteesNothing) {
  DrainWatch watch(kNodes, kLasting);
  watch.begin(kRouter, 7, kBegin, kLatest, 0);
  EXPECT_FALSE(watch.promise(kRouter, kLatest, 0));
  watch.refused(kRouter, nid_of(0), nid_of(1));
  watch.begin(kRouter, 8, kBegin, kLatest, 0);
  EXPECT_FALSE(watch.promise(kRouter, kBegin, 3)) << "some were cut off";
  watch.refused(kRouter, nid_of(0), nid_of(1));
  EXPECT_EQ(watch.wrong(), "");
}

}  // namespace
}  // namespace plnet::sim::drained_site_test
