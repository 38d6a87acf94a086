// SPDX-License-Identifier: BSD-3-Clause
// Sites with routers: forwarded traffic, losses when routers fail, and the nodes' knowledge of
// usable routers.
#include <array>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "apps/lnet-sim/site/site.hpp"
#include "tests/mocks/seeds.hpp"
#include "tests/sim/site_file.hpp"

namespace plnet::sim::routed_site_test {
namespace {

SiteConfig site_of(const std::string& name) {
  return site_in(std::string(PLNET_SOURCE_ROOT) + "/config/sim/" + name + ".yaml");
}

// Clients on TCP, servers on o2ib, without faults.
SiteConfig calm_day() {
  SiteConfig site = site_of("routed");
  site.weather = Weather::kCalm;
  site.nets[1].faults = {};
  site.nets[1].o2ib = {};
  site.groups[1].buffers = GroupPlan{}.buffers;
  site.groups[2].talks_to = {0};
  site.gateways = {};
  site.lnd_timeout_s = 5;
  site.faults = {};
  site.time = std::chrono::milliseconds(500);
  site.traffic.pause = std::chrono::milliseconds(2);
  return site;
}

std::uint64_t cause_of(const SiteReport& report, std::string_view wanted) {
  std::uint64_t count = 0;
  for (const auto& [name, value] : report.causes)
    count += name == wanted ? value : 0;
  return count;
}

// A state lasted longer than its bound, so that a wrong route would have been detected.
class Outlasted {
 public:
  void add(const SiteReport& report) {
    for (std::size_t i = 0; i < kRouteTruths; ++i)
      count_[i] += report.routes_outlasted[i];
  }
  [[nodiscard]] std::uint64_t of(RouteTruth truth) const {
    return count_[static_cast<std::size_t>(truth)];
  }

