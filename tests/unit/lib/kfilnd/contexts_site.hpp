// SPDX-License-Identifier: BSD-3-Clause
// Nodes whose kfi interface has several receive contexts, each with its own LND, endpoint and core,
// on the simulated fabric. A table sets the home context of each peer.
#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include "drivers/net/sim/endpoint_driver.hpp"
#include "lib/kfilnd/context_mail.hpp"
#include "lib/kfilnd/endpoint_relay.hpp"
#include "lib/kfilnd/lnd.hpp"
#include "tests/mocks/fake_core.hpp"
#include "tests/unit/drivers/sim_cluster.hpp"
#include "tests/unit/lib/kfilnd/messages.hpp"

namespace plnet::kfilnd {

// Replaces the core: an unknown peer has a home only after a request.
class HomeTable final : public PeerHomes {
 public:
  explicit HomeTable(unsigned contexts) : contexts_(contexts) {}
  [[nodiscard]] Result<std::uint8_t> home_of(const lnet::Nid& peer) override {
    ++asked;
    if (const auto it = refused.find(peer.address32()); it != refused.end())
      return std::unexpected(it->second);
    if (waits[peer.address32()]++ < misses) return std::unexpected(Errc::kAgain);
    return home(peer);
  }
  [[nodiscard]] std::uint8_t home(const lnet::Nid& peer) const {
    const auto it = moved.find(peer.address32());
    if (it != moved.end()) return it->second;
    return static_cast<std::uint8_t>((peer.address32() + shift) % contexts_);
  }

  unsigned misses = 0;
  unsigned shift = 0;  // gives another life other homes
  unsigned asked = 0;
  std::map<std::uint32_t, std::uint8_t> moved;
  std::map<std::uint32_t, Errc> refused;
  std::map<std::uint32_t, unsigned> waits;

 private:
  const unsigned contexts_;
};

inline constexpr std::uint64_t kContextReceiveBytes = 1U << 18U;
inline constexpr std::uint64_t kContextCoreBytes = 24U << 20U;

// The part of the interface on one shard.
class ContextShard final : public Pollable {
 public:
  ContextShard(drivers::SimCluster& cluster, drivers::SimEndpointFabric& fabric, unsigned node,
               std::uint8_t context, ContextMail& mail, HomeTable& homes, KfiLndConfig config,
               std::uint64_t seed)
      : bytes_(kContextReceiveBytes + kContextCoreBytes),
        shard_(cluster.network, cluster.shards[node]->host(), cluster.shape.shard, seed,
               5000 + node * 16 + context) {
    const ArenaId arena = arenas_.add({.base = bytes_.data(), .size = bytes_.size()}).value();
    driver_ = std::make_unique<drivers::SimEndpointDriver>(
        fabric,
        drivers::SimEndpointConfig{
            .host = shard_.host(),
            .process = {nic_address_of(nid_of(node)), 0},
            .limits = {.receive_contexts = static_cast<std::uint8_t>(mail.end(0).contexts()),
                       .receive_context = context,
                       .operations_max = 1024}},
        arenas_, relay_, shard_);
    core_ = std::make_unique<mocks::FakeCore>(
        mocks::FakeCoreConfig{.nid = nid_of(node),
                              .arenas = &arenas_,
                              .memory = {arena, kContextReceiveBytes},
                              .memory_bytes = kContextCoreBytes,
                              .seed = seed * 8 + context});
    config.nid = nid_of(node);
    config.arenas = &arenas_;
    config.receive_memory = {{arena, 0}, kContextReceiveBytes};
    config.start = cluster.loop.now();
    if (mail.end(0).contexts() > 1) {
      config.mail = &mail.end(context);
      config.homes = &homes;
    }
    lnd_ = std::make_unique<KfiLnd>(config, *core_, *driver_);
    relay_.attach(*lnd_);
    core_->attach(*lnd_);
    mail.set_doorbell(context, &shard_);
    shard_.add(*driver_);
    shard_.add(*this);
  }

  unsigned poll(Instant now) override { return core_->turn(now); }
  [[nodiscard]] std::string_view name() const override { return "kfi context"; }
  [[nodiscard]] Instant next_deadline() const override { return lnd_->next_deadline(); }
  void ring() { shard_.ring(); }
  [[nodiscard]] mocks::FakeCore& core() { return *core_; }
  [[nodiscard]] KfiLnd& lnd() { return *lnd_; }

