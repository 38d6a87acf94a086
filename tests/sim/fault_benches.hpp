// SPDX-License-Identifier: BSD-3-Clause
// The fault drivers stacked on the simulator's, as benches for the conformance suites.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "drivers/net/fault/endpoint.hpp"
#include "drivers/net/fault/stream.hpp"
#include "drivers/net/fault/verbs.hpp"
#include "drivers/net/sim/endpoint_driver.hpp"
#include "drivers/net/sim/stream_driver.hpp"
#include "drivers/net/sim/verbs_driver.hpp"
#include "tests/conformance/endpoint_conformance.hpp"
#include "tests/conformance/stream_conformance.hpp"
#include "tests/conformance/verbs_conformance.hpp"
#include "tests/unit/drivers/sim_cluster.hpp"

namespace plnet::testsim {

// Without a plan there is no fault layer.
using MaybePlan = std::optional<drivers::FaultPlan>;

inline Random random_of(std::uint64_t seed, unsigned side) {
  return Random(seed).fork(side == 0 ? "fault near" : "fault far");
}

// A fault driver in front of the simulator's driver, on both sides.
template <class Fault, class Sim>
class FaultStacks {
 public:
  explicit FaultStacks(drivers::SimCluster& cluster) : cluster_(cluster) {}

  // `make_fault` and `make_sim` build the two drivers; without a plan only the second.
  template <class Events, class MakeFault, class MakeSim>
  void stack(unsigned side, const MaybePlan& plan, Events& events, MakeFault&& make_fault,
             MakeSim&& make_sim) {
    drivers::SimShard& shard = *cluster_.shards[side];
    if (plan) {
      faults_[side] = make_fault();
      const auto done = faults_[side]->set_plan(*plan);
      EXPECT_TRUE(done.has_value()) << (done ? "" : done.error().what);
      sims_[side] = make_sim(static_cast<Events&>(*faults_[side]), shard);
      faults_[side]->attach(*sims_[side]);
      shard.add(*faults_[side]);
    } else {
      sims_[side] = make_sim(events, shard);
      shard.add(nothing_);  // a shard draws random numbers for every part that it polls
    }
    shard.add(*sims_[side]);
  }

  bool run(const std::function<bool()>& done) {
    return cluster_.run([&] {
      const bool over = done();
      look_at_deadlines();
      return over;
    });
  }

  [[nodiscard]] bool stacked(unsigned side) const { return faults_[side] != nullptr; }
  [[nodiscard]] Fault& fault(unsigned side) { return *faults_[side]; }
  [[nodiscard]] Sim& sim(unsigned side) { return *sims_[side]; }

  // Adds the applications of each rule, both sides together.
  void add_applied(std::vector<std::uint64_t>& applied) const {
    for (const auto& fault : faults_) {
      applied.resize(fault->judge().plan().count);
      for (std::size_t i = 0; i < applied.size(); ++i)
        applied[i] += fault->judge().counts(i).applied();
    }
  }

 private:
  struct Nothing final : Pollable {
    unsigned poll(Instant /*now*/) override { return 0; }
    [[nodiscard]] std::string_view name() const override { return "nothing"; }
  };

  // A node calls its drivers within its turns only, and at the end of each turn its shard reads
  // their deadlines. The checks call from outside, so a changed deadline must be announced.
  void look_at_deadlines() {
    for (unsigned side = 0; side < 2; ++side) {
      if (!stacked(side)) continue;
      const Instant next = faults_[side]->next_deadline();
      if (next == known_[side]) continue;
      known_[side] = next;
      if (next != Instant::max()) cluster_.shards[side]->ring();
    }
  }

  drivers::SimCluster& cluster_;
  Nothing nothing_;
  std::array<std::unique_ptr<Fault>, 2> faults_;
  std::array<std::unique_ptr<Sim>, 2> sims_;
  std::array<Instant, 2> known_{Instant::max(), Instant::max()};
};

class StreamFaultBench final : public conformance::StreamBench {
 public:
  StreamFaultBench(std::uint64_t the_seed, const drivers::SimShape& shape, MaybePlan the_plan)
      : seed(the_seed),
        plan(std::move(the_plan)),
        cluster(seed, shape),
        fabric(cluster.network, shape.stream, seed),
        stacks(cluster) {}

