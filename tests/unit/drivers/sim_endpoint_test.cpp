// SPDX-License-Identifier: BSD-3-Clause
#include <memory>

#include <gtest/gtest.h>

#include "drivers/net/sim/endpoint_driver.hpp"
#include "tests/conformance/endpoint_conformance.hpp"
#include "tests/mocks/seeds.hpp"
#include "tests/unit/drivers/seeds.hpp"
#include "tests/unit/drivers/sim_cluster.hpp"

namespace plnet::drivers::sim_endpoint_test {
namespace {

using conformance::EndpointPair;
using kfilnd::FabricEvent;
using SimId = SimEndpointCounters::Id;

const std::uint64_t kSeeds = mocks::seeds_of(200);
constexpr std::uint64_t kFirstNic = 0x1a0;

class SimEndpointBench final : public conformance::EndpointBench {
 public:
  SimEndpointBench(std::uint64_t seed, const SimShape& shape)
      : cluster(seed, shape), fabric(cluster.network, shape.endpoint, seed) {}
  kfilnd::EndpointDriver& make(unsigned side, kfilnd::EndpointEvents& events) override {
    SimShard& shard = *cluster.shards[side];
    drivers[side] =
        std::make_unique<SimEndpointDriver>(fabric,
                                            SimEndpointConfig{.host = shard.host(),
                                                              .process = {kFirstNic + side, 0},
                                                              .limits = {.operations_max = 64}},
                                            arenas.tables[side], events, shard);
    shard.add(*drivers[side]);
    return *drivers[side];
  }
  bool run(const std::function<bool()>& done) override { return cluster.run(done); }
  std::pair<std::uint64_t, unsigned> process(unsigned side) override {
    return {kFirstNic + side, 0};
  }
  std::span<std::byte> memory(unsigned side) override { return arenas.bytes[side]; }