 private:
  std::vector<std::byte> bytes_;
  ArenaTable arenas_;
  drivers::SimShard shard_;
  EndpointRelay relay_;
  std::unique_ptr<drivers::SimEndpointDriver> driver_;
  std::unique_ptr<mocks::FakeCore> core_;
  std::unique_ptr<KfiLnd> lnd_;
};

// One life of a node.
struct ContextNode {
  ContextNode(unsigned contexts) : homes(contexts), mail(contexts) {}
  // The core of the shard that is home to a peer.
  [[nodiscard]] mocks::FakeCore& core_for(unsigned peer) {
    return shards[homes.home(nid_of(peer))]->core();
  }
  [[nodiscard]] std::uint64_t count(KfiLndCounters::Id id) const {
    std::uint64_t sum = 0;
    for (const auto& shard : shards)
      sum += shard->lnd().count(id);
    return sum;
  }
  [[nodiscard]] mocks::FakeCoreTally tally() const {
    mocks::FakeCoreTally sum;
    for (const auto& shard : shards) {
      const mocks::FakeCoreTally& one = shard->core().tally();
      sum.sent += one.sent;
      sum.failed += one.failed + one.cancelled;
      sum.wrong_bytes += one.wrong_bytes;
    }
    return sum;
  }

  HomeTable homes;
  ContextMail mail;
  std::vector<std::unique_ptr<ContextShard>> shards;
};

struct ContextNodeOptions {
  unsigned contexts = 1;
  unsigned misses = 0;
  unsigned shift = 0;
  KfiLndConfig lnd{.receives_max = 256, .hellos_max = 64};
};

class ContextSite {
 public:
  ContextSite(std::uint64_t seed, const drivers::SimShape& shape,
              std::vector<ContextNodeOptions> the_options)
      : cluster(seed, shape, static_cast<unsigned>(the_options.size())),
        fabric(cluster.network, shape.endpoint, seed),
        options(std::move(the_options)),
        seed_(seed) {
    nodes_.resize(options.size());
    for (unsigned i = 0; i < options.size(); ++i)
      start(i);
  }
  [[nodiscard]] ContextNode& operator[](unsigned node) { return *nodes_[node]; }
  [[nodiscard]] unsigned size() const { return static_cast<unsigned>(nodes_.size()); }

  void start(unsigned node) {
    const ContextNodeOptions& how = options[node];
    nodes_[node] = std::make_unique<ContextNode>(how.contexts);
    ContextNode& made = *nodes_[node];
    made.homes.misses = how.misses;
    made.homes.shift = how.shift;
    const std::uint64_t seed = seed_ * 100 + node + 17 * ++lives_;
    for (unsigned i = 0; i < how.contexts; ++i) {
      made.shards.push_back(std::make_unique<ContextShard>(cluster, fabric, node,
                                                           static_cast<std::uint8_t>(i), made.mail,
                                                           made.homes, how.lnd, seed));
    }
  }
  void kill(unsigned node) { nodes_[node].reset(); }

  bool run(const std::function<bool()>& done, Duration within) {
    const Instant end = cluster.loop.now() + within;
    while (cluster.loop.now() < end) {
      if (done()) return true;
      for_each([](ContextShard& shard) { shard.ring(); });
      cluster.loop.run_for(std::min<Duration>(kStep, end - cluster.loop.now()));
    }
    return done();
  }
  bool settle(Duration within) {
    return run(
        [this] {
          bool still = true;
          for_each([&](ContextShard& shard) {
            still = still && shard.core().settled() && shard.lnd().idle();
          });
          return still;
        },
        within);
  }
  void pass(Duration time) {
    (void)run([] { return false; }, time);
  }
  void expect_no_breach() {
    for_each([](ContextShard& shard) {
      EXPECT_EQ(shard.core().breaches(), std::vector<std::string>{});
      EXPECT_EQ(shard.core().tally().wrong_bytes, 0U);
      EXPECT_EQ(shard.lnd().count(KfiLndCounters::Id::kUnexpected), 0U);
    });
  }
  // Each node has the peers that it has met on their home context only, and knows its home on the
  // other node.
  void expect_peers_at_home(bool met) {
    for (unsigned node = 0; node < size(); ++node) {
      for (unsigned other = 0; other < size(); ++other) {
        if (node == other) continue;
        ContextNode& one = *nodes_[node];
        for (unsigned i = 0; i < one.shards.size(); ++i) {
          const Peer* const peer = one.shards[i]->lnd().peer(nid_of(other));
          const bool home = i == one.homes.home(nid_of(other));
          if (!home) {
            EXPECT_TRUE(peer == nullptr || peer->guest) << node << " of " << other << " on " << i;
          } else if (met) {
            ASSERT_NE(peer, nullptr);
            EXPECT_EQ(peer->state, PeerState::kUpToDate);
            EXPECT_EQ(peer->rx_base, nodes_[other]->homes.home(nid_of(node)));
          }
        }
      }
    }
  }

  drivers::SimCluster cluster;
  drivers::SimEndpointFabric fabric;
  std::vector<ContextNodeOptions> options;

 private:
  static constexpr Duration kStep = std::chrono::microseconds(500);

  template <class Visit>
  void for_each(Visit&& visit) {
    for (auto& node : nodes_) {
      if (!node) continue;
      for (auto& shard : node->shards)
        visit(*shard);
    }
  }

  std::uint64_t seed_;
  std::uint64_t lives_ = 0;
  std::vector<std::unique_ptr<ContextNode>> nodes_;
};

}  // namespace plnet::kfilnd
