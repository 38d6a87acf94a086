// SPDX-License-Identifier: BSD-3-Clause
// The driver on software NICs that exchange packets over a wire which loses, repeats and delays
// them: the same contract as with whole messages, and the exhaustion of NIC resources.
#include <memory>

#include <gtest/gtest.h>

#include "drivers/net/cassini/endpoint.hpp"
#include "drivers/net/cassini/soft/backend_soft.hpp"
#include "drivers/net/cassini/soft/packet_port.hpp"
#include "drivers/net/cassini/soft/wire_inproc.hpp"
#include "tests/conformance/endpoint_conformance.hpp"
#include "tests/unit/drivers/cassini/joint/seed_count.hpp"

namespace plnet::cassini::packet_conformance_test {
namespace {

using conformance::BufferOrder;

constexpr std::uint32_t kFirstNic = 0x2a0;
const std::uint64_t kSeeds = seed_count(60);

class PacketBench final : public conformance::EndpointBench {
 public:
  explicit PacketBench(const soft::WireFaults& faults, const soft::Limits& limits = {})
      : cable(faults) {
    for (unsigned side = 0; side < 2; ++side) {
      Side& one = sides[side];
      one.nic = std::make_unique<soft::Nic>(
          soft::NicOptions{.address = kFirstNic + side, .limits = limits});
      one.wire = std::make_unique<soft::InprocWire>(cable, kFirstNic + side);
      soft::PortOptions options;
      options.seed = faults.seed + side;
      options.retry.time_divisor = 20'000;  // a packet times out after 54 us
      options.source_connections = options.target_connections = 16;
      one.port = std::make_unique<soft::PacketPort>(*one.nic, *one.wire, options);
      one.memory.resize(conformance::kEndpointArenaBytes);
      (void)one.arenas.add({.base = one.memory.data(), .size = one.memory.size()}).value();
      one.backend = std::make_unique<soft::SoftBackend>(one.port->gate(),
                                                        std::vector<soft::Nic*>{one.nic.get()});
    }
  }
  ~PacketBench() override {
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
    config.not_ready_time = std::chrono::milliseconds(5);
    side.endpoint = Endpoint::create(*side.device, config, events).value();
    return *side.endpoint;
  }
  bool run(const std::function<bool()>& done) override {
    for (unsigned turn = 0; turn < 400'000; ++turn) {
      if (done()) return true;
      now += std::chrono::microseconds(1);
      for (Side& side : sides) {
        (void)side.port->step(static_cast<std::uint64_t>(now.time_since_epoch().count()));
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
    std::unique_ptr<soft::Nic> nic;
    std::unique_ptr<soft::InprocWire> wire;
    std::unique_ptr<soft::PacketPort> port;
    std::vector<std::byte> memory;
    ArenaTable arenas;
    std::unique_ptr<soft::SoftBackend> backend;
    std::unique_ptr<Device> device;
    std::unique_ptr<Endpoint> endpoint;
  };
  soft::InprocCable cable;
  std::array<Side, 2> sides;
  Instant now{};
};

// Low enough that four tries of one packet do not all fail in thousands of runs.
soft::WireFaults bad_wire(std::uint64_t seed) {
  return {.seed = seed, .drop = 0.01, .duplicate = 0.05, .reorder = 0.1, .delay_ns = 2'000};
}

TEST(CassiniPackets, Messages) {
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    SCOPED_TRACE(seed);
    PacketBench bench(seed % 2 == 0 ? bad_wire(seed) : soft::WireFaults{.seed = seed});
    conformance::check_messages(bench, seed, 60, BufferOrder::kAny);
    if (HasFailure()) return;
  }
}

TEST(CassiniPackets, Tagged) {
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    SCOPED_TRACE(seed);
    PacketBench bench(seed % 2 == 0 ? bad_wire(seed) : soft::WireFaults{.seed = seed});
    conformance::check_tagged(bench, seed, 20);
    if (HasFailure()) return;
  }
}

// A missing NIC resource is an error at start, without a crash, and everything is released.
TEST(CassiniPackets, EveryLimitRunsOutAtStart) {
  const auto start = [](soft::Limits limits) {
    soft::Fabric fabric;
    soft::Nic& nic = fabric.add({.address = 1, .limits = limits});
    soft::SoftBackend backend(fabric, {&nic});
    std::vector<std::byte> memory(1U << 16U);
    ArenaTable arenas;
    (void)arenas.add({.base = memory.data(), .size = memory.size()}).value();
    bool made = false;
    if (auto device = Device::open(backend, {.pid = 3}, arenas)) {
      struct Nobody final : kfilnd::EndpointEvents {
        void on_completions(std::span<const kfilnd::FabricCompletion>) override {}
        void on_link(bool, std::uint64_t) override {}
      } nobody;
      EndpointConfig config;
      config.limits.operations_max = 16;
      made = Endpoint::create(**device, config, nobody).has_value();
    }
    EXPECT_EQ(backend.objects(), 0U) << "something is left over";
    return made;
  };
  EXPECT_TRUE(start({}));
  EXPECT_FALSE(start({.transmit_queues = 0}));
  EXPECT_FALSE(start({.target_queues = 0}));
  EXPECT_FALSE(start({.event_queues = 1}));
  EXPECT_FALSE(start({.event_queues = 2}));
  EXPECT_FALSE(start({.portals = 1}));
  EXPECT_FALSE(start({.resource_groups = 0}));
  EXPECT_FALSE(start({.profiles = 0}));
  EXPECT_FALSE(start({.mappings = 0}));
}

}  // namespace
}  // namespace plnet::cassini::packet_conformance_test
