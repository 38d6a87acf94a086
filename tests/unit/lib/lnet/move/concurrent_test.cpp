// SPDX-License-Identifier: BSD-3-Clause
// Shards polled by threads of their own: PUTs from each of them to peers with homes on all of them,
// peers created while messages run, and one peer deleted repeatedly. The test ends when all
// messages are counted.
#include <atomic>
#include <barrier>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "drivers/net/null/device.hpp"
#include "lib/base/random.hpp"
#include "tests/mocks/core_node.hpp"

namespace plnet::lnet::concurrent_test {
namespace {

constexpr unsigned kShards = 3;
constexpr std::uint64_t kPutsEach = 6000;
constexpr std::uint64_t kPeers = 90;
constexpr std::uint64_t kDepth = 16;

struct Tally final : EventHandler {
  void on_event(const Event& event) override {
    if (event.kind == EventKind::kAck) ++acks;
    if (event.kind != EventKind::kSend) return;
    ++sends;
    if (!event.status) ++failures;
  }
  std::uint64_t sends = 0, acks = 0, failures = 0;
};

Nid peer_nid(std::uint64_t number) {
  return Nid::of(NetType::kTcp, 0, 100 + static_cast<std::uint32_t>(number));
}

class ShardsWithThreads : public testing::Test {
 protected:
  ShardsWithThreads()
      : node_({.shards = kShards,
               .nids = {Nid::of(NetType::kTcp, 0, 1)},
               .limits = {.peer_ports = 128,
                          .extra_links = 16,
                          .messages = 128,
                          .receives = 128,
                          .descriptors = 16,
                          .match_entries = 16},
               .peers = 128,
               .tunables = {.peer_credits = 4, .credits = 64},
               .arenas = &arenas_},
              [this](NiPort& port, ShardId /*shard*/) {
                return std::make_unique<drivers::NullLnd>(
                    drivers::NullConfig{.mode = drivers::NullMode::kEcho, .peers_max = 128}, port,
                    random_);
              }) {}

  // The body of one thread. The first one also runs the directory. `deleting`: peer 0 is deleted
  // now and then.
  void live(unsigned number, bool deleting) {
    Shard& shard = node_.shard(number);
    Tally& tally = tallies_[number];
    const MdHandle md = shard.bind({.handler = &tally}).value();
    std::uint64_t begun = 0;
    bool counted = false;
    for (std::uint64_t turn = 0; finished_.load() < kShards; ++turn) {
      // New peers are used all the time.
      for (; begun < kPutsEach && begun - tally.sends < kDepth; ++begun) {
        const std::uint64_t peer = (begun * 7 + number) % (1 + begun * kPeers / kPutsEach);
        (void)shard.put(md, {.target = {peer_nid(peer)}, .portal = 9, .ack = true});
      }
      const Instant now{std::chrono::microseconds(turn)};
      (void)node_.turn_shard(number, now);
      if (number == 0) {
        if (deleting && turn % 300 == 7 && begun < kPutsEach) node_.delete_peer(peer_nid(0));
        (void)node_.step_directory(now);
      }
      if (!counted && begun == kPutsEach && tally.sends == kPutsEach && shard.idle()) {
        counted = true;
        finished_.fetch_add(1);
      }
      std::this_thread::yield();
    }
  }

  void run(bool deleting) {
    std::vector<std::jthread> threads;
    threads.reserve(kShards);
    for (unsigned i = 0; i < kShards; ++i)
      threads.emplace_back([this, i, deleting] { live(i, deleting); });
  }

  // Runs after the threads have ended.
  void expect_conserved() {
    for (unsigned i = 0; i < 100 || !node_.quiet(); ++i) {
      ASSERT_LT(i, 10'000U);
      node_.turn(Instant{std::chrono::hours(1)});
    }
    for (unsigned i = 0; i < kShards; ++i) {
      ShardCore& core = node_.shard(i).core();
      EXPECT_EQ(core.messages.free_count(), core.messages.capacity());
      EXPECT_EQ(core.receives.free_count(), core.receives.capacity());
      EXPECT_EQ(core.statistics.get(Statistic::kMessagesAlloc), 0U);
      EXPECT_EQ(core.ports[1]->tx_credits(), core.ports[1]->tx_credits_max());
      core.peers.for_each([](const PeerPort& peer) {
        EXPECT_EQ(peer.outstanding, 0U);
        EXPECT_EQ(peer.tx_credits(), peer.tx_credits_max);
      });
    }
  }

  Random random_{1};
  ArenaTable arenas_;
  mocks::CoreNode node_;
  std::array<Tally, kShards> tallies_;
  std::atomic<unsigned> finished_{0};
};

TEST_F(ShardsWithThreads, EveryPutIsAcknowledged) {
  run(false);
  expect_conserved();
  for (const Tally& tally : tallies_) {
    EXPECT_EQ(tally.sends, kPutsEach);
    EXPECT_EQ(tally.acks, kPutsEach);
    EXPECT_EQ(tally.failures, 0U);
  }
}

TEST_F(ShardsWithThreads, EveryPutEndsThoughItsPeerIsDeleted) {
  run(true);
  expect_conserved();
  for (const Tally& tally : tallies_) {
    EXPECT_EQ(tally.sends, kPutsEach);
    EXPECT_LE(tally.acks, kPutsEach);
    EXPECT_GT(tally.acks, kPutsEach / 2);
  }
}

}  // namespace
}  // namespace plnet::lnet::concurrent_test
