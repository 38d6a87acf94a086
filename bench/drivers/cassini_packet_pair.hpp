// SPDX-License-Identifier: BSD-3-Clause
// Two software Cassinis that exchange packets over a wire in memory, a driver's endpoint on each;
// all of it is polled by one thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "bench/drivers/cassini_soft_pair.hpp"
#include "drivers/net/cassini/soft/node.hpp"
#include "drivers/net/cassini/soft/wire_inproc.hpp"
#include "lib/runtime/poll/tsc_clock.hpp"

namespace plnet::bench {

struct PacketPair {
  static constexpr std::uint32_t kFirstNic = 0x1a0;

  explicit PacketPair(std::size_t bulk_bytes)
      : near_wire(cable, kFirstNic),
        far_wire(cable, kFirstNic + 1),
        near_node(near_wire, options(kFirstNic)),
        far_node(far_wire, options(kFirstNic + 1)),
        near(near_node.backend(), 0, bulk_bytes),
        far(far_node.backend(), 0, bulk_bytes),
        to_far{near.endpoint().resolve(kFirstNic + 1, SoftEnd::kPid).value(), 0},
        to_near{far.endpoint().resolve(kFirstNic, SoftEnd::kPid).value(), 0} {
    // Until the portals are enabled and the buffers linked.
    for (unsigned i = 0; i < 100; ++i) {
      step();
      poll(clock.now());
    }
  }
  void step() {
    const Instant now = clock.now();
    (void)near_node.poll(now);
    (void)far_node.poll(now);
  }
  void poll(Instant now) {
    (void)near.endpoint().poll(now);
    (void)far.endpoint().poll(now);
  }

  [[nodiscard]] static cassini::soft::NodeOptions options(std::uint32_t address) {
    cassini::soft::NodeOptions options{.nic = {.address = address}, .port = {}};
    options.port.payload_max = cassini::soft::kPayloadMax;
    return options;
  }

  const runtime::TscClock clock;
  cassini::soft::InprocCable cable{
      {.packet_bytes_max = cassini::soft::kPayloadMax + cassini::soft::kPacketHeaderBytes}};
  cassini::soft::InprocWire near_wire, far_wire;
  cassini::soft::Node near_node, far_node;
  SoftEnd near, far;
  kfilnd::Target to_far, to_near;
};

}  // namespace plnet::bench