 private:
  std::array<std::uint64_t, kRouteTruths> count_{};
};

TEST(RoutedSite, ABadDayIsSurvived) {
  std::uint64_t held = 0;
  Outlasted outlasted;
  std::array<std::uint64_t, kMishaps> beside{};
  for (const std::uint64_t seed : {4U, 12U, 28U}) {
    const SiteReport report = run_site(site_of("routed-bad-day").with_seed(seed));
    ASSERT_EQ(report.violation, "")
        << "replay: lnet-sim run config/sim/routed-bad-day.yaml --seed " << seed;
    EXPECT_GT(report.kills, 0U);
    EXPECT_GT(report.flaps, 0U);
    EXPECT_GT(report.wire.relayed, 1000U);
    EXPECT_GT(report.routes_changed, 10U);
    held += cause_of(report, "held_hop_share");
    outlasted.add(report);
    for (std::size_t i = 0; i < beside.size(); ++i)
      beside[i] += report.mishaps.together(Mishap::kDrain, static_cast<Mishap>(i));
  }
  EXPECT_GT(held, 0U) << "buffers ran out";
  EXPECT_GT(outlasted.of(RouteTruth::kUp), 0U);
  EXPECT_GT(outlasted.of(RouteTruth::kGone), 0U);
  for (std::size_t i = 0; i < beside.size(); ++i) {
    if (static_cast<Mishap>(i) == Mishap::kDrain) continue;
    EXPECT_GT(beside[i], 0U) << "a drain together with: " << kMishapNames[i];
  }
}

// The whole site with less traffic; `lnet-sim run` runs all of it.
TEST(RoutedSite, ABadDayOfAThousandNodesIsSurvived) {
  if (mocks::has_few_seeds())
    GTEST_SKIP() << "takes minutes with sanitizers, and is not in ./check --quick";
  SiteConfig site = site_of("routed-thousand");
  site.traffic.operations = 2;
  const SiteReport report = run_site(site);
  ASSERT_EQ(report.violation, "") << "replay: lnet-sim run config/sim/routed-thousand.yaml";
  EXPECT_GT(report.kills, site.faults.router_kills) << "clients and servers, too";
  EXPECT_GT(report.flaps, 0U);
  EXPECT_GT(report.drains.in_time, 0U);
  EXPECT_GT(report.drains.restarts, 0U);
  for (const Mishap beside : {Mishap::kCrash, Mishap::kPartition, Mishap::kOneWay, Mishap::kSlow}) {
    EXPECT_GT(report.mishaps.together(Mishap::kDrain, beside), 0U)
        << "a drain together with: " << name_of(beside);
  }
  EXPECT_GT(report.wire.relayed, report.operations.begun) << "requests, and answers to most";
}

// All clients connect in the same microseconds, again and again. With fewer places for strangers or
// in the backlog, most of these connections fail, and routes of clients stay down for too long:
// that violates the rules of the site.
void call_router_after_restart(unsigned clients) {
  SiteConfig site = site_of("routed-crowd");
  site.nodes -= site.groups[0].nodes - clients;
  site.groups[0].nodes = clients;
  const SiteReport report = run_site(site);
  ASSERT_EQ(report.violation, "") << "replay: lnet-sim run config/sim/routed-crowd.yaml";
  EXPECT_EQ(report.kills, 1U);
  EXPECT_GT(report.routes_changed, 0U) << "the outage was noticed";
  EXPECT_EQ(report.failed_after, 0U);
}

TEST(RoutedSite, ACrowdOfClientsCallsItsRouterAfterARestart) {
  call_router_after_restart(1300);
}

TEST(RoutedSite, FiveThousandClientsCallTheirRouterAfterARestart) {
  if (mocks::has_few_seeds())
    GTEST_SKIP() << "takes minutes with sanitizers, and is not in ./check --quick";
  call_router_after_restart(5000);
}

TEST(RoutedSite, PayloadsThatGoFromSocketToSocketAreRightOnABadDay) {
  const std::uint64_t seeds = mocks::has_few_seeds() ? 1 : 3;
  Outlasted outlasted;
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    const SiteReport report = run_site(site_of("routed-tcp").with_seed(seed));
    ASSERT_EQ(report.violation, "")
        << "replay: lnet-sim run config/sim/routed-tcp.yaml --seed " << seed;
    EXPECT_GT(report.kills, 0U);
    EXPECT_GT(report.wire_faults, 0U);
    EXPECT_GT(report.wire.kept, 300U);
    EXPECT_GT(report.bytes_handed_on, std::uint64_t{30} << 20U) << "past the routers' memory";
    outlasted.add(report);
  }
  EXPECT_GT(outlasted.of(RouteTruth::kUp), 0U) << "though connections break";
  EXPECT_GT(outlasted.of(RouteTruth::kGone), 0U);
}

TEST(RoutedSite, AChainOfRoutersIsSurvived) {
  const SiteReport report = run_site(site_of("routed-chain"));
  ASSERT_EQ(report.violation, "") << "replay: lnet-sim run config/sim/routed-chain.yaml";
  EXPECT_GT(report.wire.relayed, report.operations.begun) << "some go through two";
  Outlasted outlasted;
  outlasted.add(report);
  EXPECT_GT(outlasted.of(RouteTruth::kUp), 0U);
  EXPECT_GT(outlasted.of(RouteTruth::kGone), 0U);
}

// Gone for longer than detection takes.
TEST(RoutedSite, RoutesByRoutersThatAreGoneGoDownAndUpAgain) {
  SiteConfig site = calm_day();
  site.traffic.operations = 20;
  site.traffic.size_max = 4096;
  site.gateways.ping_timeout_s = 3;
  site.faults = {.router_kills = 1, .flaps = 2, .outage = std::chrono::seconds(40)};
  const SiteReport report = run_site(site);
  EXPECT_EQ(report.violation, "");
  EXPECT_EQ(report.kills, 1U);
  EXPECT_GT(report.flaps, 0U);
  EXPECT_GT(report.routes_changed, 2U * 12U) << "by clients and servers, down and up";
  // The bounds are not too wide: some checks must time out before detection.
  const auto wrong = [&](RouteTruth truth) {
    return report.routes_wrong[static_cast<std::size_t>(truth)];
  };
  EXPECT_GE(wrong(RouteTruth::kGone), std::chrono::seconds(site.gateways.ping_timeout_s));
  EXPECT_GT(wrong(RouteTruth::kUp), Duration{});
  Outlasted outlasted;
  outlasted.add(report);
  EXPECT_GT(outlasted.of(RouteTruth::kGone), 0U);
  EXPECT_GT(outlasted.of(RouteTruth::kUp), 0U);
}

// Each in one direction, for longer than detection takes: a node that does not hear its gateway
// knows that it is gone, even if messages still reach the gateway.
TEST(RoutedSite, ARouteThroughASilentGatewayGoesDown) {
  SiteConfig site = calm_day();
  site.traffic.operations = 20;
  site.traffic.size_max = 4096;
  site.gateways.ping_timeout_s = 3;
  site.faults = {.one_way = 12, .outage = std::chrono::seconds(40)};
  const SiteReport report = run_site(site);
  EXPECT_EQ(report.violation, "");
  EXPECT_GT(report.routes_changed, 2U);
  EXPECT_GT(report.routes_wrong[static_cast<std::size_t>(RouteTruth::kGone)], Duration{});
  Outlasted outlasted;
  outlasted.add(report);
  EXPECT_GT(outlasted.of(RouteTruth::kGone), 0U);
}

TEST(RoutedSite, TheSameSeedIsTheSameRun) {
  SiteConfig site = site_of("routed-bad-day").with_seed(7);
  site.time = std::chrono::seconds(12);
  site.traffic.operations = 60;
  const SiteReport first = run_site(site);
  const SiteReport second = run_site(site);
  EXPECT_EQ(first.trace, second.trace);
  EXPECT_EQ(first.events, second.events);
  EXPECT_NE(first.trace, run_site(site.with_seed(8)).trace);
}

TEST(RoutedSite, OnACalmDayEverythingArrives) {
  SiteConfig site = calm_day();
  site.traffic.operations = 40;
  site.traffic.put_unique = site.traffic.put_lazy = site.traffic.put_wildcard = 0;
  site.traffic.abandon_percent = site.traffic.unlink_percent = 0;
  const SiteReport report = run_site(site);
  ASSERT_EQ(report.violation, "");
  EXPECT_EQ(report.operations.begun, 480U);
  EXPECT_EQ(report.operations.delivered + report.operations.replies, 480U);
  EXPECT_EQ(report.operations.failed, 0U);
  EXPECT_EQ(report.routes_changed, 0U);
}

// LNet allows circular routes; a site does not.
TEST(RoutedSite, AMessageThatPassesARouterTwiceIsReported) {
  lnet::MessageHeader header{.source = lnet::Nid::of(lnet::NetType::kTcp, 0, 1),
                             .type = lnet::MessageType::kPut};
  header.set_area(lnet::PutArea{.ack_handle = {7, 1}});
  lnet::MessageHeader other = header;
  other.set_area(lnet::PutArea{.ack_handle = {7, 2}});
  RelayMemory relays(true);
  EXPECT_TRUE(relays.note(header));
  EXPECT_TRUE(relays.note(other));
  EXPECT_FALSE(relays.note(header));
  other.source = lnet::Nid::of(lnet::NetType::kTcp, 0, 2);
  EXPECT_TRUE(relays.note(other)) << "handles are their maker's";
}

// --- The effect of a failing next hop on others ---

constexpr std::uint32_t kRouter = 8;
constexpr std::uint32_t kLive = 9;
constexpr std::uint32_t kLame = 10;

// Eight clients, a router with few buffers, two servers: each has four clients of its own.
SiteConfig two_servers() {
  SiteConfig site;
  site.nodes = 11;
  site.nets.assign(2, {});
  const std::vector<RoutePlan> out{{.net = 1, .via = 2, .hops = 1}};
  const std::vector<RoutePlan> home{{.net = 0, .via = 2, .hops = 1}};
  site.groups = {{.name = "of-live", .nodes = 4, .nets = {0}, .talks_to = {3}, .routes = out},
                 {.name = "of-lame", .nodes = 4, .nets = {0}, .talks_to = {4}, .routes = out},
                 {.name = "router", .nets = {0, 1}, .router = true, .buffers = {{16, 16, 8}}},
                 {.name = "live", .nets = {1}, .routes = home},
                 {.name = "lame", .nets = {1}, .routes = home}};
  site.traffic.operations = 4000;
  site.traffic.size_min = site.traffic.size_max = 8192;
  site.traffic.pause = std::chrono::milliseconds(20);
  // Payloads that need a large buffer, on their way to the servers (PUT) and back (GET).
  site.traffic.put_unique = site.traffic.put_lazy = site.traffic.put_managed = 0;
  site.traffic.put_wildcard = site.traffic.get = 50;
  return site;
}

// Messages that the live server received while the other was in the state set by `spoil`.
template <class Spoil>
double heard_by_live(Spoil&& spoil) {
  Site site(two_servers());
  site.start();
  site.run_for(std::chrono::seconds(1));
  World& world = site.world();
  spoil(world);
  const auto heard = [&] {
    return world.hosts[kLive]->node().shard(0).core().statistics.get(
        lnet::Statistic::kReceiveCount);
  };
  const std::uint64_t before = heard();
  site.run_for(std::chrono::seconds(9));
  const std::uint64_t after = heard();
  world.wires.network.unblock_both(world.hosts[kRouter]->id(), world.hosts[kLame]->id());
  site.quiesce();
  EXPECT_EQ(site.report().violation, "");
  return static_cast<double>(after - before);
}

TEST(RoutedSite, AServerThatIsDeadOrSlowTakesLessThanATwentiethFromAnother) {
  const auto id = [](World& world, std::uint32_t node) { return world.hosts[node]->id(); };
  const double alone = heard_by_live([](World& /*world*/) {});
  EXPECT_GT(alone, 3000) << "there is something to take";
  const double beside_dead = heard_by_live(
      [&](World& world) { world.wires.network.block_both(id(world, kRouter), id(world, kLame)); });
  const double beside_slow = heard_by_live([&](World& world) {
    const drivers::LinkShape slow{.latency_min = std::chrono::milliseconds(200),
                                  .bytes_per_second = 20'000};
    world.wires.network.set_link(id(world, kRouter), id(world, kLame), slow);
    world.wires.network.set_link(id(world, kLame), id(world, kRouter), slow);
  });
  EXPECT_GT(beside_dead / alone, 0.95);
  EXPECT_GT(beside_slow / alone, 0.95);
  RecordProperty("beside_dead", std::to_string(beside_dead / alone));
  RecordProperty("beside_slow", std::to_string(beside_slow / alone));
}

// A server that sends nothing by itself, away for longer than detection takes.
TEST(RoutedSite, ARouterFindsByItselfThatAServerIsBack) {
  SiteConfig plan = two_servers();
  plan.traffic.pause = std::chrono::milliseconds(500);
  Site site(plan);
  site.start();
  site.run_for(std::chrono::seconds(1));
  World& world = site.world();
  world.hosts[kLame]->node().parameters().alive_router_check_interval_s.set(0);
  lnet::Node& router = world.hosts[kRouter]->node();
  const lnet::Nid lame = world.hosts[kLame]->node().coordinator().local().nis.front()->nid;
  const auto is_down = [&] {
    return router.coordinator().peers().find(lame)->status.get() != lnet::kNiUp;
  };
  world.wires.network.block_both(world.hosts[kRouter]->id(), world.hosts[kLame]->id());
  for (int second = 0; second < 300 && !is_down(); ++second)
    site.run_for(std::chrono::seconds(1));
  ASSERT_TRUE(is_down());
  site.run_for(std::chrono::seconds(60));
  EXPECT_TRUE(is_down());
  world.wires.network.unblock_both(world.hosts[kRouter]->id(), world.hosts[kLame]->id());
  site.run_for(lnet::PeerRecovery::kHopIntervalMax + std::chrono::seconds(2));
  EXPECT_FALSE(is_down());
  using Id = lnet::RecoveryTable::Id;
  EXPECT_GE(router.coordinator().recovery().counters().get(Id::kRecovered), 1U);
  site.quiesce();
  EXPECT_EQ(site.report().violation, "");
}

}  // namespace
}  // namespace plnet::sim::routed_site_test
