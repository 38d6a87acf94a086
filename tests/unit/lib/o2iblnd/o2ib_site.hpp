// SPDX-License-Identifier: BSD-3-Clause
// Nodes of the real o2ib LND on simulated queue pairs, each with a core that checks the LND
// contract.
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include "drivers/net/fault/verbs.hpp"
#include "drivers/net/sim/verbs_driver.hpp"
#include "lib/o2iblnd/lnd.hpp"
#include "lib/o2iblnd/verbs_relay.hpp"
#include "tests/mocks/fake_core.hpp"
#include "tests/unit/drivers/sim_cluster.hpp"

namespace plnet::o2iblnd {

using drivers::SimShape;
using LndId = O2ibCounters::Id;

inline constexpr std::uint64_t kCoreBytes = 24U << 20U;

inline lnet::Nid nid_of(unsigned node) {
  return lnet::Nid::of(lnet::NetType::kO2ib, 0, drivers::kFirstAddress + node);
}

struct NodeOptions {
  O2ibLndConfig lnd{.tunables = {.ntx = 64},
                    .peers_max = 16,
                    .connections_max = 16,
                    .receives_max = 64,
                    .replies_max = 64};
  const drivers::FaultPlan* faults = nullptr;  // between the LND and its driver
  unsigned park_percent = 0;
  unsigned drop_percent = 0;
  unsigned park_turns_max = 3;
  bool check_bytes = true;
};

// One life of a node: a restart makes another.
class O2ibNode final : public Pollable {
 public:
  O2ibNode(drivers::SimCluster& cluster, drivers::SimVerbsFabric& fabric, unsigned index,
           const NodeOptions& options, std::uint64_t seed, std::uint64_t life, bool polled)
      : message_bytes_(message_memory_bytes(options.lnd)),
        size_(kCoreBytes + message_bytes_),
        bytes_(std::make_unique_for_overwrite<std::byte[]>(size_)),
        // A shard of its own: the shard of the previous life must not poll a restarted node.
        shard_(cluster.network, cluster.shards[index]->host(), cluster.shape.shard, seed,
               5000 + index) {
    arena_ = arenas_.add({.base = bytes_.get(), .size = size_}).value();
    VerbsEvents* events = &relay_;
    if (options.faults != nullptr) {
      faults_ = std::make_unique<drivers::FaultVerbsDriver>(relay_, Random(seed).fork("faults"));
      EXPECT_TRUE(faults_->set_plan(*options.faults).has_value());
      events = faults_.get();
    }
    driver_ =
        std::make_unique<drivers::SimVerbsDriver>(fabric, shard_.host(), arenas_, *events, shard_);
    if (faults_) faults_->attach(*driver_);
    core_ = std::make_unique<mocks::FakeCore>(
        mocks::FakeCoreConfig{.nid = nid_of(index),
                              .arenas = &arenas_,
                              .memory = {arena_, message_bytes_},
                              .memory_bytes = kCoreBytes,
                              .seed = seed * 2 + index,
                              .park_percent = options.park_percent,
                              .drop_percent = options.drop_percent,
                              .park_turns_max = options.park_turns_max,
                              .check_bytes = options.check_bytes});
    O2ibLndConfig config = options.lnd;
    config.nid = nid_of(index);
    config.incarnation = life * 1000 + index + 1;
    config.arenas = &arenas_;
    config.message_memory = {arena_, 0};
    config.start = cluster.loop.now();
    VerbsDriver& below = faults_ ? static_cast<VerbsDriver&>(*faults_) : *driver_;
    lnd_ = std::make_unique<O2ibLnd>(config, *core_, below);
    relay_.attach(*lnd_);
    core_->attach(*lnd_);
    EXPECT_TRUE(lnd_->listen().has_value());
    if (faults_) shard_.add(*faults_);
    shard_.add(*driver_);
    if (polled) shard_.add(*this);
  }

