// SPDX-License-Identifier: BSD-3-Clause
// Two nodes whose shards, all of one CPT, have threads of their own, with large PUTs between them
// over real sockets: all shards use the connections of one peer.
#include <algorithm>
#include <array>
#include <atomic>
#include <thread>

#include "tests/unit/node/net/tcp/side.hpp"

namespace plnet::node::tcp_lanes_concurrent_test {
namespace {

using LndId = socklnd::SockLndCounters::Id;

constexpr unsigned kShards = 2;
constexpr std::uint32_t kLength = 16'000;
constexpr unsigned kPutsOfShard = 150;
constexpr unsigned kPutsMax = 2 * kPutsOfShard;
// The sent bytes, and one target for each PUT: several are written at the same time.
constexpr std::uint32_t kTargetBytes = kShards * kPutsMax * kLength;
constexpr std::size_t kMemoryBytes = kLength + kTargetBytes;
constexpr unsigned kDepth = 12;
constexpr lnet::PortalId kPortal = 9;

struct Tally final : lnet::EventHandler {
  void on_event(const lnet::Event& event) override {
    if (event.kind == lnet::EventKind::kSend) ++(event.status ? sent : failed);
    if (event.kind == lnet::EventKind::kAck) ++acks;
    if (event.kind == lnet::EventKind::kPut && event.status) ++received;
  }
  unsigned put = 0, sent = 0, failed = 0, acks = 0, received = 0;
};

class LanesWithThreads : public ::testing::Test {
 protected:
  struct Node {
    explicit Node(ManualClock& clock)
        : memory(kMemoryBytes),
          side({.shards = kShards, .one_cpt = true, .connections = kShards, .messages = 128},
               clock) {
      const auto arena = side.arenas().add({.base = memory.data(), .size = memory.size()});
      source[0] = {{arena.value(), 0}, kLength};
      target[0] = {{arena.value(), kLength}, kTargetBytes};
      for (std::uint32_t i = 0; i < kLength; ++i)
        memory[i] = static_cast<std::byte>(i * 7 + i / 251);
    }
    [[nodiscard]] bool holds(unsigned place) const {
      const auto bytes = std::span(memory);
      return std::ranges::equal(bytes.subspan(kLength + place * std::size_t{kLength}, kLength),
                                bytes.first(kLength));
    }

    std::vector<std::byte> memory;
    std::array<Fragment, 1> source{};
    std::array<Fragment, 1> target{};
    std::array<Tally, kShards> tallies;
    TcpSide side;
  };

  void add(unsigned index) {
    ASSERT_TRUE(nodes[index]->side.add(nid_of(index + 1)));
    const lnet::Ni* const ni = nodes[index]->side.node->coordinator().local().ni(nid_of(index + 1));
    for (unsigned turn = 0; turn < 100 && !ni->plugged.get(); ++turn)
      nodes[index]->side.turn(clock.now());
    ASSERT_TRUE(ni->plugged.get());
  }
  // The body of one thread. Node 0 sends; the shards of the other node receive.
  void live(unsigned index, unsigned number) {
    Node& node = *nodes[index];
    lnet::Shard& shard = node.side.node->shard(number);
    Tally& tally = node.tallies[number];
    const auto md = shard.bind({.fragments = node.source, .length = kLength, .handler = &tally});
    PLNET_CHECK(md.has_value(), "a fresh shard has descriptors");
    bool done = index != 0;
    while (working_.load() > 0) {
      const Instant now{
          Duration{index == 0 && number == 0 ? now_ns_.fetch_add(10'000) : now_ns_.load()}};
      while (index == 0 && tally.put < goal_ && tally.put < tally.acks + kDepth) {
        const unsigned place = number * kPutsMax + tally.put;
        if (!shard.put(*md, {.target = {nid_of(2)}, .portal = kPortal, .offset = place * kLength}))
          break;
        ++tally.put;
      }
      node.side.turn_shard(number, now);
      if (!done && tally.acks == goal_ && all_connected(number)) {
        done = true;
        working_.fetch_sub(1);
      }
      std::this_thread::yield();
    }
    (void)shard.unlink(*md);
  }
  // Further connections are made while messages are already in flight.
  [[nodiscard]] bool all_connected(unsigned number) const {
    return nodes[0]->side.count(number, LndId::kOpen) >= 2;
  }
  // Each shard on its own thread, until all have finished.
  void run(unsigned goal) {
    goal_ = goal;
    working_.store(kShards);
    std::vector<std::thread> threads;
    for (unsigned index = 0; index < nodes.size(); ++index) {
      for (unsigned shard = 0; shard < kShards; ++shard)
        threads.emplace_back([this, index, shard] { live(index, shard); });
    }
    for (std::thread& thread : threads)
      thread.join();
    clock.advance(Duration{now_ns_.load()} - clock.now().time_since_epoch());
  }

  ManualClock clock;
  std::array<std::unique_ptr<Node>, 2> nodes;
  std::atomic<std::int64_t> now_ns_{1'000'000'000};
  std::atomic<unsigned> working_{0};
  unsigned goal_ = 0;
};

TEST_F(LanesWithThreads, OnePeerIsServedByAllShards) {
  for (unsigned index = 0; index < 2; ++index) {
    nodes[index] = std::make_unique<Node>(clock);
    add(index);
  }
  if (!nodes[0]->side.tcp->privileged()) GTEST_SKIP() << "needs ports below 1024: one connection";
  const auto attached = nodes[1]->side.node->shard(0).attach(
      {.portal = kPortal}, {.fragments = nodes[1]->target,
                            .length = kTargetBytes,
                            .options = lnet::kMdPut | lnet::kMdManageRemote,
                            .handler = &nodes[1]->tallies[0]});
  ASSERT_TRUE(attached);
  run(kPutsOfShard);
  run(kPutsMax);  // with all connections open
  for (unsigned shard = 0; shard < kShards; ++shard) {
    EXPECT_EQ(nodes[0]->tallies[shard].failed, 0U);
    EXPECT_GT(nodes[0]->side.count(shard, LndId::kSent), kPutsOfShard / 4);
    EXPECT_GT(nodes[1]->side.count(shard, LndId::kReceived), kPutsOfShard / 4);
  }
  for (unsigned place = 0; place < kShards * kPutsMax; ++place)
    EXPECT_TRUE(nodes[1]->holds(place)) << place;
  EXPECT_TRUE(nodes[1]->side.node->shard(0).unlink(attached->me));
}

}  // namespace
}  // namespace plnet::node::tcp_lanes_concurrent_test
