// SPDX-License-Identifier: BSD-3-Clause
// A router between two kfi networks, one of whose next hops is dead: messages for it leave receives
// of the router's interface to the messages for others.
#include <array>
#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include "drivers/net/sim/endpoint_driver.hpp"
#include "lib/kfilnd/endpoint_relay.hpp"
#include "lib/kfilnd/lnd.hpp"
#include "tests/mocks/core_node.hpp"
#include "tests/mocks/fake_core.hpp"
#include "tests/unit/drivers/sim_cluster.hpp"

namespace plnet::kfilnd::dead_hop_test {
namespace {

using drivers::SimEndpointFabric;
using drivers::SimShard;
using lnet::Cause;
using lnet::Nid;
using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::uint64_t kBufferBytes = 1U << 20U;   // receive buffers of an interface
constexpr std::uint64_t kProgramBytes = 4U << 20U;  // payloads of an end node
constexpr std::size_t kReceives = 256;              // of each interface of the router
constexpr lnet::BufferCounts kRouterBuffers{{8, 64, 0}};
constexpr std::uint32_t kLength = 100;
constexpr unsigned kClients = 4;  // of each of the two servers
constexpr auto kStep = microseconds(500);

Nid nid_on(std::uint16_t net, unsigned node) {
  return Nid::of(lnet::NetType::kKfi, net, 0x100U * (net + 1U) + node);
}

std::unique_ptr<drivers::SimEndpointDriver> make_driver(SimEndpointFabric& fabric, SimShard& shard,
                                                        const Nid& nid, const ArenaTable& arenas,
                                                        EndpointRelay& relay) {
  return std::make_unique<drivers::SimEndpointDriver>(
      fabric,
      drivers::SimEndpointConfig{.host = shard.host(),
                                 .process = {nic_address_of(nid), service_of(nid)},
                                 .limits = {.operations_max = 1024}},
      arenas, relay, shard);
}

class EndNode final : public Pollable {
 public:
  EndNode(SimEndpointFabric& fabric, SimShard& shard, const Nid& nid, Instant start)
      : bytes_(kBufferBytes + kProgramBytes) {
    const ArenaId arena = arenas_.add({.base = bytes_.data(), .size = bytes_.size()}).value();
    driver_ = make_driver(fabric, shard, nid, arenas_, relay_);
    core_ = std::make_unique<mocks::FakeCore>(mocks::FakeCoreConfig{.nid = nid,
                                                                    .arenas = &arenas_,
                                                                    .memory = {arena, kBufferBytes},
                                                                    .memory_bytes = kProgramBytes});
    lnd_ = std::make_unique<KfiLnd>(KfiLndConfig{.nid = nid,
                                                 .arenas = &arenas_,
                                                 .receive_memory = {{arena, 0}, kBufferBytes},
                                                 .start = start},
                                    *core_, *driver_);
    relay_.attach(*lnd_);
    core_->attach(*lnd_);
    shard.add(*driver_);
    shard.add(*this);
  }

  void put(const Nid& router, const Nid& server) {
    lnet::Transmit& transmit = core_->put(router, kLength, false);
    transmit.header.destination = server;
    transmit.next_hop_is_router = true;
  }
  [[nodiscard]] std::uint64_t puts() const { return core_->tally().puts; }

  unsigned poll(Instant now) override { return core_->turn(now); }
  [[nodiscard]] std::string_view name() const override { return "kfi end node"; }
  [[nodiscard]] Instant next_deadline() const override { return lnd_->next_deadline(); }

 private:
  std::vector<std::byte> bytes_;
  ArenaTable arenas_;
  EndpointRelay relay_;
  std::unique_ptr<drivers::SimEndpointDriver> driver_;
  std::unique_ptr<mocks::FakeCore> core_;
  std::unique_ptr<KfiLnd> lnd_;
};

class Router final : public Pollable {
 public:
  Router(SimEndpointFabric& fabric, SimShard& shard, Instant start)
      : fabric_(fabric),
        shard_(shard),
        start_(start),
        memory_(2 * kBufferBytes + lnet::RouterMemory::bytes(kRouterBuffers)),
        node_(std::make_unique<mocks::CoreNode>(
            setup(), [this](lnet::NiPort& port, lnet::ShardId) { return make(port); })) {
    node_->shared().parameters.routing.set(static_cast<std::int32_t>(lnet::RoutingState::kEnabled));
    EXPECT_TRUE(core().buffers.resize(kRouterBuffers));
    shard.add(*this);
  }

  [[nodiscard]] lnet::ShardCore& core() { return node_->shard(0).core(); }
  // The LND of the clients' network.
  [[nodiscard]] const KfiLnd& lnd() const { return *sides_[0].lnd; }

  unsigned poll(Instant now) override {
    unsigned work = node_->turn(now);
    for (Side& side : sides_)
      work += side.driver->poll(now);
    return work;
  }
  [[nodiscard]] std::string_view name() const override { return "kfi router"; }
  [[nodiscard]] Instant next_deadline() const override { return node_->shard(0).next_deadline(); }

