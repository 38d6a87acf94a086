// SPDX-License-Identifier: BSD-3-Clause
#include <array>
#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "drivers/net/sim/verbs_driver.hpp"
#include "tests/conformance/verbs_conformance.hpp"
#include "tests/mocks/seeds.hpp"
#include "tests/unit/drivers/seeds.hpp"
#include "tests/unit/drivers/sim_cluster.hpp"

namespace plnet::drivers::sim_verbs_test {
namespace {

using conformance::VerbsPair;
using conformance::WireFault;
using o2iblnd::WorkEvent;

const std::uint64_t kSeeds = mocks::seeds_of(200);
constexpr std::uint16_t kPort = 987;

class SimVerbsBench final : public conformance::VerbsBench {
 public:
  SimVerbsBench(std::uint64_t seed, const SimShape& shape)
      : cluster(seed, shape), fabric(cluster.network, shape.verbs, seed) {}
  o2iblnd::VerbsDriver& make(unsigned side, o2iblnd::VerbsEvents& events) override {
    return make_in(drivers[side], side, events);
  }
  o2iblnd::VerbsDriver& make_neighbour(unsigned side, o2iblnd::VerbsEvents& events) override {
    return make_in(neighbours[side], side, events);
  }
  bool run(const std::function<bool()>& done) override { return cluster.run(done); }
  o2iblnd::Ipv4Endpoint address(unsigned side) override { return {kFirstAddress + side, kPort}; }
  std::span<std::byte> memory(unsigned side) override { return arenas.bytes[side]; }

  SimCluster cluster;
  SimVerbsFabric fabric;
  SimArenas arenas{conformance::kVerbsArenaBytes};
  std::array<std::unique_ptr<SimVerbsDriver>, 2> drivers;
  std::array<std::unique_ptr<SimVerbsDriver>, 2> neighbours;

 private:
  o2iblnd::VerbsDriver& make_in(std::unique_ptr<SimVerbsDriver>& place, unsigned side,
                                o2iblnd::VerbsEvents& events) {
    SimShard& shard = *cluster.shards[side];
    place =
        std::make_unique<SimVerbsDriver>(fabric, shard.host(), arenas.tables[side], events, shard);
    shard.add(*place);
    return *place;
  }
};

SimShape shape_of(std::uint64_t seed) {
  return seed % 2 == 0 ? SimShape::rough() : SimShape::calm();
}

TEST(SimVerbsConformance, Chains) {
  for_each_seed(kSeeds, [&](std::uint64_t seed) {
    SimVerbsBench bench(seed, shape_of(seed));
    conformance::check_chains(bench, seed, 60);
  });
}

TEST(SimVerbsConformance, Drain) {
  for_each_seed(kSeeds, [&](std::uint64_t seed) {
    SimVerbsBench bench(seed, shape_of(seed));
    conformance::check_drain(bench, seed);
    EXPECT_EQ(bench.fabric.queue_pairs(), 0U);
  });
}

TEST(SimVerbsConformance, Faults) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    for (const WireFault fault : {WireFault::kWrongKey, WireFault::kOutsideArena,
                                  WireFault::kTooLong, WireFault::kNoReceive}) {
      SCOPED_TRACE("seed " + std::to_string(seed) + " fault " +
                   std::to_string(static_cast<int>(fault)));
      SimVerbsBench bench(seed, shape_of(seed));
      conformance::check_fault(bench, fault);
    }
  }
}

TEST(SimVerbsConformance, Rejections) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    SimVerbsBench bench(seed, shape_of(seed));
    conformance::check_rejections(bench);
  }
}

TEST(SimVerbsConformance, ARequestIsAcceptedByAnotherShard) {
  for_each_seed(kSeeds, [&](std::uint64_t seed) {
    SimVerbsBench bench(seed, shape_of(seed));
    conformance::check_handover(bench);
    EXPECT_EQ(bench.fabric.queue_pairs(), 0U);
  });
}

TEST(SimVerbsConformance, ARequestIsTurnedDownOnItsWayToAnotherShard) {
  for_each_seed(kSeeds, [&](std::uint64_t seed) {
    SimVerbsBench bench(seed, shape_of(seed));
    conformance::check_turned_down(bench);
    EXPECT_EQ(bench.fabric.queue_pairs(), 0U);
  });
}

