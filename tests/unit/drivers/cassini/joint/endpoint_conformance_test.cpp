// SPDX-License-Identifier: BSD-3-Clause
// The contract of lib/kfilnd/fabric_endpoint.hpp, kept by the driver on the software Cassini, both
// in order and with all the freedom of order that the device has, drawn from a seed.
#include "tests/conformance/endpoint_conformance.hpp"

#include <algorithm>
#include <cstring>
#include <memory>

#include <gtest/gtest.h>

#include "drivers/net/cassini/endpoint.hpp"
#include "drivers/net/cassini/inspect.hpp"
#include "drivers/net/cassini/soft/backend_soft.hpp"
#include "tests/unit/drivers/cassini/driver/word_log.hpp"
#include "tests/unit/drivers/cassini/joint/seed_count.hpp"

namespace plnet::cassini::endpoint_conformance_test {
namespace {

using conformance::BufferOrder;
using Id = CassiniCounters::Id;

const std::uint64_t kSeeds = seed_count(80);
constexpr std::uint32_t kFirstNic = 0x1a0;

soft::Freedom calm() {
  return {};
}
soft::Freedom rough(std::uint64_t seed, std::uint64_t delay_ns_max = 20'000) {
  return {.seed = seed,
          .link_failure = 0.1,
          .torn_event = 0.3,
          .event_after_answer = 0.5,
          .delay_ns_max = delay_ns_max,
          .command_pause = 0.2};
}

class JointBench final : public conformance::EndpointBench {
 public:
  explicit JointBench(const soft::Freedom& freedom) : fabric(freedom) {
    for (unsigned side = 0; side < 2; ++side) {
      soft::Nic& nic = fabric.add({.address = kFirstNic + side});
      sides[side].memory.resize(conformance::kEndpointArenaBytes);
      (void)sides[side]
          .arenas.add({.base = sides[side].memory.data(), .size = sides[side].memory.size()})
          .value();
      sides[side].backend =
          std::make_unique<soft::SoftBackend>(fabric, std::vector<soft::Nic*>{&nic});
    }
  }
  ~JointBench() override {
    if (testing::Test::HasFailure()) std::fputs(words.lines().c_str(), stderr);
    for (Side& side : sides) {
      side.endpoint.reset();
      side.device.reset();
      EXPECT_EQ(side.backend->objects(), 0U) << "something is left over";
    }
  }
  kfilnd::EndpointDriver& make(unsigned number, kfilnd::EndpointEvents& events) override {
    Side& side = sides[number];
    side.device = Device::open(*side.backend, {.pid = 3 + number}, side.arenas).value();
    EndpointConfig config;
    config.limits.operations_max = 64;
    config.bulk_blocks = 2;
    config.receive_event_bytes = 1U << 16U;
    config.link_period = std::chrono::milliseconds(1);
    // Several link failures in a row do not make the driver give up.
    config.not_ready_time = config.remote_not_ready_time = std::chrono::milliseconds(5);
    side.endpoint = Endpoint::create(*side.device, config, events, &words).value();
    if (portals_first) {
      unsigned turns = 200;
      (void)run([&] { return turns-- == 0; });
    }
    return *side.endpoint;
  }
  bool run(const std::function<bool()>& done) override {
    for (unsigned turn = 0; turn < 200'000; ++turn) {
      if (done()) return true;
      now += std::chrono::microseconds(1);
      (void)fabric.step(static_cast<std::uint64_t>(now.time_since_epoch().count()));
      for (Side& side : sides) {
        if (side.endpoint) (void)side.endpoint->poll(now);
      }
    }
    return false;
  }
  std::pair<std::uint64_t, unsigned> process(unsigned side) override {
    return {kFirstNic + side, 3 + side};
  }
  std::span<std::byte> memory(unsigned side) override { return sides[side].memory; }

