// SPDX-License-Identifier: BSD-3-Clause
// Whole nodes: LNet with its coordinator on the kfi LND on simulated endpoints. PUT with and
// without ACK, GET that is placed and GET that matches nothing, PUT that nobody wants, over seeds.
#include <list>

#include <gtest/gtest.h>

#include "drivers/net/sim/endpoint_driver.hpp"
#include "lib/kfilnd/endpoint_relay.hpp"
#include "lib/kfilnd/lnd.hpp"
#include "lib/lnet/node/node.hpp"
#include "tests/unit/drivers/seeds.hpp"
#include "tests/unit/drivers/sim_cluster.hpp"
#include "tests/unit/lib/kfilnd/messages.hpp"

namespace plnet::kfilnd {
namespace {

using namespace lnet;
using drivers::SimShape;

constexpr std::size_t kPeers = 16;
constexpr std::uint64_t kControlBytes = 1U << 20U;
constexpr std::uint64_t kReceiveBytes = 1U << 18U;
constexpr std::uint64_t kProgramBytes = 8U << 20U;
constexpr PortalId kPortal = 50;

class CoreOnKfi final : public Pollable, public EventHandler, LndMaker {
 public:
  CoreOnKfi(drivers::SimEndpointFabric& fabric, drivers::SimShard& shard, unsigned index,
            Instant start)
      : nid(nid_of(index)), memory_(kControlBytes + kReceiveBytes + kProgramBytes), bells_{&shard} {
    PLNET_CHECK(arenas_.add({.base = memory_.data(), .size = memory_.size()}).has_value(), "room");
    driver_ = std::make_unique<drivers::SimEndpointDriver>(
        fabric,
        drivers::SimEndpointConfig{.host = shard.host(),
                                   .process = {nic_address_of(nid), service_of(nid)},
                                   .limits = {.operations_max = 1024}},
        arenas_, relay_, shard);
    NodeSetup setup{.interface_cookie = index + 1,
                    .arenas = &arenas_,
                    .control_memory = {{0, 0}, std::span(memory_).first(kControlBytes)},
                    .doorbells = bells_,
                    .start = start};
    setup.shard_limits = {.peer_ports = kPeers,
                          .extra_links = kPeers,
                          .messages = 256,
                          .receives = 256,
                          .descriptors = 256,
                          .match_entries = 256};
    setup.coordinator.peers.peers = setup.coordinator.peers.peer_nis = kPeers;
    setup.coordinator.peers.kept_for_own = 0;
    node_ = std::make_unique<Node>(setup);
    PLNET_CHECK(node_->add_ni({.nid = nid}, *this).has_value(), "the first of its kind");
    node_->set_running();
    shard.add(*this);
  }

  unsigned poll(Instant now) override {
    node_->shard(0).begin_turn(now);
    unsigned work = driver_->poll(now);
    work += node_->shard(0).poll(now);
    node_->quiescent(0);
    return work + node_->coordinate(now);
  }
  [[nodiscard]] std::string_view name() const override { return "core on kfi"; }
  [[nodiscard]] Instant next_deadline() const override {
    return std::min(node_->shard(0).next_deadline(),
                    node_->next_coordination(node_->shard(0).core().now));
  }

  Fragment& room(std::size_t bytes) {
    PLNET_CHECK(used_ + bytes <= kProgramBytes, "the program's memory is large enough");
    fragments_.push_back(
        {{0, kControlBytes + kReceiveBytes + used_}, static_cast<std::uint32_t>(bytes)});
    used_ += bytes;
    return fragments_.back();
  }
  std::span<std::byte> bytes(const Fragment& fragment) { return arenas_.bytes(fragment); }
  void fill(const Fragment& fragment, std::uint8_t seed) {
    for (std::byte& byte : bytes(fragment))
      byte = static_cast<std::byte>(seed++);
  }
  // A place for one PUT or GET.
  Fragment& attach(std::uint64_t bits, std::uint32_t length, std::uint32_t options) {
    Fragment& place = room(length);
    const auto attached = node_->shard(0).attach({.portal = kPortal, .match_bits = bits},
                                                 {.fragments = {&place, 1},
                                                  .length = length,
                                                  .threshold = 1,
                                                  .options = options | kMdManageRemote,
                                                  .handler = this});
    PLNET_CHECK(attached.has_value(), "a place for it");
    return place;
  }
  Fragment& put(const Nid& to, std::uint64_t bits, std::uint32_t length, bool ack) {
    Fragment& source = room(length);
    fill(source, static_cast<std::uint8_t>(bits));
    const auto md = node_->shard(0).bind(
        {.fragments = {&source, 1}, .length = length, .threshold = ack ? 2 : 1, .handler = this});
    PLNET_CHECK(
        md && node_->shard(0).put(
                  *md, {.target = {.nid = to}, .portal = kPortal, .match_bits = bits, .ack = ack}),
        "a PUT");
    return source;
  }
  Fragment& get(const Nid& to, std::uint64_t bits, std::uint32_t length) {
    Fragment& sink = room(length);
    const auto md = node_->shard(0).bind(
        {.fragments = {&sink, 1}, .length = length, .threshold = 2, .handler = this});
    PLNET_CHECK(md && node_->shard(0).get(
                          *md, {.target = {.nid = to}, .portal = kPortal, .match_bits = bits}),
                "a GET");
    return sink;
  }
  void on_event(const Event& event) override {
    ++seen[static_cast<std::size_t>(event.kind)];
    if (!event.status) ++failures;
  }
  [[nodiscard]] unsigned events(EventKind kind) const {
    return seen[static_cast<std::size_t>(kind)];
  }
  [[nodiscard]] const KfiLnd& lnd() const { return *lnd_; }