TEST(SimVerbsConformance, ARequestIsWithdrawnOnItsWayToAnotherShard) {
  for_each_seed(kSeeds, [&](std::uint64_t seed) {
    SimVerbsBench bench(seed, shape_of(seed));
    conformance::check_withdrawn(bench, static_cast<unsigned>(seed % 40));
    EXPECT_EQ(bench.fabric.queue_pairs(), 0U);
  });
}

TEST(SimVerbs, SameSeedSameRunOtherSeedOtherRun) {
  expect_seed_decides([](std::uint64_t seed) {
    SimVerbsBench bench(seed, SimShape::rough());
    conformance::check_chains(bench, 1, 40);
    return bench.cluster.loop.digest();
  });
}

TEST(SimVerbs, PartitionEndsTheConnectionAfterItsRetries) {
  SimVerbsBench bench(1, SimShape::calm());
  VerbsPair pair(bench);
  pair.establish();
  auto& near = pair.users[0];
  bench.cluster.network.block_both(0, 1);
  const auto request = pair.send_of(8, 5);
  ASSERT_TRUE(near.driver->post_chain(*near.id, {&request, 1}));
  ASSERT_TRUE(bench.run([&] { return near.drained == 1; }));
  EXPECT_EQ(near.status_of(5), Errc::kTimedOut);
  EXPECT_EQ(pair.users[1].disconnected, 0U) << "the other side cannot know";
}

TEST(SimVerbs, ConnectToNowhereFails) {
  SimVerbsBench bench(1, SimShape::calm());
  VerbsPair pair(bench);
  bench.cluster.network.block_both(0, 1);
  pair.request();
  ASSERT_TRUE(bench.run([&] { return pair.users[0].drained == 1; }));
  EXPECT_EQ(pair.users[0].cause, Errc::kTimedOut);
}

// The request is repeated unchanged; once the rejection was sent in its place.
TEST(SimVerbs, ARequestWhoseRejectionIsLostIsMadeAgain) {
  SimVerbsBench bench(1, SimShape::calm());
  VerbsPair pair(bench);
  auto& [near, far] = pair.users;
  ASSERT_TRUE(far.driver->listen(bench.address(1)).has_value());
  pair.request();
  ASSERT_TRUE(bench.run([&] { return far.requests == 1; }));
  const std::vector<std::byte> request = far.data;
  const std::array<std::byte, 2> why{std::byte{8}, std::byte{8}};
  bench.cluster.network.block(1, 0);
  far.driver->reject(*far.id, why);
  bench.cluster.network.unblock(1, 0);
  ASSERT_TRUE(bench.run([&] { return far.requests == 2; }));
  EXPECT_EQ(far.data, request);
  far.driver->reject(*far.id, why);
  ASSERT_TRUE(bench.run([&] { return near.drained == 1; }));
  EXPECT_EQ(near.reject_kind, o2iblnd::RejectKind::kByPeer);
  EXPECT_EQ(near.data[1], std::byte{8});
}

TEST(SimVerbs, AReceiverIsNotReadyForAWhile) {
  for (const unsigned tries : {3U, 9U}) {
    SimShape shape = SimShape::calm();
    shape.verbs.not_ready = 300'000;
    shape.verbs.not_ready_tries_max = tries;
    SimVerbsBench bench(1, shape);
    VerbsPair pair(bench);
    pair.establish();
    auto& [near, far] = pair.users;
    for (std::uint64_t i = 0; i < 12 && near.drained == 0; ++i) {
      const auto request = pair.send_of(8, i);
      (void)near.driver->post_chain(*near.id, {&request, 1});
      ASSERT_TRUE(bench.run(
          [&] { return near.count(WorkEvent::kSent, true) == i + 1 || near.drained == 1; }));
    }
    EXPECT_GT(
        far.driver->counters().value(static_cast<std::size_t>(SimVerbsCounters::Id::kNotReady)),
        0U);
    EXPECT_EQ(near.drained, tries > 6 ? 1U : 0U) << "more often than rnr_retry_count";
    EXPECT_EQ(near.count(WorkEvent::kSent, false) > 0, tries > 6);
  }
}

TEST(SimVerbs, ARequestIsTurnedDownBeforeAnybodyHasSeenIt) {
  SimShape shape = SimShape::calm();
  shape.verbs.connect_rejected = 1'000'000;
  SimVerbsBench bench(1, shape);
  VerbsPair pair(bench);
  ASSERT_TRUE(pair.users[1].driver->listen(bench.address(1)).has_value());
  pair.request();
  ASSERT_TRUE(bench.run([&] { return pair.users[0].drained == 1; }));
  EXPECT_EQ(pair.users[0].rejected, 1U);
  EXPECT_NE(pair.users[0].reject_kind, o2iblnd::RejectKind::kByPeer);
  EXPECT_EQ(pair.users[1].requests, 0U);
}