  [[nodiscard]] mocks::FakeCore& core() { return *core_; }
  [[nodiscard]] O2ibLnd& lnd() { return *lnd_; }
  [[nodiscard]] drivers::SimVerbsDriver& driver() { return *driver_; }
  [[nodiscard]] drivers::FaultVerbsDriver& faults() { return *faults_; }
  [[nodiscard]] std::uint64_t count(LndId id) const { return lnd_->count(id); }
  void ring() { shard_.ring(); }
  // The core's memory.
  [[nodiscard]] std::span<const std::byte> memory() const {
    return {bytes_.get() + message_bytes_, kCoreBytes};
  }

  unsigned poll(Instant now) override { return core_->turn(now); }
  [[nodiscard]] std::string_view name() const override { return "o2ib node"; }
  [[nodiscard]] Instant next_deadline() const override { return lnd_->next_deadline(); }

 private:
  std::uint64_t message_bytes_;
  std::uint64_t size_;
  std::unique_ptr<std::byte[]> bytes_;
  ArenaTable arenas_;
  ArenaId arena_ = kNoArena;
  drivers::SimShard shard_;
  VerbsRelay relay_;
  std::unique_ptr<drivers::FaultVerbsDriver> faults_;
  std::unique_ptr<drivers::SimVerbsDriver> driver_;
  std::unique_ptr<mocks::FakeCore> core_;
  std::unique_ptr<O2ibLnd> lnd_;
};

class O2ibSite {
 public:
  O2ibSite(std::uint64_t seed, const SimShape& shape, unsigned nodes,
           const NodeOptions& the_options, bool the_polled = true)
      : cluster(seed, shape, nodes),
        fabric(cluster.network, shape.verbs, seed),
        options(nodes, the_options),
        polled(the_polled),
        seed_(seed) {
    nodes_.resize(nodes);
    for (unsigned i = 0; i < nodes; ++i)
      start(i);
  }
  [[nodiscard]] O2ibNode& operator[](unsigned node) { return *nodes_[node]; }

  void start(unsigned node) {
    ++lives_;
    nodes_[node].reset();
    nodes_[node] = std::make_unique<O2ibNode>(cluster, fabric, node, options[node],
                                              seed_ * 100 + node + 17 * lives_, lives_, polled);
  }
  // The process ends without notice, and its memory is freed.
  void kill(unsigned node) { nodes_[node].reset(); }

  bool run(const std::function<bool()>& done, Duration within = std::chrono::minutes(10)) {
    const Instant end = cluster.loop.now() + within;
    while (cluster.loop.now() < end) {
      if (done()) return true;
      for (auto& node : nodes_) {
        if (node) node->ring();  // its core may have messages to send or to decide
      }
      cluster.loop.run_for(std::min<Duration>(kStep, end - cluster.loop.now()));
    }
    return done();
  }
  bool settle(Duration within = std::chrono::minutes(10)) {
    return run(
        [this] {
          return std::ranges::all_of(nodes_, [](const auto& node) {
            return !node || (node->core().settled() && node->lnd().idle());
          });
        },
        within);
  }
  void pass(Duration time) {
    (void)run([] { return false; }, time);
  }
  void expect_no_breach() {
    for (auto& node : nodes_) {
      if (!node) continue;
      EXPECT_EQ(node->core().breaches(), std::vector<std::string>{});
      EXPECT_EQ(node->core().tally().wrong_bytes, 0U);
      EXPECT_EQ(node->count(LndId::kUnexpected), 0U);
      EXPECT_EQ(node->count(LndId::kStray), 0U);
      EXPECT_EQ(node->count(LndId::kIdleWithCredit), 0U);
    }
  }

  drivers::SimCluster cluster;
  drivers::SimVerbsFabric fabric;
  std::vector<NodeOptions> options;
  bool polled;

 private:
  static constexpr Duration kStep = std::chrono::microseconds(500);

  std::uint64_t seed_;
  std::uint64_t lives_ = 0;
  std::vector<std::unique_ptr<O2ibNode>> nodes_;
};

}  // namespace plnet::o2iblnd