  const Nid nid;
  std::array<unsigned, 8> seen{};
  unsigned failures = 0;

 private:
  std::unique_ptr<Lnd> make(NiPort& port, ShardId /*shard*/) override {
    auto lnd = std::make_unique<KfiLnd>(
        KfiLndConfig{
            .nid = nid, .arenas = &arenas_, .receive_memory = {{0, kControlBytes}, kReceiveBytes}},
        port, *driver_);
    relay_.attach(*lnd);
    lnd_ = lnd.get();
    return lnd;
  }

  std::vector<std::byte> memory_;
  ArenaTable arenas_;
  std::vector<Doorbell*> bells_;
  EndpointRelay relay_;
  std::unique_ptr<drivers::SimEndpointDriver> driver_;
  std::unique_ptr<Node> node_;
  KfiLnd* lnd_ = nullptr;  // the node's
  std::list<Fragment> fragments_;
  std::uint64_t used_ = 0;
};

class KfilndCore : public testing::Test {
 protected:
  void build(std::uint64_t seed, SimShape shape) {
    shape.endpoint.retries_max = 10000;
    nodes_.clear();
    fabric_.reset();
    cluster_ = std::make_unique<drivers::SimCluster>(seed, shape);
    fabric_ = std::make_unique<drivers::SimEndpointFabric>(cluster_->network, shape.endpoint, seed);
    for (unsigned i = 0; i < 2; ++i) {
      nodes_.push_back(
          std::make_unique<CoreOnKfi>(*fabric_, *cluster_->shards[i], i, cluster_->loop.now()));
    }
  }
  bool run(const std::function<bool()>& done) {
    const Instant end = cluster_->loop.now() + std::chrono::seconds(60);
    while (cluster_->loop.now() < end && !done()) {
      for (auto& shard : cluster_->shards)
        shard->ring();
      cluster_->loop.run_for(std::chrono::microseconds(200));
    }
    return done();
  }
  [[nodiscard]] CoreOnKfi& a() { return *nodes_[0]; }
  [[nodiscard]] CoreOnKfi& b() { return *nodes_[1]; }

 private:
  std::unique_ptr<drivers::SimCluster> cluster_;
  std::unique_ptr<drivers::SimEndpointFabric> fabric_;
  std::vector<std::unique_ptr<CoreOnKfi>> nodes_;
};

constexpr auto kLengths = std::to_array<std::uint32_t>({0, 1, 3996, 3997, 65536, 1U << 20U});

TEST_F(KfilndCore, PutsAndGetsOfEverySize) {
  drivers::for_each_seed(10, [&](std::uint64_t seed) {
    build(seed, seed % 2 == 0 ? SimShape::rough() : SimShape::calm());
    std::vector<std::pair<Fragment*, Fragment*>> copies;  // b's, a's
    std::uint64_t bits = 0;
    for (const std::uint32_t length : kLengths) {
      Fragment& sink = b().attach(++bits, length, kMdPut);
      copies.emplace_back(&sink, &a().put(b().nid, bits, length, true));
      Fragment& source = b().attach(++bits, length, kMdGet);
      b().fill(source, static_cast<std::uint8_t>(bits));
      copies.emplace_back(&source, &a().get(b().nid, bits, length));
    }
    ASSERT_TRUE(run([&] {
      return a().events(EventKind::kAck) == kLengths.size() &&
             a().events(EventKind::kReply) == kLengths.size() &&
             b().events(EventKind::kGet) == kLengths.size();
    }));
    EXPECT_EQ(b().events(EventKind::kPut), kLengths.size());
    EXPECT_EQ(a().failures + b().failures, 0U);
    for (const auto& [theirs, ours] : copies) {
      EXPECT_TRUE(std::ranges::equal(b().bytes(*theirs), a().bytes(*ours)));
    }
    EXPECT_GE(a().lnd().count(KfiLndCounters::Id::kSentBulkPut), 3U);
    EXPECT_EQ(a().lnd().count(KfiLndCounters::Id::kSentBulkGet), 3U);
    EXPECT_EQ(b().lnd().count(KfiLndCounters::Id::kUnexpected), 0U);
  });
}

// kfilnd.md 13, point 9.
TEST_F(KfilndCore, NobodyWantsThem) {
  build(3, SimShape::calm());
  a().get(b().nid, 99, 65536);
  a().put(b().nid, 98, 65536, false);
  ASSERT_TRUE(run([&] { return a().events(EventKind::kSend) == 2; }));
  EXPECT_EQ(b().lnd().count(KfiLndCounters::Id::kSkips), 2U);
  EXPECT_EQ(b().events(EventKind::kPut) + b().events(EventKind::kGet), 0U);
  ASSERT_TRUE(run([&] { return a().lnd().idle() && b().lnd().idle(); }));
}

}  // namespace
}  // namespace plnet::kfilnd
