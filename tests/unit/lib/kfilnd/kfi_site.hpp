// SPDX-License-Identifier: BSD-3-Clause
// Nodes of the real kfi LND on simulated endpoints, each with a core that checks the LND contract.
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include "drivers/net/fault/endpoint.hpp"
#include "drivers/net/sim/endpoint_driver.hpp"
#include "lib/kfilnd/endpoint_relay.hpp"
#include "lib/kfilnd/lnd.hpp"
#include "tests/mocks/fake_core.hpp"
#include "tests/unit/drivers/sim_cluster.hpp"
#include "tests/unit/lib/kfilnd/messages.hpp"

namespace plnet::kfilnd {

using drivers::SimShape;
using LndId = KfiLndCounters::Id;

inline constexpr std::uint64_t kCoreBytes = 24U << 20U;
inline constexpr std::uint64_t kReceiveBytes = 1U << 20U;

struct NodeOptions {
  KfiLndConfig lnd{.receives_max = 256, .hellos_max = 64, .copies_max = 32};
  const drivers::FaultPlan* faults = nullptr;  // between the LND and its endpoint
  std::uint64_t receive_bytes = kReceiveBytes;
  unsigned park_percent = 0;
  unsigned drop_percent = 0;
  unsigned park_turns_max = 3;
  bool check_bytes = true;
  unsigned address_shift = 0;  // moves the NIC to another address
};

// One life of a node: a restart makes another.
class KfiNode final : public Pollable {
 public:
  KfiNode(drivers::SimCluster& cluster, drivers::SimEndpointFabric& fabric, unsigned index,
          const NodeOptions& options, std::uint64_t seed, bool polled)
      : bytes_(kCoreBytes + options.receive_bytes),
        // A shard of its own: the shard of the previous life must not poll a restarted node.
        shard_(cluster.network, cluster.shards[index]->host(), cluster.shape.shard, seed,
               5000 + index) {
    arena_ = arenas_.add({.base = bytes_.data(), .size = bytes_.size()}).value();
    EndpointEvents* events = &relay_;
    if (options.faults != nullptr) {
      faults_ = std::make_unique<drivers::FaultEndpointDriver>(relay_, Random(seed).fork("faults"),
                                                               &arenas_);
      EXPECT_TRUE(faults_->set_plan(*options.faults).has_value());
      events = faults_.get();
    }
    driver_ = std::make_unique<drivers::SimEndpointDriver>(
        fabric,
        drivers::SimEndpointConfig{
            .host = shard_.host(),
            .process = {nic_address_of(nid_of(index + options.address_shift)), 0},
            .limits = {.operations_max = 1024}},
        arenas_, *events, shard_);
    if (faults_) faults_->attach(*driver_);
    core_ = std::make_unique<mocks::FakeCore>(
        mocks::FakeCoreConfig{.nid = nid_of(index + options.address_shift),
                              .arenas = &arenas_,
                              .memory = {arena_, options.receive_bytes},
                              .memory_bytes = kCoreBytes,
                              .seed = seed * 2 + index,
                              .park_percent = options.park_percent,
                              .drop_percent = options.drop_percent,
                              .park_turns_max = options.park_turns_max,
                              .check_bytes = options.check_bytes});
    KfiLndConfig config = options.lnd;
    config.nid = nid_of(index + options.address_shift);
    config.arenas = &arenas_;
    config.receive_memory = {{arena_, 0}, static_cast<std::uint32_t>(options.receive_bytes)};
    config.start = cluster.loop.now();
    EndpointDriver& below = faults_ ? static_cast<EndpointDriver&>(*faults_) : *driver_;
    lnd_ = std::make_unique<KfiLnd>(config, *core_, below);
    relay_.attach(*lnd_);
    core_->attach(*lnd_);
    if (faults_) shard_.add(*faults_);
    shard_.add(*driver_);
    if (polled) shard_.add(*this);
  }

  [[nodiscard]] mocks::FakeCore& core() { return *core_; }
  [[nodiscard]] KfiLnd& lnd() { return *lnd_; }
  [[nodiscard]] drivers::SimEndpointDriver& driver() { return *driver_; }
  [[nodiscard]] drivers::FaultEndpointDriver& faults() { return *faults_; }
  [[nodiscard]] std::uint64_t count(LndId id) const { return lnd_->count(id); }
  void ring() { shard_.ring(); }

  unsigned poll(Instant now) override { return core_->turn(now); }
  [[nodiscard]] std::string_view name() const override { return "kfi node"; }
  [[nodiscard]] Instant next_deadline() const override { return lnd_->next_deadline(); }

 private:
  std::vector<std::byte> bytes_;
  ArenaTable arenas_;
  ArenaId arena_ = kNoArena;
  drivers::SimShard shard_;
  EndpointRelay relay_;
  std::unique_ptr<drivers::FaultEndpointDriver> faults_;
  std::unique_ptr<drivers::SimEndpointDriver> driver_;
  std::unique_ptr<mocks::FakeCore> core_;
  std::unique_ptr<KfiLnd> lnd_;
};

class KfiSite {
 public:
  KfiSite(std::uint64_t seed, const SimShape& shape, unsigned nodes, const NodeOptions& the_options,
          bool the_polled = true)
      : cluster(seed, shape, nodes),
        fabric(cluster.network, shape.endpoint, seed),
        options(nodes, the_options),
        polled(the_polled),
        seed_(seed) {
    nodes_.resize(nodes);
    for (unsigned i = 0; i < nodes; ++i)
      start(i);
  }
  [[nodiscard]] KfiNode& operator[](unsigned node) { return *nodes_[node]; }
  [[nodiscard]] unsigned size() const { return static_cast<unsigned>(nodes_.size()); }

  void start(unsigned node) {
    nodes_[node] = std::make_unique<KfiNode>(cluster, fabric, node, options[node],
                                             seed_ * 100 + node + 17 * ++lives_, polled);
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
          for (auto& node : nodes_) {
            if (node && (!node->core().settled() || !node->lnd().idle())) return false;
          }
          return true;
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
    }
  }

  drivers::SimCluster cluster;
  drivers::SimEndpointFabric fabric;
  std::vector<NodeOptions> options;
  bool polled;

 private:
  static constexpr Duration kStep = std::chrono::microseconds(500);

  std::uint64_t seed_;
  std::uint64_t lives_ = 0;
  std::vector<std::unique_ptr<KfiNode>> nodes_;
};

}  // namespace plnet::kfilnd
