// SPDX-License-Identifier: BSD-3-Clause
// Interfaces that are added and removed while a node of several shards runs and sends.
#include <array>
#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include "drivers/net/null/device.hpp"
#include "lib/base/arena.hpp"
#include "lib/base/doorbell.hpp"
#include "lib/base/random.hpp"
#include "lib/lnet/node/node.hpp"

namespace plnet::lnet::running_node_test {
namespace {

constexpr unsigned kShards = 3;
constexpr std::uint32_t kPeers = 20;
constexpr std::size_t kControlBytes = 1 << 20;

struct Tally final : EventHandler {
  void on_event(const Event& event) override {
    if (event.kind == EventKind::kAck) ++acks;
    if (event.kind == EventKind::kSend) ++sends;
  }
  std::uint64_t sends = 0, acks = 0;
};

class EchoMaker final : public LndMaker {
 public:
  std::unique_ptr<Lnd> make(NiPort& port, ShardId /*shard*/) override {
    return std::make_unique<drivers::NullLnd>(
        drivers::NullConfig{.mode = drivers::NullMode::kEcho, .peers_max = 64}, port, random_);
  }

 private:
  Random random_{1};
};

class RunningNode : public testing::TestWithParam<std::uint64_t> {
 protected:
  RunningNode() : memory_(kControlBytes), random_(GetParam()) {
    (void)arenas_.add({.base = memory_.data(), .size = memory_.size()});
    NodeSetup setup{
        .cpt_of_shard = {0, 0, 1}, .arenas = &arenas_, .doorbells = doorbells_, .start = now_};
    setup.shard_limits = {.peer_ports = 128,
                          .extra_links = 16,
                          .messages = 64,
                          .receives = 64,
                          .descriptors = 256,
                          .match_entries = 256};
    setup.coordinator.peers.peers = setup.coordinator.peers.peer_nis = 256;
    setup.control_memory = {{0, 0}, memory_};
    node_ = std::make_unique<Node>(setup);
    node_->parameters().discovery.set(0);
    node_->set_running();
    for (unsigned i = 0; i < kShards; ++i)
      mds_[i] = node_->shard(i).bind({.handler = &tally_}).value();
  }

  static Nid peer_nid(std::uint32_t number) { return Nid::of(NetType::kTcp, 0, 100 + number); }

  // Turns one shard.
  void turn() {
    now_ += std::chrono::microseconds(5);
    const auto i = static_cast<unsigned>(random_.below(kShards));
    node_->shard(i).begin_turn(now_);
    (void)node_->shard(i).poll(now_);
    if (i == 0) (void)node_->coordinate(now_);
    node_->quiescent(i);
  }
  void turns(unsigned count) {
    for (unsigned i = 0; i < count; ++i)
      turn();
  }
  // Sent as a recovery ping, since the network could not answer those of discovery.
  void put() {
    const auto i = random_.below(kShards);
    const Nid to = peer_nid(static_cast<std::uint32_t>(random_.below(kPeers)));
    const auto begun =
        node_->shard(static_cast<unsigned>(i))
            .put(mds_[i], {.target = {to}, .portal = 9, .match_bits = 1, .recovery = true});
    if (begun) ++begun_;
  }

