// SPDX-License-Identifier: BSD-3-Clause
#include <memory>
#include <optional>

#include <gtest/gtest.h>

#include "drivers/net/sim/stream_driver.hpp"
#include "tests/conformance/relay_conformance.hpp"
#include "tests/conformance/stream_conformance.hpp"
#include "tests/mocks/seeds.hpp"
#include "tests/unit/drivers/seeds.hpp"
#include "tests/unit/drivers/sim_cluster.hpp"
#include "tests/unit/drivers/stream_counter.hpp"

namespace plnet::drivers::sim_stream_test {
namespace {

using conformance::StreamPair;
using conformance::StreamUser;
using socklnd::ConnectRequest;
using socklnd::SocketAddress;
using socklnd::StreamId;
using testrig::StreamCounter;
using testrig::write_some;
using SimId = SimStreamCounters::Id;

const std::uint64_t kSeeds = mocks::seeds_of(200);
constexpr std::uint16_t kPort = 988;

class SimStreamBench final : public conformance::StreamBench {
 public:
  SimStreamBench(std::uint64_t seed, const SimShape& shape)
      : cluster(seed, shape), fabric(cluster.network, shape.stream, seed) {}

  socklnd::StreamDriver& make(unsigned side, socklnd::StreamEvents& events) override {
    if (side == 2)  // on the same host as side 1
      cluster.shards.push_back(std::make_unique<SimShard>(
          cluster.network, cluster.shards[1]->host(), cluster.shape.shard, 1, side));
    SimShard& shard = *cluster.shards[side];
    drivers[side] = std::make_unique<SimStreamDriver>(fabric, shard.host(), events, shard);
    shard.add(*drivers[side]);
    return *drivers[side];
  }
  bool run(const std::function<bool()>& done) override { return cluster.run(done); }
  SocketAddress address(unsigned side) override {
    return {mapped_ipv4(kFirstAddress + side), kPort};
  }

  SimCluster cluster;
  SimStreamFabric fabric;
  std::array<std::unique_ptr<SimStreamDriver>, 3> drivers;
};

TEST(SimStreamConformance, Transfer) {
  for_each_seed(kSeeds, [&](std::uint64_t seed) {
    SimStreamBench bench(seed, seed % 2 == 0 ? SimShape::rough() : SimShape::calm());
    conformance::check_transfer(bench, seed, 40'000 + seed * 100, seed % 3 == 0 ? 0 : 25'000);
    EXPECT_EQ(bench.fabric.connections(), 0U) << "a closed connection is forgotten";
  });
}

TEST(SimStreamConformance, BrokenTransfer) {
  unsigned broken = 0;
  for_each_seed(kSeeds, [&](std::uint64_t seed) {
    SimShape shape = SimShape::hostile();
    shape.stream.reset_segment = 20'000;
    SimStreamBench bench(seed, shape);
    conformance::check_broken_transfer(bench, seed, 50'000);
    broken += bench.fabric.connections() == 0 ? 1U : 0U;
  });
  EXPECT_GT(broken, kSeeds / 4) << "the shape is meant to break connections";
  EXPECT_LT(broken, kSeeds);
}

TEST(SimStreamConformance, Refused) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    SimStreamBench bench(seed, SimShape::rough());
    conformance::check_refused(bench, seed);
    EXPECT_EQ(bench.fabric.connections(), 0U);
  }
}

TEST(SimStreamConformance, CloseByListener) {
  for_each_seed(kSeeds, [&](std::uint64_t seed) {
    SimStreamBench bench(seed, SimShape::rough());
    conformance::check_close_by_listener(bench, seed);
  });
}

TEST(SimStreamConformance, Move) {
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    SimStreamBench bench(seed, SimShape::rough());
    conformance::check_move(bench, seed);
    EXPECT_EQ(bench.fabric.connections(), 0U);
    if (HasFailure()) return;
  }
}