  SimCluster cluster;
  SimEndpointFabric fabric;
  SimArenas arenas{conformance::kEndpointArenaBytes};
  std::array<std::unique_ptr<SimEndpointDriver>, 2> drivers;
};

// Messages wait for a slow shard instead of failing, since the conformance checks need every one.
SimShape patient(SimShape shape) {
  shape.endpoint.retries_max = 1000;
  return shape;
}

TEST(SimEndpointConformance, Messages) {
  for_each_seed(kSeeds, [&](std::uint64_t seed) {
    SimEndpointBench bench(seed, patient(seed % 2 == 0 ? SimShape::rough() : SimShape::calm()));
    conformance::check_messages(bench, seed, 60);
    EXPECT_EQ(bench.fabric.operations(), 0U);
  });
}

TEST(SimEndpointConformance, Tagged) {
  for_each_seed(kSeeds, [&](std::uint64_t seed) {
    SimEndpointBench bench(seed, seed % 2 == 0 ? SimShape::rough() : SimShape::calm());
    conformance::check_tagged(bench, seed, 20);
  });
}

TEST(SimEndpointConformance, CancelAgainstArrival) {
  unsigned won = 0;
  for_each_seed(kSeeds, [&](std::uint64_t seed) {
    SimEndpointBench bench(seed, SimShape::rough());
    won += conformance::check_cancel_race(bench, seed) ? 1U : 0U;
  });
  EXPECT_GT(won, kSeeds / 10) << "both outcomes must happen for this to mean anything";
  EXPECT_LT(won, kSeeds * 9 / 10);
}

TEST(SimEndpointConformance, Failures) {
  for_each_seed(20, [&](std::uint64_t seed) {
    SimEndpointBench bench(seed, SimShape::rough());
    conformance::check_failures(bench);
  });
}

TEST(SimEndpoint, SameSeedSameRunOtherSeedOtherRun) {
  expect_seed_decides([](std::uint64_t seed) {
    SimEndpointBench bench(seed, patient(SimShape::rough()));
    conformance::check_messages(bench, 1, 50);
    return bench.cluster.loop.digest();
  });
}

TEST(SimEndpoint, HostileFabricEndsEveryOperationOnce) {
  unsigned failed = 0;
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    SimShape shape = SimShape::hostile();
    shape.endpoint.operation_torn = 200'000;
    shape.endpoint.answer_lost = 100'000;
    SimEndpointBench bench(seed, shape);
    EndpointPair pair(bench);
    auto& [near, far] = pair.users;
    const Fragment buffer{{0, 0}, 8192};
    const lnet::Payload payload = conformance::payload_of(buffer);
    for (kfilnd::Tag tag = 0; tag < 30; ++tag) {
      ASSERT_TRUE(near.post(bench, [&] {
        return near.driver->post_tagged(pair.peers[0], tag, tag % 2 == 0, payload, tag);
      }));
      ASSERT_TRUE(far.post(bench, [&] {
        return tag % 2 == 0 ? far.driver->read_tagged(pair.peers[1], tag, payload, tag)
                            : far.driver->write_tagged(pair.peers[1], tag, payload, tag);
      }));
    }
    ASSERT_TRUE(bench.run([&] { return far.ended.size() == 30; }));
    for (const auto& [cookie, completion] : far.ended)
      failed += completion.status ? 0U : 1U;
    for (auto& user : pair.users)
      user.driver->shut_down();
    ASSERT_TRUE(bench.run([&] { return near.driver->quiet() && far.driver->quiet(); }));
    EXPECT_EQ(near.ended.size(), 30U) << "every tagged buffer ends: used, failed or cancelled";
  }
  EXPECT_GT(failed, 100U);
}

TEST(SimEndpoint, LinkAndNicAddressChange) {
  SimEndpointBench bench(1, SimShape::calm());
  EndpointPair pair(bench);
  auto& [near, far] = pair.users;
  const std::array<std::byte, 8> header{};
  ASSERT_TRUE(far.driver->post_multi_receive({{0, 0}, 65536}, 100).has_value());
  bench.fabric.set_link(kFirstNic + 1, false);
  ASSERT_TRUE(bench.run([&] { return !far.link_usable; }));
  ASSERT_TRUE(near.driver->send(pair.peers[0], header, {}, 1).has_value());
  ASSERT_TRUE(far.driver->send(pair.peers[1], header, {}, 2).has_value());
  ASSERT_TRUE(bench.run([&] { return near.ended.contains(1) && far.ended.contains(2); }));
  EXPECT_EQ(near.ended[1].status.error(), Errc::kTimedOut);
  EXPECT_EQ(far.ended[2].status.error(), Errc::kNetworkDown);

  bench.fabric.set_link(kFirstNic + 1, true);
  bench.fabric.change_nic_address(kFirstNic + 1, 0x2b0);
  ASSERT_TRUE(bench.run([&] { return far.link_usable && far.nic_address == 0x2b0; }));
  ASSERT_TRUE(near.driver->send(pair.peers[0], header, {}, 3).has_value());
  ASSERT_TRUE(bench.run([&] { return near.ended.contains(3); }));
  EXPECT_EQ(near.ended[3].status.error(), Errc::kNoRoute) << "the old address leads nowhere";
  const kfilnd::Target moved{near.driver->resolve(0x2b0, 0).value(), 0};
  ASSERT_TRUE(near.driver->send(moved, header, {}, 4).has_value());
  ASSERT_TRUE(bench.run([&] { return near.ended.contains(4); }));
  EXPECT_TRUE(near.ended[4].status.has_value());
}

TEST(SimEndpoint, PartitionTimesOutAndDeadPeerHasNoRoute) {
  SimEndpointBench bench(1, SimShape::calm());
  EndpointPair pair(bench);
  auto& near = pair.users[0];
  const std::array<std::byte, 8> header{};
  bench.cluster.network.block(0, 1);
  ASSERT_TRUE(near.driver->send(pair.peers[0], header, {}, 1).has_value());
  ASSERT_TRUE(bench.run([&] { return near.ended.contains(1); }));
  EXPECT_EQ(near.ended[1].status.error(), Errc::kTimedOut);
  bench.cluster.network.unblock(0, 1);
  bench.cluster.shards[1]->set_running(false);
  bench.drivers[1].reset();
  ASSERT_TRUE(near.driver->send(pair.peers[0], header, {}, 2).has_value());
  ASSERT_TRUE(bench.run([&] { return near.ended.contains(2); }));
  EXPECT_EQ(near.ended[2].status.error(), Errc::kNoRoute) << "host is up, process is not";
}

}  // namespace
}  // namespace plnet::drivers::sim_endpoint_test
