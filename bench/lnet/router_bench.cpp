// SPDX-License-Identifier: BSD-3-Clause
// Forwarding on networks without cost: LNet's own cost of a message that passes through. PUTs
// without payload from 10 000 clients at random, each to one of 10 000 destinations on 64 remote
// networks at random, through the gateway to it.
#include <algorithm>
#include <array>
#include <list>
#include <memory>
#include <vector>

#include "bench/harness/harness.hpp"
#include "bench/lnet/two_cores.hpp"
#include "drivers/net/null/device.hpp"
#include "lib/base/cache_line.hpp"
#include "lib/base/random.hpp"
#include "lib/lnet/paths/route_table.hpp"
#include "tests/mocks/core_node.hpp"

namespace plnet::bench {
namespace {

using lnet::Nid;

constexpr std::uint32_t kClients = 10'000;
constexpr std::uint32_t kDestinations = 10'000;
constexpr std::uint32_t kRoutes = 64;
constexpr std::uint32_t kBuffers = 1024;
constexpr unsigned kBurst = 64;   // messages that arrive in a turn
constexpr unsigned kDepth = 256;  // messages under way on a shard
constexpr std::size_t kPeers = kClients + kDestinations + kRoutes + 64;
constexpr std::uint16_t kRemoteNets = 100;  // tcp100 and on

constexpr Nid client_nid(std::uint32_t number) {
  return Nid::of(lnet::NetType::kTcp, 0, 0x0a000000 + number);
}
constexpr Nid gateway_nid(std::uint32_t number) {
  return Nid::of(lnet::NetType::kTcp, 1, 0x0b000000 + number);
}

struct Site {
  explicit Site(unsigned shards)
      : node({.shards = shards,
              .nids = {Nid::of(lnet::NetType::kTcp, 0, 1), Nid::of(lnet::NetType::kTcp, 1, 1)},
              .limits = {.peer_ports = kPeers,
                         .extra_links = 16,
                         .messages = 1024,
                         .receives = kBuffers + kClients,  // each client can have a waiting one
                         .descriptors = 64,
                         .match_entries = 64},
              .peers = kPeers,
              .tunables = {.peer_credits = 256, .peer_buffer_credits = 256, .credits = 1024},
              .router_memory =
                  std::vector<lnet::RouterMemory>(shards, {.most = {{kBuffers, 0, 0}}})},
             [this, shards](lnet::NiPort& port, lnet::ShardId shard) {
               return make(port, shard, shards);
             }) {
    node.shared().parameters.routing.set(static_cast<std::int32_t>(lnet::RoutingState::kEnabled));
    for (unsigned i = 0; i < shards; ++i)
      PLNET_CHECK(node.shard(i).core().buffers.resize({{kBuffers, 0, 0}}), "there is room");
    // The next hops of messages that arrive on one shard have their home on the other, if there is
    // one.
    for (std::uint32_t i = 0; i < kRoutes; ++i) {
      lnet::PeerNi& gateway =
          node.add_peer(gateway_nid(i), static_cast<lnet::ShardId>((i + 1) % shards));
      auto& route = routes.emplace_back(std::make_unique<lnet::Route>());
      const auto net = static_cast<std::uint16_t>(kRemoteNets + i);
      route->spec = {.net = lnet::make_net(lnet::NetType::kTcp, net), .gateway = gateway.nid};
      route->number = i;
      route->gateway.store(gateway.peer.load());
    }
    view = lnet::RouteView(routes);
    node.shared().routes.store(&view);
    for (std::uint32_t i = 0; i < kClients; ++i)  // each arrives at its home
      node.add_peer(client_nid(i), static_cast<lnet::ShardId>(i / (kClients / shards)));
    for (std::uint32_t i = 0; i < kDestinations; ++i)
      node.add_peer(destination(i), static_cast<lnet::ShardId>(i % shards));
  }

  static Nid destination(std::uint32_t number) {
    return Nid::of(lnet::NetType::kTcp, static_cast<std::uint16_t>(kRemoteNets + number % kRoutes),
                   number);
  }

