// SPDX-License-Identifier: BSD-3-Clause
// Forwarding allocates nothing and frees nothing, in every wait.
#include <array>
#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include "drivers/net/null/device.hpp"
#include "lib/base/random.hpp"
#include "lib/lnet/paths/route_table.hpp"
#include "tests/mocks/core_node.hpp"
#include "tests/unit/drivers/counting_new.hpp"

namespace plnet::lnet::forward_no_allocation_test {
namespace {

using testrig::heap_calls_of;
using testrig::HeapCalls;

constexpr std::uint32_t kClients = 60;
constexpr std::uint32_t kServers = 40;
constexpr unsigned kShards = 2;
constexpr std::size_t kPeers = 256;
constexpr BufferCounts kFew{{6, 1, 1}};

constexpr Nid client(std::uint32_t number) {
  return Nid::of(NetType::kTcp, 0, 100 + number);
}
constexpr Nid gateway() {
  return Nid::of(NetType::kTcp, 1, 50);
}

// Clients are on tcp; servers are on tcp1, behind a gateway there, and on an unreachable net.
std::vector<Nid> all_servers() {
  std::vector<Nid> all;
  for (std::uint32_t i = 0; i < kServers; ++i) {
    all.push_back(Nid::of(NetType::kTcp, 1, 100 + i));
    all.push_back(Nid::of(NetType::kTcp, 2, 100 + i));
  }
  all.push_back(Nid::of(NetType::kTcp, 9, 1));
  return all;
}

struct Router {
  Router()
      : node({.shards = kShards,
              .nids = {Nid::of(NetType::kTcp, 0, 1), Nid::of(NetType::kTcp, 1, 1)},
              .limits = {.peer_ports = kPeers,
                         .extra_links = 16,
                         .messages = 64,
                         .receives = 256,
                         .descriptors = 16,
                         .match_entries = 16},
              .peers = kPeers,
              .tunables = {.peer_credits = 2, .peer_buffer_credits = 1, .credits = 4},
              .arenas = &arenas,
              .router_memory =
                  std::vector<RouterMemory>(kShards, {.most = {{kFew[BufferClass::kTiny], 0, 0}}})},
             [this](NiPort& port, ShardId /*shard*/) { return make(port); }) {
    node.shared().parameters.routing.set(static_cast<std::int32_t>(RoutingState::kEnabled));
    for (unsigned i = 0; i < kShards; ++i)
      EXPECT_TRUE(node.shard(i).core().buffers.resize({{kFew[BufferClass::kTiny], 0, 0}}));
    routes.push_back(std::make_unique<Route>());
    routes[0]->spec = {.net = make_net(NetType::kTcp, 2), .gateway = gateway()};
    routes[0]->gateway.store(node.add_peer(gateway(), ShardId{0}).peer.load());
    view = RouteView(routes);
    node.shared().routes.store(&view);
  }

  std::unique_ptr<Lnd> make(NiPort& port) {
    drivers::NullConfig config{.in_flight_max = 64, .peers_max = kPeers, .tx_budget = 2};
    if (port.ni().net == make_net(NetType::kTcp, 0)) {
      config.mode = drivers::NullMode::kSource;
      config.source = {.header = {.type = MessageType::kPut},
                       .first_peer = client(0),
                       .peers = kClients,
                       .burst = 8,
                       .destinations = servers};
      config.source->header.set_area(PutArea{.match_bits = 1, .portal = 5});
    }
    return std::make_unique<drivers::NullLnd>(config, port, random);
  }
  void turns(unsigned count) {
    for (unsigned i = 0; i < count; ++i)
      node.turn(now += std::chrono::microseconds(10));
  }
  [[nodiscard]] std::uint64_t sum(Cause cause) {
    std::uint64_t all = 0;
    for (unsigned i = 0; i < kShards; ++i)
      all += node.shard(i).core().causes.get(cause);
    return all;
  }

  Random random{1};
  const ArenaTable arenas;  // tiny buffers have no memory
  const std::vector<Nid> servers = all_servers();
  Instant now{std::chrono::seconds(1)};
  std::vector<std::unique_ptr<Route>> routes;
  RouteView view;
  mocks::CoreNode node;
};

TEST(NoAllocation, OnTheWayThroughARouter) {
  Router router;
  router.turns(1);
  const HeapCalls calls = heap_calls_of([&] { router.turns(5000); });
  EXPECT_EQ(calls, HeapCalls{});
  std::uint64_t forwarded = 0;
  for (unsigned i = 0; i < kShards; ++i)
    forwarded += router.node.shard(i).core().statistics.get(Statistic::kRouteCount);
  EXPECT_GT(forwarded, 5000U);
  EXPECT_GT(router.sum(Cause::kHeldClientCredit), 100U);
  EXPECT_GT(router.sum(Cause::kHeldHopShare), 100U);
  EXPECT_GT(router.sum(Cause::kDroppedForwardNoPath), 10U);
  EXPECT_GT(router.sum(Cause::kCrossedHome), 100U);
}

}  // namespace
}  // namespace plnet::lnet::forward_no_allocation_test
