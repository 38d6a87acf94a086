// SPDX-License-Identifier: BSD-3-Clause
// Two complete nodes (driver, model, packets and link layer) on a simulated cable.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "drivers/net/cassini/endpoint.hpp"
#include "drivers/net/cassini/soft/node.hpp"
#include "tests/conformance/endpoint_conformance.hpp"
#include "tests/unit/drivers/cassini/joint/link_wire.hpp"
#include "tests/unit/drivers/cassini/link/link_rig.hpp"

namespace plnet::cassini {

class CableBench final : public conformance::EndpointBench {
 public:
  static constexpr std::uint32_t kFirstNic = 0x2a0;
  // A packet of the model times out after 21 ms, later than the link layer's own recovery.
  static constexpr std::uint64_t kTimeDivisor = 50;

  CableBench(std::uint64_t the_seed, const soft::link::CableFaults& faults)
      : seed(the_seed), cable(the_seed) {
    cable.faults = faults;
    for (unsigned number = 0; number < 2; ++number) {
      Side& side = sides[number];
      side.memory.resize(conformance::kEndpointArenaBytes);
      (void)side.arenas.add({.base = side.memory.data(), .size = side.memory.size()}).value();
      side.plug =
          cable.plug(soft::link::mac_of(number + 1), [&side](std::span<const std::byte> frame) {
            if (side.wire) side.wire->hear(frame);
          });
      start(number);
    }
  }
  ~CableBench() override {
    for (unsigned number = 0; number < 2; ++number)
      stop(number);
  }

  // Sets the longest packet of a port.
  void set_packet_bytes(unsigned number, std::size_t bytes) {
    sides[number].packet_bytes = bytes;
    stop(number);
    start(number);
  }
  void start(unsigned number) {
    Side& side = sides[number];
    side.nic_address = kFirstNic + number + 16U * side.moves;
    const soft::link::LinkOptions link{
        .packet_bytes = side.packet_bytes,
        .peers = 8,
        .window = 128,
        .send_packets = 512,
        .store_packets = 128,
        .seed = seed * 100 + number + std::uint64_t{10} * side.lives};
    side.wire = std::make_unique<soft::LinkWire>(
        link, side.nic_address, soft::link::mac_of(number + 1),
        [this, plug = side.plug](std::span<const std::byte> frame) { cable.put(plug, frame); });
    soft::NodeOptions options{.nic = {.address = side.nic_address}, .port = {}};
    if (side.packet_bytes > 2048) options.port.payload_max = soft::kPayloadMax;
    options.port.seed = seed + number;
    options.port.incarnation = ++side.lives;
    options.port.source_connections = options.port.target_connections = 16;
    options.port.messages_max = 256;
    options.port.retry.time_divisor = kTimeDivisor;
    side.node = std::make_unique<soft::Node>(*side.wire, options);
  }
  // Emulates a killed process: it sends nothing any more and notifies nobody.
  void stop(unsigned number) {
    Side& side = sides[number];
    cable.silent[side.plug] = true;
    side.endpoint.reset();
    side.device.reset();
    EXPECT_EQ(side.node->objects(), 0U) << "something is left over";
    side.node.reset();
    side.wire.reset();
    cable.silent[side.plug] = false;
  }

  kfilnd::EndpointDriver& make(unsigned number, kfilnd::EndpointEvents& events) override {
    Side& side = sides[number];
    side.device = Device::open(side.node->backend(), {.pid = 3 + number}, side.arenas).value();
    EndpointConfig config;
    config.limits.operations_max = 64;
    config.bulk_blocks = 2;
    config.receive_event_bytes = 1U << 16U;
    config.link_period = std::chrono::milliseconds(1);
    config.not_ready_time = std::chrono::milliseconds(20);
    side.endpoint = Endpoint::create(*side.device, config, events).value();
    return *side.endpoint;
  }
  void turn() {
    cable.now_ns += kStepNs;
    cable.deliver();
    const Instant now{std::chrono::nanoseconds(cable.now_ns)};
    for (Side& side : sides) {
      if (side.node) (void)side.node->poll(now);
      if (side.endpoint) (void)side.endpoint->poll(now);
    }
  }
  bool run(const std::function<bool()>& done) override {
    for (unsigned i = 0; i < kTurnsMax; ++i) {
      if (done()) return true;
      turn();
    }
    return done();
  }
  std::pair<std::uint64_t, unsigned> process(unsigned side) override {
    return {sides[side].nic_address, 3 + side};
  }
  std::span<std::byte> memory(unsigned side) override { return sides[side].memory; }

  static constexpr std::uint64_t kStepNs = 5'000;
  static constexpr unsigned kTurnsMax = 1'000'000;  // 5 s

  struct Side {
    std::size_t plug = 0;
    unsigned lives = 0;
    unsigned moves = 0;  // to other NIC addresses
    std::uint32_t nic_address = 0;
    std::size_t packet_bytes = 1452;
    std::vector<std::byte> memory;
    ArenaTable arenas;
    std::unique_ptr<soft::LinkWire> wire;
    std::unique_ptr<soft::Node> node;
    std::unique_ptr<Device> device;
    std::unique_ptr<Endpoint> endpoint;
  };
  std::uint64_t seed;
  soft::link::Cable cable;
  std::array<Side, 2> sides;
};

}  // namespace plnet::cassini
