// SPDX-License-Identifier: BSD-3-Clause
// Shards that select paths at the same time, while health and credits change.
#include <atomic>
#include <latch>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "lib/base/random.hpp"
#include "tests/unit/lib/lnet/paths/path_site.hpp"

namespace plnet::lnet::path_concurrent_test {
namespace {

constexpr int kShards = 3;

TEST(PathConcurrent, all_shards_agree_on_the_source_of_a_peer_that_is_not_multi_rail) {
  constexpr int kPeers = 2000;
  PathSite site;
  site.add_net(kTcp0, 3);
  std::vector<SitePeer*> peers;
  for (int i = 0; i < kPeers; ++i)
    peers.push_back(&site.add_peer(false, {{kTcp0, 1}}));

  std::vector<std::vector<const Ni*>> sources(kShards);
  std::latch ready(kShards);
  std::vector<std::thread> shards;
  for (std::size_t shard = 0; shard < kShards; ++shard) {
    shards.emplace_back([&, shard] {
      PathSequences sequences({.peer_nets = kPeers, .peer_nis = kPeers});
      // Each shard begins its rotation at another position.
      sequences.use(site.local.nets[0], site.ni(shard));
      ready.arrive_and_wait();
      for (SitePeer* const peer : peers) {
        const auto path = select_path({.destination = &peer->ni()}, site.local, site.routes,
                                      sequences, site.parameters);
        sources[shard].push_back(path ? path->ni : nullptr);
      }
    });
  }
  for (auto& shard : shards)
    shard.join();
  for (std::size_t i = 0; i < kPeers; ++i) {
    for (std::size_t shard = 0; shard < kShards; ++shard)
      ASSERT_EQ(sources[shard][i], peers[i]->ni().preferred_ni.get());
  }
}

TEST(PathConcurrent, a_path_is_valid_whatever_changes_meanwhile) {
  PathSite site;
  site.add_net(kTcp0, 2);
  site.add_net(kTcp1, 2);
  SitePeer& near = site.add_peer(true, {{kTcp0, 2}, {kTcp1, 2}});
  SitePeer& far = site.add_peer(true, {{kIb0, 3}});
  for (int i = 0; i < 4; ++i)
    site.add_route(kIb0, site.add_peer(true, {{kTcp0, 2}, {kTcp1, 1}}));
  site.route_list()[0]->alive.set(true);

  std::atomic<bool> over{false};
  std::thread world([&] {
    Random random(3);
    while (!over.load(std::memory_order_relaxed)) {
      const auto value = static_cast<std::int32_t>(random.below(3));
      site.ni(random.below(4)).health.set(value);
      site.ni(random.below(4)).fatal.set(value == 0);
      near.ni(random.below(4)).tx_credits.set(value);
      far.ni(random.below(3)).health.set(value);
      // One route always stays up.
      site.route_list()[random.between(1, 3)]->alive.set(value == 0);
    }
  });
  std::vector<std::thread> shards;
  std::atomic<int> bad{0};
  for (int shard = 0; shard < kShards - 1; ++shard) {
    shards.emplace_back([&] {
      PathSequences sequences({.peer_nets = 100, .peer_nis = 100});
      for (int i = 0; i < 20000; ++i) {
        SitePeer& peer = i % 2 == 0 ? near : far;
        const auto path = select_path({.destination = &peer.ni()}, site.local, site.routes,
                                      sequences, site.parameters);
        const bool good = path && path->ni->net == path->next_hop->net &&
                          path->destination->peer.load() == &peer.peer &&
                          path->via_router == (i % 2 != 0);
        if (!good) ++bad;
      }
    });
  }
  for (auto& shard : shards)
    shard.join();
  over.store(true);
  world.join();
  EXPECT_EQ(bad.load(), 0);
}

}  // namespace
}  // namespace plnet::lnet::path_concurrent_test