// Two devices of a host, as with two shards.
TEST(SimVerbs, ARequestIsAnsweredByTheDeviceThatItIsHandedTo) {
  SimVerbsBench bench(1, SimShape::calm());
  VerbsPair pair(bench);
  auto& [near, far] = pair.users;
  conformance::VerbsUser home;
  SimShard& shard = *bench.cluster.shards[1];
  SimVerbsDriver other(bench.fabric, shard.host(), bench.arenas.tables[1], home, shard);
  shard.add(other);
  ASSERT_TRUE(far.driver->listen(bench.address(1)).has_value());
  pair.request();
  ASSERT_TRUE(bench.run([&] { return far.requests == 1; }));
  bench.drivers[1]->hand_over(*far.id, other, far.data);
  ASSERT_TRUE(bench.run([&] { return home.requests == 1; }));
  EXPECT_EQ(home.data, far.data);
  ASSERT_TRUE(other.prepare(*home.id, {64, 16}).has_value());
  ASSERT_TRUE(other.accept(*home.id, {}, {}).has_value());
  ASSERT_TRUE(bench.run([&] { return near.established == 1 && home.established == 1; }));
  EXPECT_EQ(far.established, 0U);
  other.to_error(*home.id);
  ASSERT_TRUE(bench.run([&] { return near.drained == 1 && home.drained == 1; }));
  EXPECT_EQ(bench.fabric.queue_pairs(), 0U);
}

TEST(SimVerbs, LateWritesLandUntilDrainedAndNotAfter) {
  std::uint64_t late = 0;
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    SimShape shape = SimShape::rough();
    shape.verbs.late_write_lands = 1'000'000;
    SimVerbsBench bench(seed, shape);
    VerbsPair pair(bench);
    pair.establish();
    auto& [near, far] = pair.users;
    const auto key = far.driver->remote_key({{0, VerbsPair::kWriteArea}, 64}).value();
    auto write = pair.send_of(64, 1);
    write.kind = o2iblnd::WorkKind::kWrite;
    write.remote_address = key.address;
    write.remote_key = key.key;
    std::ranges::fill(bench.memory(0).subspan(VerbsPair::kSendArea, 64), std::byte{7});
    ASSERT_TRUE(near.driver->post_chain(*near.id, {&write, 1}));
    far.driver->to_error(*far.id);
    ASSERT_TRUE(bench.run([&] { return far.drained == 1; }));
    const std::byte then = bench.memory(1)[VerbsPair::kWriteArea];
    ASSERT_TRUE(bench.run([&] { return near.drained == 1; }));
    EXPECT_EQ(bench.memory(1)[VerbsPair::kWriteArea], then) << "written after on_drained()";
    late += then == std::byte{7} ? 1U : 0U;
  }
  EXPECT_GT(late, 5U);
  EXPECT_LT(late, 100U);
}

// A key gives access to the memory that it was made for, until its mapping ends.
TEST(SimVerbs, AKeyEndsWithItsMapping) {
  for (const bool released : {false, true}) {
    SimVerbsBench bench(1, SimShape::calm());
    VerbsPair pair(bench);
    pair.establish();
    auto& [near, far] = pair.users;
    far.driver->set_mapping({.arenas = true, .keeps = false});
    const auto key = far.driver->remote_key({{0, VerbsPair::kWriteArea}, 64}).value();
    ASSERT_NE(key.mapping, o2iblnd::kNoMapping);
    if (released) far.driver->release(key.mapping);
    auto write = pair.send_of(64, 1);
    write.kind = o2iblnd::WorkKind::kWrite;
    write.remote_address = key.address;
    write.remote_key = key.key;
    const std::array<o2iblnd::WorkRequest, 2> chain{write, pair.send_of(8, 2)};
    ASSERT_TRUE(near.driver->post_chain(*near.id, chain));
    const auto sent = [&] { return near.count(WorkEvent::kSent, true) == 1; };
    ASSERT_TRUE(bench.run([&] { return sent() || near.status_of(2).has_value(); }));
    EXPECT_EQ(sent(), !released);
  }
}

}  // namespace
}  // namespace plnet::drivers::sim_verbs_test
