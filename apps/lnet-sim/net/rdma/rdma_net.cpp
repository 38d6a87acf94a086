// SPDX-License-Identifier: BSD-3-Clause
#include "apps/lnet-sim/net/rdma/rdma_net.hpp"

#include <algorithm>

namespace plnet::sim {

using namespace lnet;

namespace {

RdmaLndConfig config_of(const NetInterface& of, const NetLimits& limits) {
  return {.nid = of.nid,
          .shards = limits.shards,
          .peers_max = of.peers + 16,
          .pairs_max = of.peers * (limits.shards_max + 2),
          .lnd_timeout = limits.lnd_timeout};
}

}  // namespace

std::uint64_t RdmaNet::bytes_of_shard(const NetInterface& of, const NetLimits& limits) {
  return (RdmaLnd::memory_bytes(config_of(of, limits)) + 4095) / 4096 * 4096;
}

std::size_t RdmaNet::receives_usual(const NetInterface& of) const {
  return config_of(of, setup_.limits).pairs_max * RdmaPair::kDepth;
}

std::unique_ptr<Lnd> RdmaNet::make_lnd(const NetInterface& of, const Ni& /*ni*/, LndUpcalls& core,
                                       ShardId shard) {
  RdmaLndConfig config = config_of(of, setup_.limits);
  config.shard = shard;
  config.arenas = &setup_.arenas;
  config.lazy = &setup_.wires.lazy;
  config.memory = {of.memory.arena, of.memory.offset + shard * bytes_of_shard(of, setup_.limits)};
  auto lnd = std::make_unique<RdmaLnd>(config, core);
  Device& device = devices_.emplace_back(of.number, shard, lnd.get());
  o2iblnd::VerbsEvents* events = lnd.get();
  if (of.plan->faults.count > 0 && setup_.has_faults) {
    const std::uint64_t place = of.number * 4096 + std::uint64_t{setup_.node} * 64 + shard;
    device.faults =
        std::make_unique<drivers::FaultVerbsDriver>(*lnd, Random(setup_.seed + place).fork("wire"));
    PLNET_CHECK(device.faults->set_plan(of.plan->faults).has_value(),
                "the site's reader asks the seam");
    events = device.faults.get();
  }
  device.driver = std::make_unique<drivers::SimVerbsDriver>(
      setup_.wires.verbs, setup_.host, setup_.arenas, *events, *setup_.lcores[shard]);
  device.driver->reserve(config.pairs_max);
  if (device.faults) device.faults->attach(*device.driver);
  lnd->attach(device.faults ? static_cast<o2iblnd::VerbsDriver&>(*device.faults) : *device.driver);
  return lnd;
}

void RdmaNet::close() {
  for (Device& device : devices_)
    device.driver.reset();
}

// Faults first: what they held back is older than what the device has.
unsigned RdmaNet::poll(ShardId shard, Instant now) {
  unsigned work = 0;
  for (const Device& device : devices_) {
    if (device.shard != shard) continue;
    if (device.faults) work += device.faults->poll(now);
    work += device.driver->poll(now);
  }
  return work;
}

Instant RdmaNet::next_deadline(ShardId shard) {
  Instant next = Instant::max();
  for (const Device& device : devices_) {
    if (device.shard == shard && device.faults)
      next = std::min(next, device.faults->next_deadline());
  }
  return next;
}

void RdmaNet::calm() {
  for (const Device& device : devices_) {
    if (device.faults) PLNET_CHECK(device.faults->set_plan({}).has_value(), "nothing is allowed");
  }
}

void RdmaNet::set_link(const NetInterface& of, bool up, bool /*held*/) {
  for (const Device& device : devices_) {
    if (device.interface == of.number) device.driver->set_device(up, Errc::kNetworkDown);
  }
}

std::uint64_t RdmaNet::faults() const {
  std::uint64_t sum = 0;
  for (const Device& device : devices_)
    sum += device.faults ? device.faults->judge().applied() : 0;
  return sum;
}

std::uint64_t RdmaNet::connections_lost() const {
  std::uint64_t sum = 0;
  for (const Device& device : devices_)
    sum += device.lnd->count(RdmaLndCounters::Id::kLost);
  return sum;
}

std::uint64_t RdmaNet::protocol_errors() const {
  std::uint64_t sum = 0;
  for (const Device& device : devices_)
    sum += device.lnd->count(RdmaLndCounters::Id::kProtocolErrors);
  return sum;
}

}  // namespace plnet::sim
