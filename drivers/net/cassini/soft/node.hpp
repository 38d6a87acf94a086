// SPDX-License-Identifier: BSD-3-Clause
// A complete software NIC: the NIC, its packets, a given wire, and the driver's backend. Stepped by
// the poller that also polls the endpoint.
#pragma once

#include <cstdint>
#include <string_view>

#include "drivers/net/cassini/soft/backend_soft.hpp"
#include "drivers/net/cassini/soft/nic.hpp"
#include "drivers/net/cassini/soft/packet_port.hpp"
#include "drivers/net/cassini/soft/wire.hpp"
#include "lib/base/pollable.hpp"

namespace plnet::cassini::soft {

struct NodeOptions {
  NicOptions nic;
  PortOptions port;
};

class Node final : public Pollable {
 public:
  // `wire` outlives it.
  Node(Wire& wire, const NodeOptions& options, RetryLog* log = nullptr)
      : nic_(options.nic), port_(nic_, wire, options.port, log), backend_(port_.gate(), {&nic_}) {}
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;

  // For Device::open(): its only device is cxi0.
  [[nodiscard]] Backend& backend() { return backend_; }
  [[nodiscard]] std::size_t objects() const { return backend_.objects(); }
  unsigned poll(Instant now) override {
    return port_.step(static_cast<std::uint64_t>(now.time_since_epoch().count()));
  }
  [[nodiscard]] std::string_view name() const override { return "cassini_soft"; }

  [[nodiscard]] Nic& nic() { return nic_; }
  [[nodiscard]] PacketPort& port() { return port_; }

 private:
  Nic nic_;
  PacketPort port_;
  SoftBackend backend_;
};

}  // namespace plnet::cassini::soft