  socklnd::StreamDriver& make(unsigned side, socklnd::StreamEvents& events) override {
    stacks.stack(
        side, plan, events,
        [&] { return std::make_unique<drivers::FaultStreamDriver>(events, random_of(seed, side)); },
        [&](socklnd::StreamEvents& up, drivers::SimShard& shard) {
          return std::make_unique<drivers::SimStreamDriver>(fabric, shard.host(), up, shard);
        });
    if (plan) return stacks.fault(side);
    return stacks.sim(side);
  }
  bool run(const std::function<bool()>& done) override { return stacks.run(done); }
  socklnd::SocketAddress address(unsigned side) override {
    return {drivers::mapped_ipv4(drivers::kFirstAddress + side), 988};
  }

  const std::uint64_t seed;
  const MaybePlan plan;
  drivers::SimCluster cluster;
  drivers::SimStreamFabric fabric;
  FaultStacks<drivers::FaultStreamDriver, drivers::SimStreamDriver> stacks;
};

class VerbsFaultBench final : public conformance::VerbsBench {
 public:
  VerbsFaultBench(std::uint64_t the_seed, const drivers::SimShape& shape, MaybePlan the_plan)
      : seed(the_seed),
        plan(std::move(the_plan)),
        cluster(seed, shape),
        fabric(cluster.network, shape.verbs, seed),
        stacks(cluster) {}

  o2iblnd::VerbsDriver& make(unsigned side, o2iblnd::VerbsEvents& events) override {
    stacks.stack(
        side, plan, events,
        [&] { return std::make_unique<drivers::FaultVerbsDriver>(events, random_of(seed, side)); },
        [&](o2iblnd::VerbsEvents& up, drivers::SimShard& shard) {
          return std::make_unique<drivers::SimVerbsDriver>(fabric, shard.host(),
                                                           memories.tables[side], up, shard);
        });
    if (plan) return stacks.fault(side);
    return stacks.sim(side);
  }
  // Without faults of its own.
  o2iblnd::VerbsDriver& make_neighbour(unsigned side, o2iblnd::VerbsEvents& events) override {
    drivers::SimShard& shard = *cluster.shards[side];
    neighbours[side] = std::make_unique<drivers::SimVerbsDriver>(
        fabric, shard.host(), memories.tables[side], events, shard);
    shard.add(*neighbours[side]);
    return *neighbours[side];
  }
  bool run(const std::function<bool()>& done) override { return stacks.run(done); }
  o2iblnd::Ipv4Endpoint address(unsigned side) override {
    return {drivers::kFirstAddress + side, 987};
  }
  std::span<std::byte> memory(unsigned side) override { return memories.bytes[side]; }

  const std::uint64_t seed;
  const MaybePlan plan;
  drivers::SimCluster cluster;
  drivers::SimVerbsFabric fabric;
  drivers::SimArenas memories{conformance::kVerbsArenaBytes};
  FaultStacks<drivers::FaultVerbsDriver, drivers::SimVerbsDriver> stacks;
  std::array<std::unique_ptr<drivers::SimVerbsDriver>, 2> neighbours;
};

class EndpointFaultBench final : public conformance::EndpointBench {
 public:
  static constexpr std::uint64_t kFirstNic = 0x1a0;

  EndpointFaultBench(std::uint64_t the_seed, const drivers::SimShape& shape, MaybePlan the_plan)
      : seed(the_seed),
        plan(std::move(the_plan)),
        cluster(seed, shape),
        fabric(cluster.network, shape.endpoint, seed),
        stacks(cluster) {}

  kfilnd::EndpointDriver& make(unsigned side, kfilnd::EndpointEvents& events) override {
    stacks.stack(
        side, plan, events,
        [&] {
          return std::make_unique<drivers::FaultEndpointDriver>(events, random_of(seed, side),
                                                                &memories.tables[side]);
        },
        [&](kfilnd::EndpointEvents& up, drivers::SimShard& shard) {
          const drivers::SimEndpointConfig config{.host = shard.host(),
                                                  .process = {kFirstNic + side, 0},
                                                  .limits = {.operations_max = 64}};
          return std::make_unique<drivers::SimEndpointDriver>(fabric, config, memories.tables[side],
                                                              up, shard);
        });
    if (plan) return stacks.fault(side);
    return stacks.sim(side);
  }
  bool run(const std::function<bool()>& done) override { return stacks.run(done); }
  std::pair<std::uint64_t, unsigned> process(unsigned side) override {
    return {kFirstNic + side, 0};
  }
  std::span<std::byte> memory(unsigned side) override { return memories.bytes[side]; }

  const std::uint64_t seed;
  const MaybePlan plan;
  drivers::SimCluster cluster;
  drivers::SimEndpointFabric fabric;
  drivers::SimArenas memories{conformance::kEndpointArenaBytes};
  FaultStacks<drivers::FaultEndpointDriver, drivers::SimEndpointDriver> stacks;
};

}  // namespace plnet::testsim
