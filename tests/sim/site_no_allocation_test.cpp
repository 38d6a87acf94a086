// SPDX-License-Identifier: BSD-3-Clause
// Whole sites at work without heap allocations: not for peers that appear and disappear, nor for
// messages that are parked, dropped or timed out. Counting begins after the start of the nodes,
// which allocates everything for core and LNDs.
#include <array>
#include <string>

#include <gtest/gtest.h>

#include "apps/lnet-sim/site/site.hpp"
#include "tests/unit/drivers/counting_new.hpp"

namespace plnet::sim::site_no_allocation_test {
namespace {

using testrig::heap_calls_of;
using testrig::HeapCalls;

constexpr unsigned kRounds = 4;
// Capacity of the simulated network, which would otherwise grow with its load.
constexpr std::size_t kConnections = 256;
constexpr std::size_t kBytesUnderWay = std::size_t{16} << 20U;
constexpr Duration kFirstTurns = std::chrono::milliseconds(10);
// Longer than a transaction, so that those of a round end in it.
constexpr Duration kApart = std::chrono::milliseconds(1500);
constexpr Duration kTogether = std::chrono::milliseconds(1500);

SiteConfig busy_site(NetKind kind) {
  SiteConfig site;
  site.nodes = 4;
  site.shards = {2, 1};
  site.nets = {{.kind = kind}};
  site.lazy_memory = false;
  site.transaction_timeout_s = 1;
  site.lnd_timeout_s = 1;
  site.traffic.operations = 1'000'000;
  site.traffic.window = 16;
  site.traffic.size_max = 9000;
  site.traffic.pause = std::chrono::milliseconds(2);
  site.traffic.unlink_percent = 20;
  return site;
}

// The same traffic through routers of `kind` on one side; some of it passes two of them.
SiteConfig busy_routed_site(NetKind kind) {
  SiteConfig site = busy_site(kind);
  site.nets = {{.kind = kind}, {.kind = NetKind::kTcp}, {.kind = NetKind::kO2ib}};
  const auto by = [](unsigned net, unsigned via, std::uint32_t hops) {
    return RoutePlan{.net = net, .via = via, .hops = hops};
  };
  site.groups = {
      {.name = "clients",
       .nodes = 2,
       .shards = {2, 1},
       .nets = {0},
       .talks_to = {3, 4},
       .routes = {by(1, 1, 1), by(2, 1, 2)}},
      {.name = "near",
       .nodes = 2,
       .shards = {2, 1},
       .nets = {0, 1},
       .routes = {by(2, 2, 1)},
       .router = true,
       .buffers = {{8, 8, 8}}},
      {.name = "beyond", .nodes = 2, .nets = {1, 2}, .routes = {by(0, 1, 1)}, .router = true},
      {.name = "servers",
       .shards = {2},
       .nets = {1},
       .talks_to = {0},
       .routes = {by(0, 1, 1), by(2, 2, 1)}},
      {.name = "stores", .nets = {2}, .routes = {by(1, 2, 1), by(0, 2, 2)}}};
  site.nodes = 8;
  site.gateways = {.check_interval_s = 1, .ping_timeout_s = 1};
  site.traffic.pause = std::chrono::milliseconds(20);
  return site;
}

// Peers are deleted and met again; a pair of nodes is cut for a while.
HeapCalls round(Site& site, unsigned number, std::uint64_t& forgotten) {
  World& world = site.world();
  const std::size_t nodes = world.hosts.size();
  Host& host = *world.hosts[number % nodes];
  Host& other = *world.hosts[(number + 1) % nodes];
  world.wires.network.block_both(host.id(), other.id());
  HeapCalls calls = heap_calls_of([&] { site.run_for(kApart); });
  world.wires.network.unblock_both(host.id(), other.id());
  for (std::size_t i = 2; i < nodes; ++i)
    forgotten += host.forget(*world.hosts[(number + i) % nodes]) ? 1 : 0;
  const HeapCalls after = heap_calls_of([&] { site.run_for(kTogether); });
  calls.news += after.news;
  calls.deletes += after.deletes;
  return calls;
}

// Returns the events of the run.
SiteReport run_without_heap(Site& site) {
  site.world().wires.network.pool().reserve(kBytesUnderWay);
  site.world().wires.streams.reserve(kConnections);
  site.world().wires.verbs.reserve(kConnections);
  site.start();
  std::uint64_t forgotten = 0;
  // The first turns free views that the start itself has replaced, hence deletes.
  EXPECT_EQ(heap_calls_of([&] { site.run_for(kFirstTurns); }).news, 0U);
  for (unsigned i = 0; i < kRounds; ++i) {
    const HeapCalls calls = round(site, i, forgotten);
    EXPECT_EQ(calls.news, 0U) << "in round " << i;
    EXPECT_EQ(calls.deletes, 0U) << "in round " << i;
  }
  const SiteReport report = site.report();
  EXPECT_EQ(report.violation, "");
  EXPECT_GT(report.wire.offered, 5000U);
  EXPECT_GT(report.wire.parked, 0U);
  EXPECT_GT(report.operations.failed, 0U) << "some timed out";
  EXPECT_GT(report.connections_lost, 0U);
  EXPECT_GT(forgotten, 0U) << "peers were created anew";
  std::uint64_t dropped = 0;
  for (const auto& [name, count] : report.causes)
    dropped += name.starts_with("dropped") ? count : 0;
  EXPECT_GT(dropped, 0U);
  site.quiesce();
  EXPECT_EQ(site.report().violation, "") << "all is home in the end";
  return report;
}

class SiteNoAllocation : public testing::TestWithParam<NetKind> {};

TEST_P(SiteNoAllocation, MessagesCostTheHeapNothing) {
  Site site(busy_site(GetParam()));
  (void)run_without_heap(site);
}

TEST_P(SiteNoAllocation, ForwardedMessagesCostTheHeapNothing) {
  Site site(busy_routed_site(GetParam()));
  const SiteReport report = run_without_heap(site);
  EXPECT_GT(report.wire.relayed, 5000U);
  EXPECT_GT(report.routes_changed, 0U) << "gateways were lost and came back";
}

std::string name_of(const testing::TestParamInfo<NetKind>& kind) {
  constexpr std::array kNames{"Tcp", "O2ib"};
  return kNames[static_cast<std::size_t>(kind.param)];
}

INSTANTIATE_TEST_SUITE_P(Kind, SiteNoAllocation, testing::Values(NetKind::kTcp, NetKind::kO2ib),
                         name_of);

}  // namespace
}  // namespace plnet::sim::site_no_allocation_test
