// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/net/cassini/soft/link/node_on_ethdev.hpp"

#include <utility>

#include <rte_cycles.h>

namespace plnet::cassini::soft {
namespace {

// Sixteenths of a second since the machine's start: no process starts twice in one, and 65536 of
// them last an hour, after which no peer remembers. A restarted machine counts from 0, which peers
// accept as soon as they have forgotten the earlier life.
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