  std::vector<std::byte> memory_;
  Random random_;
  ArenaTable arenas_;
  std::array<SilentDoorbell, kShards> bells_;
  std::array<Doorbell*, kShards> doorbells_{&bells_[0], &bells_[1], &bells_[2]};
  Instant now_{std::chrono::seconds(1)};
  Tally tally_;
  EchoMaker maker_;
  std::unique_ptr<Node> node_;
  std::array<MdHandle, kShards> mds_;
  std::uint64_t begun_ = 0;
};

TEST_P(RunningNode, InterfacesComeAndGoUnderTraffic) {
  const Nid nid = Nid::of(NetType::kTcp, 0, 1);
  for (unsigned round = 0; round < 6; ++round) {
    NiSetup config{.nid = nid};
    if (round % 2 == 1) config.cpts = {1};
    ASSERT_TRUE(node_->add_ni(config, maker_).has_value());
    const std::uint64_t acks = tally_.acks;
    for (unsigned i = 0; i < 300; ++i) {
      put();
      turns(3);
    }
    EXPECT_GT(tally_.acks, acks + 100);
    ASSERT_TRUE(node_->remove_ni(nid).has_value());
    for (unsigned i = 0; i < 20; ++i) {
      put();
      turn();
    }
    for (unsigned i = 0; node_->releasing_nis() > 0 || !node_->idle(); ++i) {
      ASSERT_LT(i, 20'000U) << "the interface does not go";
      turn();
    }
    turns(500);
    EXPECT_EQ(tally_.sends, begun_);
    EXPECT_TRUE(node_->idle());
    for (unsigned i = 0; i < kShards; ++i) {
      const ShardCore& core = node_->shard(i).core();
      EXPECT_EQ(core.messages.free_count(), core.messages.capacity());
      EXPECT_EQ(core.receives.free_count(), core.receives.capacity());
      EXPECT_EQ(core.ports[1], nullptr);
      EXPECT_EQ(core.peers.links_of(1), 0U);
    }
  }
}

TEST_P(RunningNode, AnInterfaceIsRemovedDespiteHeldMessages) {
  const Nid nid = Nid::of(NetType::kTcp, 0, 1);
  ASSERT_TRUE(node_->coordinator()
                  .add_fault({.kind = FaultKind::kDelay, .rate = 2, .latency_s = 1'000'000})
                  .has_value());
  ASSERT_TRUE(node_->add_ni({.nid = nid}, maker_).has_value());
  for (unsigned i = 0; i < 100; ++i) {
    put();
    turns(3);
  }
  std::uint64_t held = 0;
  for (unsigned i = 0; i < kShards; ++i)
    held += node_->shard(i).core().causes.get(Cause::kDelayedByRule);
  EXPECT_GT(held, 10U);
  EXPECT_EQ(node_->coordinator().faults(FaultKind::kDelay).at(0).counts.struck, held);
  ASSERT_TRUE(node_->remove_ni(nid).has_value());
  for (unsigned i = 0; node_->releasing_nis() > 0 || !node_->idle(); ++i) {
    ASSERT_LT(i, 20'000U) << "the interface does not go";
    turn();
  }
  EXPECT_EQ(tally_.sends, begun_);
}

TEST_P(RunningNode, NoMessageIsHeldWhenTheNodeEnds) {
  ASSERT_TRUE(node_->coordinator()
                  .add_fault({.kind = FaultKind::kDelay, .rate = 1, .latency_s = 1'000'000})
                  .has_value());
  ASSERT_TRUE(node_->add_ni({.nid = Nid::of(NetType::kTcp, 0, 1)}, maker_).has_value());
  put();
  turns(200);
  EXPECT_FALSE(node_->idle());
  node_->coordinator().shut_down();
  turns(200);
  EXPECT_TRUE(node_->idle());
  EXPECT_EQ(tally_.sends, begun_);
}

TEST_P(RunningNode, AnInterfaceThatAPingRevivesIsUp) {
  const auto added = node_->add_ni({.nid = Nid::of(NetType::kTcp, 0, 1)}, maker_);
  ASSERT_TRUE(added.has_value());
  Ni& ni = **added;
  node_->coordinator().set_ni_status(ni, kNiDown, false);
  ni.revived.set(true);
  node_->shard(1).core().shared.ni_changed.store(true);
  node_->shard(0).begin_turn(now_);
  (void)node_->shard(0).poll(now_);
  EXPECT_EQ(ni.status.get(), kNiUp) << "before it is answered";
}

TEST_P(RunningNode, PingRepliesContainTheStatusOfTheLnd) {
  const auto added = node_->add_ni({.nid = Nid::of(NetType::kTcp, 0, 1)}, maker_);
  ASSERT_TRUE(added.has_value());
  Ni& ni = **added;
  turns(50);
  const auto changes = [this] {
    return node_->coordinator().ping_target().counters().get(PingTargetTable::Id::kStatus);
  };
  const std::uint64_t before = changes();
  NiPort& port = *node_->shard(1).core().ports[ni.number];
  port.on_interface(InterfaceState::kFatal, Errc::kNetworkDown);
  turns(50);
  EXPECT_TRUE(ni.fatal.get());
  EXPECT_EQ(ni.status.get(), kNiDown);
  EXPECT_EQ(changes(), before + 1);
  port.on_interface(InterfaceState::kUp, Errc::kNetworkDown);
  turns(50);
  EXPECT_EQ(ni.status.get(), kNiUp);
  EXPECT_EQ(changes(), before + 2);
}

INSTANTIATE_TEST_SUITE_P(Seeds, RunningNode, testing::Range<std::uint64_t>(1, 21));

}  // namespace
}  // namespace plnet::lnet::running_node_test
