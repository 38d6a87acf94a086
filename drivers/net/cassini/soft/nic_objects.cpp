// SPDX-License-Identifier: BSD-3-Clause
// Mappings and portals that a NIC allocates (shs-cxi-driver: the error numbers).
#include <algorithm>
#include <cerrno>
#include <cstdint>

#include "drivers/net/cassini/soft/first_free.hpp"
#include "drivers/net/cassini/soft/nic.hpp"

namespace plnet::cassini::soft {
// Without a permission the device may do nothing with it, as on hardware.
Made<unsigned> Nic::map(unsigned group, void* va, std::size_t length, const MapRequest& request) {
  Group* const owner = group_of(group);
  if (owner == nullptr || va == nullptr || length == 0) return no(EINVAL);
  if (length >= kIovaLimit / 4) return no(ENOMEM);
  const unsigned number = first_free(mappings_, 0, static_cast<unsigned>(mappings_.size()),
                                     [](const auto& one) { return !one.used; });
  if (number == mappings_.size()) {
    if (mappings_.size() >= tables_.limits.mappings) return no(ENOMEM);
    mappings_.emplace_back();
  }
  auto* const memory = static_cast<std::byte*>(va);
  const unsigned contexts = owner->space.contexts();
  const AddressSpace::Place place = owner->space.add(memory, length, request);
  if (place.lac == AddressSpace::kNoContext) return no(ENOSPC);
  if (owner->space.contexts() > contexts && !take(group, Resource::kAddressContexts)) {
    owner->space.remove(place.lac, place.iova);
    return no(ENOSPC);
  }
  mappings_[number] = {.used = true,
                       .group = static_cast<std::uint16_t>(group),
                       .lac = static_cast<std::uint8_t>(place.lac),
                       .iova = place.iova,
                       .va = memory,
                       .length = length};
  ++owner->objects;
  return number;
}

Made<void> Nic::unmap(unsigned number) {
  if (number >= mappings_.size() || !mappings_[number].used) return no(EINVAL);
  MappingEntry& mapping = mappings_[number];
  if (mapping.event_queues > 0) return no(EBUSY);
  Group* const owner = group_of(mapping.group);
  const unsigned contexts = owner->space.contexts();
  owner->space.remove(mapping.lac, mapping.iova);
  if (owner->space.contexts() < contexts) give(mapping.group, Resource::kAddressContexts);
  --owner->objects;
  mapping = {};
  return {};
}

void Nic::know_pages(unsigned number, std::uint64_t offset, std::uint64_t length) {
  const MappingEntry& mapping = mappings_[number];
  group_of(mapping.group)->space.know(mapping.lac, mapping.iova + offset, length);
}

Made<unsigned> Nic::make_portal(unsigned group, unsigned eq, const PortalRequest& request) {
  Group* const owner = group_of(group);
  if (owner == nullptr) return no(EINVAL);
  if (eq != 0 && (tables_.eq(eq) == nullptr || tables_.eq_group[eq] != group)) return no(EINVAL);
  const auto end = static_cast<unsigned>(tables_.portals.size());
  const unsigned number =
      first_free(tables_.portals, 1, end, [](const auto& one) { return !one.allocated; });
  if (number == end || !take(group, Resource::kPortals)) return no(ENOSPC);
  PortalTable portal;
  portal.service = static_cast<std::uint16_t>(owner->service_row);
  portal.allocated = true;
  portal.matching = request.matching;
  portal.event_match = request.event_match;
  portal.flow_control = request.flow_control;
  portal.use_long_event = request.use_long_event;
  portal.clear_remote_offset = request.clear_remote_offset;
  portal.hybrid = request.hybrid;
  // The driver asks for the check wherever nothing is matched (cass_pt.c: cxi_pte_alloc()).
  portal.space_check = request.space_check || !request.matching;
  portal.state = PortalState::kDisabled;
  portal.group = static_cast<std::uint16_t>(group);
  portal.eq = static_cast<std::uint16_t>(eq);
  portal.generation = ++generation_;
  tables_.portals[number] = portal;
  ++owner->objects;
  return number;
}

Made<void> Nic::drop_portal(unsigned number) {
  if (number == 0 || number >= tables_.portals.size() || !tables_.portals[number].allocated)
    return no(EINVAL);
  if (tables_.portals[number].maps > 0) return no(EBUSY);
  if (carrier_ != nullptr) carrier_->cut(*this, number, kEveryBuffer, ListKind::kPriority);
  portals_.reset(number);
  --group_of(tables_.portals[number].group)->objects;
  give(tables_.portals[number].group, Resource::kPortals);
  tables_.portals[number] = {};
  return {};
}

Made<void> Nic::map_portal(unsigned number, std::uint32_t domain, unsigned index) {
  if (number == 0 || number >= tables_.portals.size() || !tables_.portals[number].allocated ||
      index >= kPidGranule)
    return no(EINVAL);
  const auto found = tables_.domains.find(domain);
  if (found == tables_.domains.end()) return no(EINVAL);
  DomainEntry& entry = *found->second;
  if (entry.group != tables_.portals[number].group) return no(EINVAL);
  if (entry.portals[index] != 0) return no(EEXIST);
  entry.portals[index] = static_cast<std::uint16_t>(number);
  ++entry.maps;
  ++tables_.portals[number].maps;
  return {};
}

Made<void> Nic::unmap_portal(std::uint32_t domain, unsigned index) {
  const auto found = tables_.domains.find(domain);
  if (found == tables_.domains.end() || index >= kPidGranule) return no(EINVAL);
  DomainEntry& entry = *found->second;
  if (entry.portals[index] == 0) return no(EINVAL);
  --tables_.portals[entry.portals[index]].maps;
  --entry.maps;
  entry.portals[index] = 0;
  return {};
}

Made<void> Nic::invalidate(unsigned portal, unsigned buffer_id, unsigned list) {
  if (portal == 0 || portal >= tables_.portals.size() || !tables_.portals[portal].allocated ||
      list >= kLists)
    return no(EINVAL);
  // The driver compares numbers of any size, and libfabric's provider names the key of a memory
  // region.
  if (buffer_id > UINT16_MAX) return tables_.strict ? Made<void>(no(EINVAL)) : Made<void>();
  // An entry that is still linked takes the next message: the strict NIC cuts off only others.
  EntryPool& entries = tables_.pool;
  const EntryList& linked = tables_.portals[portal].list(static_cast<ListKind>(list));
  for (std::uint32_t at = linked.head; tables_.strict && at != kNoEntry; at = entries[at].next) {
    if (entries[at].buffer_id == buffer_id) return no(EBUSY);
  }
  if (carrier_ != nullptr) carrier_->cut(*this, portal, buffer_id, static_cast<ListKind>(list));
  return {};
}

Made<void> Nic::to_software_managed(unsigned portal, unsigned drop_count) {
  if (portal == 0 || portal >= tables_.portals.size() || !tables_.portals[portal].allocated)
    return no(EINVAL);
  PortalTable& table = tables_.portals[portal];
  if (table.state == PortalState::kSoftwareManaged) return {};
  if (table.state != PortalState::kDisabled) return no(EINVAL);
  if (drop_count != kDropCountIgnored && drop_count != table.dropped) return no(EAGAIN);
  portals_.software_managed(portal, StateChangeReason::kEqFull, false);
  table.dropped = 0;
  return {};
}

}  // namespace plnet::cassini::soft