  // A shard's messages go through gateways whose home is another shard, if there are several.
  std::unique_ptr<lnet::Lnd> make(lnet::NiPort& port, lnet::ShardId shard, unsigned shards) {
    drivers::NullConfig config{.peers_max = kPeers};
    if (port.ni().net == lnet::make_net(lnet::NetType::kTcp, 0)) {
      std::vector<Nid>& own = destinations.emplace_back();
      for (std::uint32_t i = 0; i < kDestinations; ++i) {
        if (i % kRoutes % shards == shard) own.push_back(destination(i));
      }
      config.mode = drivers::NullMode::kSource;
      config.source = {.header = {.type = lnet::MessageType::kPut},
                       .first_peer = client_nid(kClients / shards * shard),
                       .peers = kClients / shards,
                       .burst = kBurst,
                       .destinations = own,
                       .allowance = &allowances[shard].messages};
      config.source->header.set_area(lnet::PutArea{.match_bits = 1, .portal = 26});
    }
    return std::make_unique<drivers::NullLnd>(config, port, random[shard]);
  }

  struct alignas(kNoSharing) Allowance {
    std::uint32_t messages = 0;
  };

  std::array<Random, 2> random{Random(1), Random(2)};
  std::array<Allowance, 2> allowances;
  std::list<std::vector<Nid>> destinations;
  std::vector<std::unique_ptr<lnet::Route>> routes;
  lnet::RouteView view;
  mocks::CoreNode node;
};

// One shard that turns itself. Two of them share no cache line.
class alignas(kNoSharing) Router {
 public:
  Router(lnet::Shard& shard, std::uint32_t& allowance) : shard_(shard), allowance_(allowance) {}

  void turn() {
    now_ += std::chrono::microseconds(1);
    allowance_ = kDepth - std::min<std::uint32_t>(kDepth, shard_.core().buffers.held());
    shard_.begin_turn(now_);
    (void)shard_.poll(now_);
  }
  void stop() { shard_.core().ports[1]->lnd().shut_down(); }
  [[nodiscard]] std::uint64_t done() const {
    return shard_.core().statistics.get(lnet::Statistic::kRouteCount);
  }
  [[nodiscard]] bool settled() const { return shard_.core().buffers.held() == 0; }
  // Messages that wait at the stop are dropped, but no others.
  [[nodiscard]] bool failed() const {
    return shard_.core().statistics.get(lnet::Statistic::kDropCount) >
           shard_.core().causes.get(lnet::Cause::kDroppedConnectionLost);
  }

 private:
  lnet::Shard& shard_;
  std::uint32_t& allowance_;
  Instant now_{};
};

void forward(benchmark::State& state) {
  const auto site = std::make_unique<Site>(1);
  Router router(site->node.shard(0), site->allowances[0].messages);
  while (router.done() < 4 * kClients)  // all peers have links
    router.turn();
  const std::uint64_t before = router.done();
  for ([[maybe_unused]] auto _ : state)
    router.turn();
  const auto done = static_cast<double>(router.done() - before);
  state.counters["value"] = benchmark::Counter(done, benchmark::Counter::kIsRate);
  for (router.stop(); !router.settled();)
    router.turn();
  if (router.failed()) state.SkipWithError("something was dropped");
}

// Two shards on two CPUs: messages that arrive on one leave from the other. The figure is for each
// of the two cores.
void forward_across(benchmark::State& state) {
  const auto site = std::make_unique<Site>(2);
  Router here(site->node.shard(0), site->allowances[0].messages);
  Router there(site->node.shard(1), site->allowances[1].messages);
  run_on_two_cores(state, here, there, 2 * kClients);
}

}  // namespace

void add_benchmarks(Suite& suite) {
  suite.push_back({.name = "router.null.rate",
                   .what = "PUTs of 10 000 clients to 10 000 destinations by 64 routes, one shard",
                   .unit = "msg/s",
                   .round_seconds = 0.2,
                   .bar = Bar{.limit = 4e6, .side = Bar::Side::kAtLeast},
                   .value = forward});
  suite.push_back({.name = "router.null.cross",
                   .what = "the same, every message leaves from another shard on another CPU",
                   .unit = "msg/s",
                   .timing = Timing::kReal,
                   .round_seconds = 0.2,
                   .bar = Bar{.limit = 2e6, .side = Bar::Side::kAtLeast},
                   .value = forward_across});
}

}  // namespace plnet::bench
