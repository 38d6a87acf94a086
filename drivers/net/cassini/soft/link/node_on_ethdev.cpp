// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/net/cassini/soft/link/node_on_ethdev.hpp"

#include <utility>

#include <rte_cycles.h>

namespace plnet::cassini::soft {
namespace {

// Sixteenths of a second since the machine was started: a process does not start twice in one, and
// 65536 of them go round in an hour, when every peer has long forgotten. A machine that was started
// anew counts from 0, which its peers hear as soon as they have forgotten.
std::uint32_t incarnation_now() {
  return static_cast<std::uint32_t>(rte_rdtsc() / (rte_get_tsc_hz() / 16)) & 0xffff;
}

}  // namespace

plnet::Outcome<std::unique_ptr<NodeOnEthdev>> NodeOnEthdev::open(const NodeOnEthdevOptions& options,
                                                                 RetryLog* log) {
  auto wire = WireEthdev::open(options.wire);
  if (!wire) return std::unexpected(std::move(wire.error()));
  auto made = std::unique_ptr<NodeOnEthdev>(new NodeOnEthdev());
  made->wire_ = std::move(*wire);
  Wire* under = made->wire_.get();
  if (options.faults) under = &made->faults_.emplace(*under, *options.faults);
  NodeOptions node = options.node;
  node.nic.address = made->wire_->status().address;
  node.port.incarnation = incarnation_now();
  made->node_ = std::make_unique<Node>(*under, node, log);
  return made;
}

}  // namespace plnet::cassini::soft