TEST(SimStreamConformance, Relay) {
  conformance::RelayTally all;
  for_each_seed(kSeeds, [&](std::uint64_t seed) {
    SimStreamBench bench(seed, seed % 2 == 0 ? SimShape::rough() : SimShape::calm());
    const auto tally = conformance::check_relay(bench, seed, 20, 60'000);
    all.awaited += tally.awaited;
    all.relayed_whole += tally.relayed_whole;
  });
  EXPECT_GT(all.awaited, 5 * kSeeds);
  EXPECT_GT(all.relayed_whole, kSeeds);
  EXPECT_LT(all.relayed_whole, all.awaited) << "some have to be fetched";
}

TEST(SimStream, SameSeedSameRunOtherSeedOtherRun) {
  expect_seed_decides([](std::uint64_t seed) {
    SimStreamBench bench(seed, SimShape::rough());
    conformance::check_transfer(bench, 5, 60'000, 30'000);
    return bench.cluster.loop.digest();
  });
}

TEST(SimStream, RoughShapeMeetsEveryCase) {
  SimStreamBench bench(3, SimShape::rough());
  conformance::check_transfer(bench, 3, 300'000, 300'000);
  for (const SimId id : {SimId::kShortWrites, SimId::kRemainders, SimId::kReads, SimId::kAccepts}) {
    const auto index = static_cast<std::size_t>(id);
    EXPECT_GT(bench.drivers[1]->counters().value(index), 0U)
        << bench.drivers[1]->counters().info[index].name << " never happened";
  }
  EXPECT_EQ(bench.drivers[0]->counters().value(static_cast<std::size_t>(SimId::kStaleCalls)), 0U);
}

class SimStreamPlain : public ::testing::Test {
 protected:
  SimStreamPlain() : bench(1, SimShape::calm()) {
    near = &bench.make(0, near_events);
    far = &bench.make(1, far_events);
  }
  Result<StreamId> connect(bool privileged = true) {
    ConnectRequest request;
    request.addresses.remote = bench.address(1);
    request.privileged_port = privileged;
    request.options.keepalive_idle_s = 30;
    request.options.keepalive_interval_s = 2;
    request.options.keepalive_count = 5;
    return near->connect(request);
  }
  void establish() {
    ASSERT_TRUE(far->listen(bench.address(1), 127, {}).has_value());
    stream = connect().value();
    ASSERT_TRUE(bench.run([&] { return far_events.accepted == 1; }));
  }
  SimStreamBench bench;
  StreamCounter near_events;
  StreamCounter far_events;
  socklnd::StreamDriver* near = nullptr;
  socklnd::StreamDriver* far = nullptr;
  StreamId stream;
};

TEST_F(SimStreamPlain, PrivilegedPortsRunOutAndComeBack) {
  ASSERT_TRUE(far->listen(bench.address(1), 1000, {}).has_value());
  StreamId first;
  for (unsigned i = 0; i < 512; ++i) {
    const auto id = connect();
    ASSERT_TRUE(id.has_value()) << i;
    if (i == 0) first = *id;
  }
  EXPECT_EQ(connect().error(), Errc::kBusy);
  EXPECT_TRUE(connect(false).has_value()) << "others are left";
  ASSERT_TRUE(bench.run([&] { return near_events.connected == 513; }));
  EXPECT_EQ(*near_events.ports.begin(), 512);
  EXPECT_TRUE(near_events.ports.contains(1023));
  near->close(first, Errc::kShutdown);
  EXPECT_TRUE(connect().has_value());
}

TEST_F(SimStreamPlain, BacklogOverflowDelaysWithoutLoss) {
  ASSERT_TRUE(far->listen(bench.address(1), 5, {}).has_value());
  for (unsigned i = 0; i < 20; ++i)
    ASSERT_TRUE(connect().has_value());
  EXPECT_TRUE(bench.run([&] { return far_events.accepted == 20 && near_events.connected == 20; }));
  EXPECT_GT(bench.cluster.loop.now(), Instant{std::chrono::seconds(1)}) << "a retry was needed";
}

TEST_F(SimStreamPlain, ConnectFailsByTimeoutOrForWantOfARoute) {
  bench.cluster.network.block_both(0, 1);
  ASSERT_TRUE(connect().has_value());
  ASSERT_TRUE(bench.run([&] { return near_events.closed == 1; }));
  EXPECT_EQ(near_events.cause, Errc::kTimedOut);
  ConnectRequest request;
  request.addresses.remote = {mapped_ipv4(0x0b00'0001), kPort};
  ASSERT_TRUE(near->connect(request).has_value());
  ASSERT_TRUE(bench.run([&] { return near_events.closed == 2; }));
  EXPECT_EQ(near_events.cause, Errc::kNoRoute);
  request.addresses.local = bench.address(1);
  EXPECT_EQ(near->connect(request).error(), Errc::kNotFound) << "another host's address";
}

TEST_F(SimStreamPlain, AWriterNoticesAVanishedPeer) {
  establish();
  bench.cluster.network.set_present(1, false);
  EXPECT_EQ(write_some(*near, stream, 1000), 1000U);
  ASSERT_TRUE(bench.run([&] { return near_events.closed == 1; }));
  EXPECT_EQ(near_events.cause, Errc::kTimedOut);
  EXPECT_EQ(near_events.unacknowledged, 1000U);
}

TEST_F(SimStreamPlain, VanishedPeerIsNoticedByKeepalive) {
  establish();
  const Instant before = bench.cluster.loop.now();
  bench.cluster.network.set_present(1, false);
  ASSERT_TRUE(bench.run([&] { return near_events.closed == 1; }));
  EXPECT_EQ(near_events.cause, Errc::kTimedOut);
  EXPECT_EQ(bench.cluster.loop.now() - before >= std::chrono::seconds(40), true);
  EXPECT_EQ(far_events.closed, 0U) << "the vanished host was not notified: half-open";
}

// Thousands of connections, and hosts that come and go: events must not accumulate.
TEST_F(SimStreamPlain, KeepaliveWaitsForOneOutageAtATime) {
  establish();
  const std::size_t before = bench.cluster.loop.pending();
  for (unsigned i = 0; i < 10; ++i) {
    bench.cluster.network.block(1, 0);
    bench.cluster.network.unblock(1, 0);
  }
  EXPECT_LE(bench.cluster.loop.pending(), before + 1);
  bench.cluster.loop.run_for(std::chrono::seconds(60));
  EXPECT_EQ(near_events.closed, 0U) << "they see each other again";
  bench.cluster.network.block(1, 0);
  ASSERT_TRUE(bench.run([&] { return near_events.closed == 1; }));
  EXPECT_EQ(near_events.cause, Errc::kTimedOut);
}

// The last packet of a handshake may be in flight when the hosts lose their connection.
TEST_F(SimStreamPlain, KeepaliveBeginsWhenAConnectionOpensInAnOutage) {
  socklnd::StreamOptions options;
  options.keepalive_idle_s = 30;
  options.keepalive_interval_s = 2;
  options.keepalive_count = 5;
  ASSERT_TRUE(far->listen(bench.address(1), 127, options).has_value());
  ASSERT_TRUE(connect().has_value());
  ASSERT_TRUE(bench.run([&] { return near_events.connected == 1; }));
  ASSERT_EQ(far_events.accepted, 0U);
  bench.cluster.network.block_both(0, 1);
  ASSERT_TRUE(bench.run([&] { return far_events.accepted == 1; }));
  ASSERT_TRUE(bench.run([&] { return far_events.closed == 1; }));
  EXPECT_EQ(far_events.cause, Errc::kTimedOut);
}

TEST_F(SimStreamPlain, ARebootedPeerResetsAWriter) {
  establish();
  bench.cluster.network.set_present(1, false);
  bench.drivers[1].reset();
  bench.cluster.shards[1] =
      std::make_unique<SimShard>(bench.cluster.network, 1, ShardShape{}, 1, 77);
  bench.cluster.network.set_present(1, true);
  EXPECT_EQ(write_some(*near, stream, 10), 10U);
  ASSERT_TRUE(bench.run([&] { return near_events.closed == 1; }));
  EXPECT_EQ(near_events.cause, Errc::kReset);
}

// A writer whose peer's window is closed sends nothing.
TEST_F(SimStreamPlain, ARebootedPeerResetsAWriterBehindAClosedWindow) {
  establish();
  far->pause_reading(far_events.last);
  while (write_some(*near, stream, 65'536) > 0)
    bench.cluster.loop.run_for(std::chrono::milliseconds(1));
  bench.cluster.network.set_present(1, false);
  bench.drivers[1].reset();
  bench.cluster.shards[1] =
      std::make_unique<SimShard>(bench.cluster.network, 1, ShardShape{}, 1, 77);
  bench.cluster.network.set_present(1, true);
  ASSERT_TRUE(bench.run([&] { return near_events.closed == 1; }));
  EXPECT_EQ(near_events.cause, Errc::kReset);
}

TEST_F(SimStreamPlain, OneWayPartitionDeliversButIsNotAcknowledged) {
  establish();
  bench.cluster.network.block(1, 0);
  EXPECT_EQ(write_some(*near, stream, 500), 500U);
  ASSERT_TRUE(bench.run([&] { return far_events.bytes == 500; }));
  EXPECT_EQ(near->facts(stream).unacknowledged_bytes, 500U);
  ASSERT_TRUE(bench.run([&] { return near_events.closed == 1; }));
  EXPECT_EQ(near_events.cause, Errc::kTimedOut);
  EXPECT_EQ(near_events.unacknowledged, 500U) << "delivered, but this is unknown";
}

TEST_F(SimStreamPlain, PartitionThatHealsLosesNothing) {
  establish();
  bench.cluster.network.block_both(0, 1);
  EXPECT_EQ(write_some(*near, stream, 5000), 5000U);
  bench.cluster.loop.run_for(std::chrono::seconds(3));
  EXPECT_EQ(far_events.bytes, 0U);
  bench.cluster.network.unblock_both(0, 1);
  ASSERT_TRUE(bench.run([&] { return far_events.bytes == 5000; }));
  EXPECT_EQ(near_events.closed + far_events.closed, 0U);
}

TEST_F(SimStreamPlain, BothSidesMayCloseOnUnreadBytesAtOnce) {
  establish();
  near->pause_reading(stream);
  far->pause_reading(far_events.last);
  EXPECT_EQ(write_some(*near, stream, 1000), 1000U);
  EXPECT_EQ(write_some(*far, far_events.last, 1000), 1000U);
  bench.cluster.loop.run_for(std::chrono::milliseconds(1));
  far->close(far_events.last, Errc::kShutdown);
  near->close(stream, Errc::kProtocol);
  ASSERT_TRUE(bench.run([&] { return near_events.closed == 1 && far_events.closed == 1; }));
  EXPECT_EQ(near_events.cause, Errc::kProtocol);
  EXPECT_EQ(far_events.cause, Errc::kShutdown);
  EXPECT_EQ(bench.fabric.connections(), 0U);
}

TEST_F(SimStreamPlain, MovesToAnotherShardOfTheSameHost) {
  establish();
  StreamCounter other_events;
  SimShard other_shard(bench.cluster.network, 1, ShardShape{}, 1, 9);
  SimStreamDriver other(bench.fabric, 1, other_events, other_shard);
  other_shard.add(other);
  const StreamId old = far_events.last;
  const auto detached = far->detach(old);
  ASSERT_TRUE(detached.has_value());
  EXPECT_EQ(write_some(*near, stream, 700), 700U);  // arrives while no device has the stream
  bench.cluster.loop.run_for(std::chrono::milliseconds(1));
  EXPECT_FALSE(near->adopt(*detached, {}).has_value()) << "another host cannot have it";
  const auto adopted = other.adopt(*detached, {});
  ASSERT_TRUE(adopted.has_value());
  EXPECT_FALSE(other.adopt(*detached, {}).has_value()) << "nor can anybody twice";
  ASSERT_TRUE(bench.run([&] { return other_events.bytes == 700; }));
  EXPECT_EQ(far_events.bytes, 0U);
  EXPECT_EQ(far_events.closed, 0U) << "the old id just ends";
  EXPECT_EQ(write_some(*far, old, 1), 0U) << "and names nothing";
  near->close(stream, Errc::kShutdown);
  ASSERT_TRUE(bench.run([&] { return other_events.closed == 1; }));
  EXPECT_EQ(other_events.cause, Errc::kClosed);
}

TEST_F(SimStreamPlain, ShardsOfOneHostShareAListenAddress) {
  StreamCounter other_events;
  SimShard other_shard(bench.cluster.network, 1, ShardShape{}, 1, 9);
  SimStreamDriver other(bench.fabric, 1, other_events, other_shard);
  other_shard.add(other);
  ASSERT_TRUE(far->listen(bench.address(1), 127, {}).has_value());
  EXPECT_EQ(far->listen(bench.address(1), 127, {}).error(), Errc::kBusy);
  ASSERT_TRUE(other.listen(bench.address(1), 127, {}).has_value());
  for (unsigned i = 0; i < 40; ++i)
    ASSERT_TRUE(connect().has_value());
  ASSERT_TRUE(bench.run([&] { return far_events.accepted + other_events.accepted == 40; }));
  EXPECT_GT(far_events.accepted, 0U);
  EXPECT_GT(other_events.accepted, 0U);
}

TEST_F(SimStreamPlain, WritesStopAtTheBuffersWhenThePeerDoesNotRead) {
  establish();
  far->pause_reading(far_events.last);
  std::size_t total = 0;
  for (unsigned i = 0; i < 100; ++i) {
    total += write_some(*near, stream, 64 * 1024);
    bench.cluster.loop.run_for(std::chrono::milliseconds(1));
  }
  EXPECT_EQ(far_events.bytes, 0U);
  const StreamShape& shape = bench.fabric.shape();
  EXPECT_EQ(total, shape.send_buffer_bytes + shape.receive_buffer_bytes);
  far->resume_reading(far_events.last);
  EXPECT_TRUE(bench.run([&] { return far_events.bytes == total; }));
}

}  // namespace
}  // namespace plnet::drivers::sim_stream_test
