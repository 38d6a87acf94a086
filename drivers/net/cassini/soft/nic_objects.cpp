// SPDX-License-Identifier: BSD-3-Clause
// Allocations and refusals of a NIC (shs-cxi-driver: the error numbers).
#include <algorithm>
#include <cerrno>

#include "drivers/net/cassini/soft/nic.hpp"

namespace plnet::cassini::soft {
namespace {

// The first free row from `first` on.
template <class Rows, class Free>
unsigned first_free(const Rows& rows, unsigned first, unsigned end, Free free) {
  while (first < end && !free(rows[first]))
    ++first;
  return first;
}

}  // namespace

Made<unsigned> Nic::make_group(unsigned service) {
  const auto known = std::ranges::find(services_, service, &Service::id);
  if (known == services_.end()) return no(EINVAL);
  if (!known->enabled) return no(EKEYREVOKED);
  const auto end = static_cast<unsigned>(tables_.groups.size());
  const unsigned number =
      first_free(tables_.groups, 0, end, [](const auto& one) { return one == nullptr; });
  if (number == end) return no(ENOSPC);
  tables_.groups[number] =
      std::make_unique<Group>(static_cast<unsigned>(known - services_.begin()),
                              tables_.random.fork("group " + std::to_string(++generation_)));
  return number;
}

Made<void> Nic::drop_group(unsigned group) {
  if (group_of(group) == nullptr) return no(EINVAL);
  if (group_of(group)->objects > 0) return no(EBUSY);
  tables_.groups[group].reset();
  return {};
}

Made<unsigned> Nic::make_profile(unsigned group, unsigned vni, unsigned traffic_class) {
  Group* const owner = group_of(group);
  if (owner == nullptr || vni == 0 || vni > 0xffff || traffic_class >= kTrafficClasses)
    return no(EINVAL);
  const Service* const service = &services_[owner->service_row];
  if (!service->vnis.empty() &&
      std::ranges::find(service->vnis, static_cast<std::uint16_t>(vni)) == service->vnis.end())
    return no(EINVAL);
  if ((service->traffic_classes >> traffic_class & 1) == 0) return no(EINVAL);
  const auto end =
      std::min<unsigned>(tables_.limits.profiles, static_cast<unsigned>(owner->profiles.size()));
  const unsigned lcid =
      first_free(owner->profiles, 0, end, [](const auto& one) { return !one.allocated; });
  if (lcid == end) return no(ENOSPC);
  owner->profiles[lcid] = {true, static_cast<std::uint16_t>(vni),
                           static_cast<std::uint8_t>(traffic_class), 0};
  ++owner->objects;
  return lcid;
}

Made<void> Nic::drop_profile(unsigned group, unsigned lcid) {
  Group* const owner = group_of(group);
  if (owner == nullptr || lcid >= owner->profiles.size() || !owner->profiles[lcid].allocated)
    return no(EINVAL);
  if (owner->profiles[lcid].queues > 0) return no(EBUSY);
  owner->profiles[lcid] = {};
  --owner->objects;
  return {};
}

Made<Nic::DomainId> Nic::make_domain(unsigned group, unsigned vni, unsigned pid) {
  Group* const owner = group_of(group);
  if (owner == nullptr || vni == 0 || vni > 0xffff || pid > kPidAnyValue) return no(EINVAL);
  const Service* const service = &services_[owner->service_row];
  if (!service->vnis.empty() &&
      std::ranges::find(service->vnis, static_cast<std::uint16_t>(vni)) == service->vnis.end())
    return no(EINVAL);
  if (pid == kPidAnyValue) {
    for (pid = 0; pid < kPidAnyValue; ++pid)
      if (!tables_.domains.contains(Tables::domain_key(vni, pid))) break;
    if (pid == kPidAnyValue) return no(ENOSPC);
  }
  const std::uint32_t key = Tables::domain_key(vni, pid);
  if (tables_.domains.contains(key)) return no(EEXIST);
  auto entry = std::make_unique<DomainEntry>();
  entry->group = static_cast<std::uint16_t>(group);
  entry->vni = static_cast<std::uint16_t>(vni);
  entry->pid = static_cast<std::uint16_t>(pid);
  tables_.domains.emplace(key, std::move(entry));
  ++owner->objects;
  portals_.domains_changed();
  return DomainId{key, pid};
}

Made<void> Nic::drop_domain(std::uint32_t key) {
  const auto found = tables_.domains.find(key);
  if (found == tables_.domains.end()) return no(EINVAL);
  if (found->second->maps > 0) return no(EBUSY);
  --group_of(found->second->group)->objects;
  tables_.domains.erase(found);
  portals_.domains_changed();
  return {};
}

Made<unsigned> Nic::map(unsigned group, void* va, std::size_t length, bool read, bool write) {
  Group* const owner = group_of(group);
  if (owner == nullptr || va == nullptr || length == 0 || (!read && !write)) return no(EINVAL);
  if (length >= kIovaLimit / 4) return no(ENOMEM);
  const unsigned number = first_free(mappings_, 0, static_cast<unsigned>(mappings_.size()),
                                     [](const auto& one) { return !one.used; });
  if (number == mappings_.size()) {
    if (mappings_.size() >= tables_.limits.mappings) return no(ENOMEM);
    mappings_.emplace_back();
  }
  auto* const memory = static_cast<std::byte*>(va);
  const unsigned contexts = owner->space.contexts();
  const AddressSpace::Place place = owner->space.add(memory, length, read, write);
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

Made<void> Nic::remap(unsigned number, void* va, std::size_t length) {
  if (number >= mappings_.size() || !mappings_[number].used || va == nullptr || length == 0)
    return no(EINVAL);
  MappingEntry& mapping = mappings_[number];
  const auto page_offset = [](const void* at) {
    return reinterpret_cast<std::uintptr_t>(at) % kPageBytes;
  };
  if (length > mapping.length || page_offset(va) != page_offset(mapping.va)) return no(EINVAL);
  if (mapping.event_queues > 0) return no(EBUSY);
  mapping.va = static_cast<std::byte*>(va);
  mapping.length = length;
  group_of(mapping.group)->space.replace(mapping.lac, mapping.iova, mapping.va, length);
  return {};
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
      list >= kLists || buffer_id == kEveryBuffer)
    return no(EINVAL);
  // Only an unlinked entry may be invalidated: a linked one would accept the next message.
  EntryPool& entries = tables_.pool;
  const EntryList& linked = tables_.portals[portal].list(static_cast<ListKind>(list));
  for (std::uint32_t at = linked.head; at != kNoEntry; at = entries[at].next) {
    if (entries[at].buffer_id == buffer_id) return no(EBUSY);
  }
  if (carrier_ != nullptr) carrier_->cut(*this, portal, buffer_id, static_cast<ListKind>(list));
  return {};
}

Made<void> Nic::to_software_managed(unsigned portal, unsigned drop_count) {
  if (portal == 0 || portal >= tables_.portals.size() || !tables_.portals[portal].allocated)
    return no(EINVAL);
  PortalTable& table = tables_.portals[portal];
  if (table.state != PortalState::kDisabled) return no(EINVAL);
  if (drop_count != kDropCountIgnored && drop_count != table.dropped) return no(EAGAIN);
  portals_.software_managed(portal, StateChangeReason::kEqFull, false);
  table.dropped = 0;
  return {};
}

}  // namespace plnet::cassini::soft
