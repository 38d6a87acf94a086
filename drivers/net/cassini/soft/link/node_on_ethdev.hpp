// SPDX-License-Identifier: BSD-3-Clause
// A software Cassini on a DPDK port, ready for the driver: a program makes one for each kfi network
// without hardware.
//
//   auto node = NodeOnEthdev::open({.wire = {.port = "net_memif0"}});
//   auto device = Device::open((*node)->backend(), ...);   // drivers/net/cassini/device.hpp
//   auto endpoint = Endpoint::create(**device, ...);
//   on each turn: (*node)->poll(now), (*endpoint)->poll(now)
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include "drivers/net/cassini/soft/fault_wire.hpp"
#include "drivers/net/cassini/soft/link/wire_ethdev.hpp"
#include "drivers/net/cassini/soft/node.hpp"
#include "lib/base/result.hpp"

namespace plnet::cassini::soft {

// Time without sending to a NIC that does not answer. On Slingshot it is 96 s, in which the fabric
// finds other paths; behind a port a cable or a process may be back at any moment.
inline constexpr std::uint64_t kDownNidNs = 4'000'000'000;

struct NodeOnEthdevOptions {
  WireEthdevOptions wire;
  // Its address is the wire's; its packets are as large as the port carries; its incarnation comes
  // from the machine's clock, so that peers recognise a restart.
  NodeOptions node{.nic = {},
                   .port = {.payload_max = kPayloadMax, .retry = {.down_nid_ns = kDownNidNs}}};
  std::optional<FaultWireOptions> faults;  // for tests: between the NIC and the link layer
};

class NodeOnEthdev final : public Pollable {
 public:
  // After the start of the EAL, by a thread of it.
  [[nodiscard]] static plnet::Outcome<std::unique_ptr<NodeOnEthdev>> open(
      const NodeOnEthdevOptions& options, RetryLog* log = nullptr);

  [[nodiscard]] Backend& backend() { return node_->backend(); }
  unsigned poll(Instant now) override { return node_->poll(now); }
  [[nodiscard]] std::string_view name() const override { return "cassini_soft"; }

  [[nodiscard]] Node& node() { return *node_; }
  [[nodiscard]] WireEthdev& wire() { return *wire_; }
  [[nodiscard]] FaultWire* faults() { return faults_ ? &*faults_ : nullptr; }

 private:
  NodeOnEthdev() = default;

  std::unique_ptr<WireEthdev> wire_;
  std::optional<FaultWire> faults_;
  std::unique_ptr<Node> node_;
};

}  // namespace plnet::cassini::soft