 private:
  struct Side {
    EndpointRelay relay;
    std::unique_ptr<drivers::SimEndpointDriver> driver;
    const KfiLnd* lnd = nullptr;  // the node's
  };

  mocks::CoreNodeSetup setup() {
    EXPECT_TRUE(arenas_.add({.base = memory_.data(), .size = memory_.size()}).has_value());
    return {.nids = {nid_on(0, 0), nid_on(1, 0)},
            .limits = {.peer_ports = 64,
                       .extra_links = 64,
                       .messages = 512,
                       .receives = 4 * kReceives,
                       .descriptors = 8,
                       .match_entries = 8},
            .peers = 64,
            .tunables = {.peer_credits = 16, .credits = 256},
            .arenas = &arenas_,
            .router_memory = {{.at = {0, 2 * kBufferBytes}, .most = kRouterBuffers}},
            .doorbells = {&shard_}};
  }
  std::unique_ptr<lnet::Lnd> make(lnet::NiPort& port) {
    const Nid nid = port.ni().nid;
    const unsigned number = nid.number();
    Side& side = sides_[number];
    side.driver = make_driver(fabric_, shard_, nid, arenas_, side.relay);
    auto lnd = std::make_unique<KfiLnd>(
        KfiLndConfig{.nid = nid,
                     .arenas = &arenas_,
                     .receive_memory = {{0, number * kBufferBytes}, kBufferBytes},
                     .receives_max = kReceives,
                     .copies_max = kReceives,
                     .start = start_},
        port, *side.driver);
    side.relay.attach(*lnd);
    side.lnd = lnd.get();
    return lnd;
  }

  SimEndpointFabric& fabric_;
  SimShard& shard_;
  const Instant start_;
  std::vector<std::byte> memory_;
  ArenaTable arenas_;
  std::array<Side, 2> sides_;  // they outlive the node's LNDs
  std::unique_ptr<mocks::CoreNode> node_;
};

// Host 0 is the router; then the clients of the live server, those of the dead one, and the two.
class Site {
 public:
  explicit Site(std::uint64_t seed)
      : cluster_(seed, shape(), 2 * kClients + 3),
        fabric_(cluster_.network, cluster_.shape.endpoint, seed),
        router(fabric_, *cluster_.shards[0], cluster_.loop.now()) {
    for (unsigned i = 1; i < cluster_.shards.size(); ++i) {
      nodes_.push_back(std::make_unique<EndNode>(
          fabric_, *cluster_.shards[i], nid_on(i > 2 * kClients ? 1 : 0, i), cluster_.loop.now()));
    }
    cluster_.network.set_present(cluster_.shards[kDead]->host(), false);
  }

  // A message to the live server every other step from each of its clients, and one in each step to
  // the dead one. Returns how many were sent to the live one.
  std::uint64_t run(Duration time) {
    std::uint64_t sent = 0;
    const auto steps = static_cast<unsigned>(time / kStep);
    for (unsigned step = 0; step < steps; ++step) {
      for (unsigned client = 1; client <= kClients; ++client) {
        put(kClients + client, kDead);
        if ((step + client) % 2 != 0) continue;
        put(client, kLive);
        ++sent;
      }
      pass(kStep);
    }
    return sent;
  }
  void pass(Duration time) {
    for (const Instant end = cluster_.loop.now() + time; cluster_.loop.now() < end;) {
      for (auto& shard : cluster_.shards)
        shard->ring();
      cluster_.loop.run_for(kStep);
    }
  }
  [[nodiscard]] std::uint64_t received() const { return nodes_[kLive - 1]->puts(); }

 private:
  static constexpr unsigned kLive = 2 * kClients + 1;
  static constexpr unsigned kDead = 2 * kClients + 2;

  // The NIC tries a silent peer for as long as hardware does.
  static drivers::SimShape shape() {
    drivers::SimShape calm = drivers::SimShape::calm();
    calm.endpoint.timeout = seconds(30);
    calm.endpoint.retries_max = 100000;
    return calm;
  }
  void put(unsigned from, unsigned to) { nodes_[from - 1]->put(nid_on(0, 0), nid_on(1, to)); }

  drivers::SimCluster cluster_;
  SimEndpointFabric fabric_;
  std::vector<std::unique_ptr<EndNode>> nodes_;

 public:
  Router router;
};

TEST(KfilndDeadHop, MessagesForOthersAreForwarded) {
  Site site(1);
  const std::uint64_t sent = site.run(seconds(1));
  site.pass(milliseconds(100));
  EXPECT_GE(site.received() * 100, sent * 99) << "of " << sent;
  EXPECT_GT(site.router.lnd().count(KfiLndCounters::Id::kParkedShare) +
                site.router.core().causes.get(Cause::kDroppedHopParked),
            0U);
  EXPECT_GT(site.router.lnd().receives_free(), kReceives / (2 * kClients + 2));
  EXPECT_EQ(site.router.core().causes.get(Cause::kDroppedNoReceive), 0U);
}

}  // namespace
}  // namespace plnet::kfilnd::dead_hop_test