  struct Side {
    std::vector<std::byte> memory;
    ArenaTable arenas;
    std::unique_ptr<soft::SoftBackend> backend;
    std::unique_ptr<Device> device;
    std::unique_ptr<Endpoint> endpoint;
  };
  // A peer that uses a tagged buffer has first received a message from its owner, so the portal is
  // enabled.
  bool portals_first = false;
  soft::Fabric fabric;
  WordLog words;
  std::array<Side, 2> sides;
  Instant now{};
};

TEST(CassiniConformance, Messages) {
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    SCOPED_TRACE(seed);
    JointBench bench(seed % 2 == 0 ? rough(seed) : calm());
    conformance::check_messages(bench, seed, 60, BufferOrder::kAny);
    if (HasFailure()) return;
  }
}

TEST(CassiniConformance, Tagged) {
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    SCOPED_TRACE(seed);
    JointBench bench(seed % 2 == 0 ? rough(seed) : calm());
    bench.portals_first = true;
    conformance::check_tagged(bench, seed, 20);
    if (HasFailure()) return;
  }
}

TEST(CassiniConformance, CancelAgainstArrival) {
  unsigned won = 0;
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    SCOPED_TRACE(seed);
    JointBench bench(rough(seed, 2'000));  // about as long as the check allows
    won += conformance::check_cancel_race(bench, seed) ? 1U : 0U;
    if (HasFailure()) return;
  }
  EXPECT_GT(won, kSeeds / 20) << "both outcomes must happen for this to mean anything";
  EXPECT_LT(won, kSeeds * 19 / 20);
}

TEST(CassiniConformance, Failures) {
  for (std::uint64_t seed = 1; seed <= kSeeds / 4; ++seed) {
    SCOPED_TRACE(seed);
    JointBench bench(seed % 2 == 0 ? rough(seed) : calm());
    conformance::check_failures(bench);
    if (HasFailure()) return;
  }
}

// An endpoint may be destroyed at any moment: the NIC releases its memory first, and everything is
// returned.
TEST(CassiniConformance, DestructionAtEveryTurn) {
  for (unsigned turns = 0; turns < kSeeds / 2; ++turns) {
    SCOPED_TRACE(turns);
    JointBench bench(rough(turns));
    conformance::EndpointPair pair(bench);
    auto& [near, far] = pair.users;
    const Fragment buffer{{0, 0}, 65536};
    const lnet::Payload payload{{&buffer, 1}, 0, 5000};
    const std::array<std::byte, 8> header{};
    ASSERT_TRUE(far.driver->post_multi_receive(buffer, 1));
    ASSERT_TRUE(near.driver->post_tagged(pair.peers[0], 7, false, payload, 2));
    ASSERT_TRUE(near.driver->send(pair.peers[0], header, {}, 3));
    ASSERT_TRUE(far.driver->write_tagged(pair.peers[1], 7, payload, 4));
    unsigned left = turns;
    ASSERT_TRUE(bench.run([&] { return left-- == 0; }));
    bench.sides[turns % 2].endpoint.reset();
    left = 20;
    ASSERT_TRUE(bench.run([&] { return left-- == 0; }));
  }
}

// Memory of a completed operation may be reused: the peer receives only its earlier contents.
TEST(CassiniConformance, ReleasedMemoryIsNotReadAfterATransmitFailure) {
  constexpr std::uint32_t kBytes = 40'000;
  constexpr std::uint64_t kWrites = 8;
  unsigned aborted = 0, written = 0;
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    SCOPED_TRACE(seed);
    JointBench bench(seed % 2 == 0 ? rough(seed) : calm());
    conformance::EndpointPair pair(bench);
    auto& [near, far] = pair.users;
    std::ranges::fill(bench.memory(0), std::byte{1});
    std::vector<Fragment> sources;
    for (std::uint64_t i = 0; i < kWrites; ++i)
      sources.push_back({{0, i * kBytes}, kBytes});
    for (std::uint64_t i = 0; i < kWrites; ++i) {
      const auto tag = static_cast<kfilnd::Tag>(i + 1);
      ASSERT_TRUE(far.driver->post_tagged(pair.peers[1], tag, false,
                                          conformance::payload_of(sources[i]), i));
    }
    unsigned turns = 60;  // until they are posted
    ASSERT_TRUE(bench.run([&] { return turns-- == 0; }));
    for (std::uint64_t i = 0; i < kWrites; ++i) {
      const auto tag = static_cast<kfilnd::Tag>(i + 1);
      ASSERT_TRUE(
          near.driver->write_tagged(pair.peers[0], tag, conformance::payload_of(sources[i]), i));
    }
    turns = static_cast<unsigned>(seed % 8) + 1;
    ASSERT_TRUE(bench.run([&] { return turns-- == 0; }));
    // An invalid doorbell stops the queue at the NIC's position.
    const Endpoint& endpoint = *bench.sides[0].endpoint;
    soft::CommandQueue* const queue =
        bench.fabric.nics()[0]->command_queue(endpoint.transmitter().commands().hardware_index());
    ASSERT_NE(queue, nullptr);
    const std::uint64_t nowhere = 1;
    std::memcpy(queue->launch_page(), &nowhere, sizeof nowhere);
    std::size_t told = 0;
    const auto spoil = [&] {
      for (; told < near.log.size(); ++told) {
        const Fragment& source = sources[near.log[told].cookie];
        std::ranges::fill(bench.memory(0).subspan(source.at.offset, kBytes), std::byte{0xee});
        (near.log[told].status ? written : aborted) += 1;
      }
      return told == kWrites && endpoint.running() && endpoint.stats().get(Id::kRebuilds) == 1;
    };
    ASSERT_TRUE(bench.run(spoil)) << "every one ends, and the queues are there again";
    EXPECT_EQ(std::ranges::count(bench.memory(1), std::byte{0xee}), 0);
    EXPECT_EQ(endpoint.stats().get(Id::kQuarantined), 0U);
    if (HasFailure()) return;
  }
  EXPECT_GT(written, 0U);
  EXPECT_GT(aborted, 0U);
}

