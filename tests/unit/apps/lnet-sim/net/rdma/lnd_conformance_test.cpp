// SPDX-License-Identifier: BSD-3-Clause
// The simulator's own LND over the simulator's queue pairs, held to the contract of every LND.
#include "tests/conformance/lnd_conformance.hpp"

#include <array>
#include <memory>
#include <vector>

#include "apps/lnet-sim/net/rdma/lnd.hpp"
#include "drivers/net/sim/verbs_driver.hpp"
#include "tests/unit/drivers/sim_cluster.hpp"

namespace plnet::sim::lnd_conformance_test {
namespace {

using conformance::LndRigOptions;
using drivers::SimShape;
using lnet::Nid;

constexpr std::uint64_t kNodeBytes = 4U << 20;
constexpr std::uint64_t kLndBytes = 4U << 20;

Nid nid_of(unsigned side) {
  return Nid::of(lnet::NetType::kO2ib, 0, drivers::kFirstAddress + side);
}

// Two hosts; memory for two cores and two LNDs in one arena of each.
class RdmaRig final : public conformance::LndRig {
 public:
  RdmaRig(const LndRigOptions& options, const SimShape& shape)
      : cluster_(options.seed, shape),
        bytes_(2 * (kNodeBytes + kLndBytes)),
        fabric_(cluster_.network, shape.verbs, options.seed) {
    (void)arenas_.add({.base = bytes_.data(), .size = bytes_.size()});
    for (unsigned side = 0; side < 2; ++side) {
      cores_[side] = std::make_unique<mocks::FakeCore>(
          mocks::FakeCoreConfig{.nid = nid_of(side),
                                .arenas = &arenas_,
                                .memory = {0, side * kNodeBytes},
                                .memory_bytes = kNodeBytes,
                                .seed = options.seed * 2 + side,
                                .park_percent = options.park_percent,
                                .drop_percent = options.drop_percent,
                                .park_turns_max = options.park_turns_max});
      const RdmaLndConfig config{.nid = nid_of(side),
                                 .arenas = &arenas_,
                                 .memory = {0, 2 * kNodeBytes + side * kLndBytes},
                                 .pairs_max = 32};
      EXPECT_LE(RdmaLnd::memory_bytes(config), kLndBytes);
      lnds_[side] = std::make_unique<RdmaLnd>(config, *cores_[side]);
      auto& shard = *cluster_.shards[side];
      drivers_[side] = std::make_unique<drivers::SimVerbsDriver>(fabric_, shard.host(), arenas_,
                                                                 *lnds_[side], shard);
      shard.add(*drivers_[side]);
      lnds_[side]->attach(*drivers_[side]);
      cores_[side]->attach(*lnds_[side]);
    }
  }
  mocks::FakeCore& a() override { return *cores_[0]; }
  mocks::FakeCore* b() override { return cores_[1].get(); }
  lnet::Lnd& lnd_a() override { return *lnds_[0]; }
  Nid nid_b() override { return nid_of(1); }
  bool quiet() override {
    return lnds_[0]->idle() && lnds_[1]->idle() &&
           cluster_.loop.next() > cluster_.loop.now() + std::chrono::milliseconds(2);
  }
  void turn(Instant now) override {
    cluster_.loop.run_until(now);
    for (const auto& core : cores_)
      core->turn(now);
  }

 private:
  drivers::SimCluster cluster_;
  std::vector<std::byte> bytes_;
  ArenaTable arenas_;
  drivers::SimVerbsFabric fabric_;
  std::array<std::unique_ptr<mocks::FakeCore>, 2> cores_;
  std::array<std::unique_ptr<RdmaLnd>, 2> lnds_;
  std::array<std::unique_ptr<drivers::SimVerbsDriver>, 2> drivers_;
};

conformance::LndCase make_case(const char* name, const SimShape& shape) {
  return {name,
          [shape](const LndRigOptions& options) -> std::unique_ptr<conformance::LndRig> {
            return std::make_unique<RdmaRig>(options, shape);
          },
          false};
}

// The suite waits for 20 ms at most.
SimShape rough() {
  SimShape shape = SimShape::rough();
  shape.link.latency_spread = std::chrono::microseconds(10);
  shape.link.slow = 0;
  shape.shard.stall = 0;
  return shape;
}

}  // namespace
}  // namespace plnet::sim::lnd_conformance_test

namespace plnet::conformance {

INSTANTIATE_TEST_SUITE_P(
    Simulator, LndConformance,
    testing::Values(sim::lnd_conformance_test::make_case("rdma_calm", drivers::SimShape::calm()),
                    sim::lnd_conformance_test::make_case("rdma_rough",
                                                         sim::lnd_conformance_test::rough())),
    [](const auto& which) { return which.param.name; });

}  // namespace plnet::conformance
