// SPDX-License-Identifier: BSD-3-Clause
#include "apps/lnet-sim/net/kfi/kfi_net.hpp"

#include <algorithm>

namespace plnet::sim {

using namespace lnet;

// In rotation: all shards of a CPT would need a receive context each, and homes for peers.
std::vector<std::uint16_t> KfiNet::cpts_of(const NetInterface& of) const {
  return {static_cast<std::uint16_t>(of.number % setup_.limits.shards)};
}

std::unique_ptr<Lnd> KfiNet::make_lnd(const NetInterface& of, const Ni& /*ni*/, LndUpcalls& core,
                                      ShardId shard) {
  const drivers::FaultPlan none;
  const std::uint64_t place = of.number * 4096 + std::uint64_t{setup_.life} * 64;
  const KfiNic::Setup setup{.nid = of.nid,
                            .plan = of.plan->kfi,
                            .faults = setup_.has_faults ? of.plan->faults : none,
                            .arenas = setup_.arenas,
                            .receive_memory = {of.memory, static_cast<std::uint32_t>(
                                                              KfiNic::receive_bytes(of.plan->kfi))},
                            .peers_max = of.peers + 16,
                            .bulk_bytes_max = setup_.limits.payload_bytes,
                            .life = setup_.life,
                            .lnd_timeout = setup_.limits.lnd_timeout,
                            .start = setup_.start,
                            .place = {.host = setup_.host,
                                      .bell = *setup_.lcores[shard],
                                      .home = of.nid.address32(),
                                      .random = Random(setup_.seed + place).fork("kfi")}};
  auto& fabric = static_cast<KfiFabric&>(*of.network);
  KfiNic& nic =
      *places_.emplace_back(of.number, shard, std::make_unique<KfiNic>(fabric, setup)).nic;
  return nic.make_lnd(core);
}

unsigned KfiNet::poll(ShardId shard, Instant now) {
  unsigned work = 0;
  for (const Place& place : places_)
    work += place.shard == shard ? place.nic->poll(now) : 0;
  return work;
}

Instant KfiNet::next_deadline(ShardId shard) {
  Instant next = Instant::max();
  for (const Place& place : places_) {
    if (place.shard == shard) next = std::min(next, place.nic->next_deadline());
  }
  return next;
}

void KfiNet::calm() {
  for (const Place& place : places_)
    place.nic->calm();
}

// The NIC observes its link itself, and kfilnd holds it.
void KfiNet::set_link(const NetInterface& of, bool up, bool /*held*/) {
  static_cast<KfiFabric&>(*of.network).set_link(of.nid.address32(), up);
}

bool KfiNet::set_nack_storm(const NetInterface& of, bool on) {
  const auto found = std::ranges::find(places_, of.number, &Place::interface);
  if (found == places_.end()) return false;
  found->nic->set_storm(on);
  return true;
}

std::uint64_t KfiNet::faults() const {
  std::uint64_t sum = 0;
  for (const Place& place : places_)
    sum += place.nic->faults();
  return sum;
}

std::uint64_t KfiNet::protocol_errors() const {
  std::uint64_t sum = 0;
  for (const Place& place : places_)
    sum += place.nic->protocol_errors();
  return sum;
}

void KfiNet::count_into(NetCounts& counts) const {
  for (const Place& place : places_)
    place.nic->count_into(counts);
}

}  // namespace plnet::sim