TEST(CassiniConformance, InspectShowsTheCountersOfTheNic) {
  JointBench bench(calm());
  conformance::EndpointPair pair(bench);
  Counters<CassiniCounters> beside;
  beside.add(Id::kSends, 5);
  bench.sides[0].backend->add_statistics(0, "retry_handler", beside.view());
  bench.sides[0].backend->add_statistics(1, "another", beside.view());
  const std::array<std::byte, 8> header{};
  ASSERT_TRUE(pair.users[0].driver->send(pair.peers[0], header, {}, 3));
  unsigned left = 5;
  ASSERT_TRUE(bench.run([&] { return left-- == 0; }));
  const DeviceHandle device = bench.sides[0].backend->open_device(0).value();
  const NicView view = inspect(*bench.sides[0].backend, device).value();
  EXPECT_EQ(view.info.nic_address, kFirstNic);
  const auto value = [&](std::string_view name) {
    const auto found = std::ranges::find(view.statistics, name, &Statistic::name);
    return found == view.statistics.end() ? ~0ULL : found->value;
  };
  EXPECT_EQ(value("nic.puts_sent"), 1U);
  EXPECT_EQ(value("nic.failed"), 1U) << "the other end has no buffer";
  EXPECT_EQ(value("retry_handler.sends"), 5U);
  EXPECT_EQ(value("another.sends"), ~0ULL);
  EXPECT_EQ(inspect(*bench.sides[0].endpoint).not_ready, 1U);
  bench.sides[0].backend->close_device(device);
}

TEST(CassiniConformance, LinkAndNicAddressChange) {
  JointBench bench(calm());
  conformance::EndpointPair pair(bench);
  soft::Nic& nic = *bench.fabric.nics()[1];
  bench.fabric.set_link(nic, false);
  ASSERT_TRUE(bench.run([&] { return !pair.users[1].link_usable; }));
  bench.fabric.set_link(nic, true);
  bench.fabric.change_address(nic, 0x2b0);
  ASSERT_TRUE(bench.run([&] { return pair.users[1].nic_address == 0x2b0; }));
  EXPECT_TRUE(pair.users[1].link_usable);
}

}  // namespace
}  // namespace plnet::cassini::endpoint_conformance_test
