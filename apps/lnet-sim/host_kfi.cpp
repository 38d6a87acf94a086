// SPDX-License-Identifier: BSD-3-Clause
// kfi of a host: each interface on one of its shards, and what may happen to its NIC.
#include <algorithm>

#include "apps/lnet-sim/host.hpp"

namespace plnet::sim {

using namespace lnet;

std::uint64_t Host::kfi_bytes() const {
  std::uint64_t bytes = 0;
  for (const NetPlan* const net : nets_)
    bytes += net->kind == NetKind::kKfi ? KfiNic::receive_bytes(net->kfi) : 0;
  return bytes;
}

// In turn: the shards of a CPT would need a receive context each, and homes for peers.
std::vector<std::uint16_t> Host::cpts_of(std::size_t interface) const {
  if (nets_[interface]->kind != NetKind::kKfi) return {};
  return {static_cast<std::uint16_t>(interface % shards_count_)};
}

std::unique_ptr<Lnd> Host::make_kfi(Device& device, const NiPort& port, ShardId shard) {
  const std::size_t which = device.interface();
  const NetPlan& net = *nets_[which];
  std::uint64_t at = kfi_memory_;
  for (std::size_t before = 0; before < which; ++before) {
    if (nets_[before]->kind == NetKind::kKfi) at += KfiNic::receive_bytes(nets_[before]->kfi);
  }
  const drivers::FaultPlan none;
  const SiteConfig& config = world_.config;
  const auto number = static_cast<std::size_t>(&net - config.nets.data());
  const Nid& nid = port.ni().nid;
  return device.make_kfi(
      *world_.kfi[number],
      {.nid = nid,
       .plan = net.kfi,
       .faults = world_.stopping ? none : net.faults,
       .arenas = arenas_,
       .receive_memory = {{0, at}, static_cast<std::uint32_t>(KfiNic::receive_bytes(net.kfi))},
       .peers_max = remote_nis() + 16,
       .bulk_bytes_max = slot_bytes_of(config.traffic),
       .life = static_cast<std::uint32_t>(cookie_),
       .lnd_timeout = std::chrono::seconds(config.lnd_timeout_s),
       .start = world_.loop.now(),
       .place = {.host = id_,
                 .bell = *bells_[shard],
                 .home = nid.address32(),
                 .random = Random(config.seed + which * 4096 + cookie_ * 64).fork("kfi")}},
      shard);
}

std::vector<std::uint32_t> Host::kfi_interfaces() const {
  std::vector<std::uint32_t> all;
  for (std::uint32_t i = 0; i < nets_.size(); ++i) {
    if (nets_[i]->kind == NetKind::kKfi) all.push_back(i);
  }
  return all;
}

KfiFabric& Host::kfi_fabric(std::uint32_t interface) const {
  return *world_.kfi[static_cast<std::size_t>(nets_[interface] - world_.config.nets.data())];
}

bool Host::set_nack_storm(std::uint32_t interface, bool on) {
  for (const auto& device : devices_) {
    if (device->kfi() == nullptr || device->interface() != interface) continue;
    device->kfi()->set_storm(on);
    ring(device->shard());
    return true;
  }
  return false;
}

void Host::count_kfi(KfiCounts& counts) const {
  for (const auto& device : devices_) {
    if (device->kfi() != nullptr) device->kfi()->count_into(counts);
  }
}

}  // namespace plnet::sim
