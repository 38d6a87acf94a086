// SPDX-License-Identifier: BSD-3-Clause
// A software Cassini on a port of DPDK, ready for the driver: what a program makes one of for each
// kfi network that has no hardware under it.
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

// How long a NIC that does not answer is not spoken to. On Slingshot it is 96 s, in which the
// fabric finds other ways; behind a port it is a cable or a process, back at any moment.
inline constexpr std::uint64_t kDownNidNs = 4'000'000'000;

struct NodeOnEthdevOptions {
  WireEthdevOptions wire;
  // Its address is the wire's; its packets are as large as the port carries; its incarnation is
  // made from the machine's clock, so that peers tell this life from the last one.
  NodeOptions node{.nic = {},
                   .port = {.payload_max = kPayloadMax, .retry = {.down_nid_ns = kDownNidNs}}};
  std::optional<FaultWireOptions> faults;  // for tests: between the NIC and the link layer
};

class NodeOnEthdev final : public Pollable {
 public:
  // After the EAL was started, by a thread of it.
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
