// SPDX-License-Identifier: BSD-3-Clause
// libcxi's functions for the services of a NIC.
#include <algorithm>
#include <cerrno>
#include <optional>

#include "drivers/net/cassini/soft/libcxi_caller.hpp"
#include "drivers/net/cassini/soft/libcxi_functions.hpp"
#include "drivers/net/cassini/soft/libcxi_objects.hpp"

namespace plnet::cassini::libcxi {
namespace {

using soft::behind;
using soft::Gate;
using soft::is_administrator;
using soft::narrow;
constexpr unsigned kNewService = ~0U;  // its number is chosen by the call
static_assert(kResourceKinds == soft::kResources && kServiceMembers == soft::kServiceMembers);

unsigned kind_of(soft::Member::Kind kind) {
  switch (kind) {
    case soft::Member::Kind::kUser: return kUserMember;
    case soft::Member::Kind::kGroup: return kGroupMember;
    case soft::Member::Kind::kNone: break;
  }
  return kNoMember;
}

soft::Member member_of(const ServiceMember& member) {
  if (member.kind == kUserMember) return {soft::Member::Kind::kUser, member.id};
  if (member.kind == kGroupMember) return {soft::Member::Kind::kGroup, member.id};
  return {};
}

std::uint8_t flags_of(const soft::Service& service) {
  unsigned flags = service.counter_pool << kCounterPoolShift;
  if (service.enabled) flags |= kServiceEnabled;
  if (!service.vnis.empty()) flags |= kRestrictedVnis;
  if (service.restricts_members) flags |= kRestrictedMembers;
  if (service.restricts_resources) flags |= kResourceLimits;
  if (service.is_system) flags |= kSystemService;
  if (service.restricts_classes || service.traffic_classes != soft::kAllTrafficClasses)
    flags |= kRestrictedTrafficClasses;
  return static_cast<std::uint8_t>(flags);
}

Service description_of(const soft::Nic& nic, unsigned row) {
  const soft::Service& service = nic.services().at(row);
  Service out{};
  out.id = service.id;
  out.flags = flags_of(service);
  out.vni_count = static_cast<std::uint8_t>(service.vnis.size());
  std::ranges::copy(service.vnis, out.vnis);
  for (unsigned i = 0; i < soft::kTrafficClasses; ++i)
    out.traffic_classes[i] = (service.traffic_classes >> i & 1U) != 0;
  for (unsigned i = 0; i < kServiceMembers; ++i)
    out.members[i] = {service.members[i].id, kind_of(service.members[i].kind)};
  for (unsigned i = 0; i < soft::kResources; ++i) {
    const auto what = static_cast<soft::Resource>(i);
    const soft::Share share = nic.resources().share(row, what);
    if (share.most != soft::Share{}.most || share.kept != 0) out.flags |= kResourceLimits;
    out.limits[i] = {narrow(std::min(share.most, nic.resources().total(what))), narrow(share.kept)};
  }
  return out;
}

// Nothing: it is not one.
std::optional<soft::Service> service_of(const Service& from) {
  soft::Service service{.id = from.id, .vnis = {}};
  service.enabled = (from.flags & kServiceEnabled) != 0;
  service.any_vni = false;
  service.is_system = (from.flags & kSystemService) != 0;
  service.counter_pool = from.flags >> kCounterPoolShift;
  service.restricts_members = (from.flags & kRestrictedMembers) != 0;
  service.restricts_classes = (from.flags & kRestrictedTrafficClasses) != 0;
  service.restricts_resources = (from.flags & kResourceLimits) != 0;
  if ((from.flags & kRestrictedVnis) != 0) {
    if (from.vni_count > kServiceVnis) return std::nullopt;
    service.vnis.assign(from.vnis, from.vnis + from.vni_count);
  }
  if (service.restricts_classes) {
    service.traffic_classes = 0;
    for (unsigned i = 0; i < soft::kTrafficClasses; ++i)
      if (from.traffic_classes[i]) service.traffic_classes |= 1U << i;
  }
  for (unsigned i = 0; i < kServiceMembers; ++i) {
    if (service.restricts_members && from.members[i].kind >= kMemberKinds) return std::nullopt;
    service.members[i] = member_of(from.members[i]);
  }
  if (service.restricts_resources) {
    for (unsigned i = 0; i < kResourceKinds; ++i)
      service.shares[i] = {.most = from.limits[i].most, .kept = from.limits[i].kept};
  }
  return service;
}

void tell(const soft::Shortage& shortage, ServiceFailure* failure) {
  if (failure == nullptr) return;
  for (unsigned i = 0; i < kResourceKinds; ++i)
    failure->available[i] = narrow(shortage.available[i]);
  failure->no_entry_pools = shortage.entry_pools;
  failure->no_triggered_pools = shortage.triggered_pools;
  failure->no_counter_pools = false;
}

// A change by an administrator: `change` on the services of the NIC, with the gate held. No service
// has the number 0, which is told to everybody.
template <class Change>
int administer(Device* device, unsigned service, Change change) {
  if (device == nullptr || service == 0) return -EINVAL;
  if (!is_administrator()) return -EPERM;
  auto& object = behind<soft::DeviceObject>(device);
  const Gate::Held held(object.gate());
  return change(object.nic.services());
}

// Nothing: there is no such service.
template <class Look>
int look(Device* device, unsigned id, Look look_at) {
  if (device == nullptr) return -EINVAL;
  auto& object = behind<soft::DeviceObject>(device);
  const Gate::Held held(object.gate());
  const auto row = object.nic.services().row_of(id);
  return row ? look_at(object.nic, *row) : -EINVAL;
}

ResourceUse use_of(const soft::Nic& nic, unsigned row) {
  ResourceUse use{.service = nic.services().at(row).id, .triggered_pool = 0, .in_use = {}};
  for (unsigned i = 0; i < soft::kResources; ++i)
    use.in_use[i] = narrow(nic.resources().used(row, static_cast<soft::Resource>(i)));
  return use;
}

template <class List, class Entry, class Make>
int list_services(Device* device, List** list, std::size_t head, Make make) {
  if (device == nullptr || list == nullptr) return -EINVAL;
  auto& object = behind<soft::DeviceObject>(device);
  const Gate::Held held(object.gate());
  const auto rows = object.nic.services().rows();
  auto* const made =
      soft::make_list<List, Entry>(static_cast<unsigned>(rows.size()), head,
                                   [&](unsigned number) { return make(object.nic, rows[number]); });
  if (made == nullptr) return -ENOMEM;
  *list = made;
  return 0;
}

}  // namespace

int cxil_get_svc_list(Device* device, ServiceList** list) {
  return list_services<ServiceList, Service>(device, list, kServiceListHead, description_of);
}

void cxil_free_svc_list(ServiceList* list) {
  ::operator delete(list);
}

int cxil_get_svc(Device* device, unsigned service, Service* description) {
  if (description == nullptr) return -EINVAL;
  return look(device, service, [description](const soft::Nic& nic, unsigned row) {
    *description = description_of(nic, row);
    return 0;
  });
}

int cxil_get_svc_rsrc_use(Device* device, unsigned service, ResourceUse* use) {
  if (use == nullptr) return -EINVAL;
  return look(device, service, [use](const soft::Nic& nic, unsigned row) {
    *use = use_of(nic, row);
    return 0;
  });
}

int cxil_get_svc_rsrc_list(Device* device, ResourceUseList** list) {
  return list_services<ResourceUseList, ResourceUse>(device, list, kResourceUseListHead, use_of);
}

void cxil_free_svc_rsrc_list(ResourceUseList* list) {
  ::operator delete(list);
}

// Enabled from the beginning, unless it waits for a range of VNIs (cxi_svc_alloc()).
int cxil_alloc_svc(Device* device, const Service* description, ServiceFailure* failure) {
  if (description == nullptr) return -EINVAL;
  auto service = service_of(*description);
  if (!service) return -EINVAL;
  service->enabled = (description->flags & kRestrictedVnis) != 0;
  return administer(device, kNewService, [&](soft::Services& services) {
    soft::Shortage shortage;
    const auto id = services.add(*service, shortage);
    if (id) return static_cast<int>(*id);
    tell(shortage, failure);
    return -id.error();
  });
}

int cxil_destroy_svc(Device* device, unsigned service) {
  return administer(device, service, [service](soft::Services& services) {
    return soft::result_of(services.remove(service));
  });
}

int cxil_update_svc(Device* device, const Service* description, ServiceFailure* /*failure*/) {
  if (description == nullptr) return -EINVAL;
  const auto service = service_of(*description);
  if (!service) return -EINVAL;
  return administer(device, service->id, [&service](soft::Services& services) {
    return soft::result_of(services.update(*service));
  });
}

int cxil_svc_enable(Device* device, unsigned service, bool enabled) {
  return administer(device, service, [service, enabled](soft::Services& services) {
    return soft::result_of(services.enable(service, enabled));
  });
}

int cxil_set_svc_lpr(Device* device, unsigned service, unsigned groups) {
  return administer(device, service, [service, groups](soft::Services& services) {
    return soft::result_of(services.set_groups_per_id(service, groups));
  });
}

int cxil_get_svc_lpr(Device* device, unsigned service) {
  return look(device, service, [](const soft::Nic& nic, unsigned row) {
    return static_cast<int>(nic.services().at(row).groups_per_id);
  });
}

int cxil_svc_set_exclusive_cp(Device* device, unsigned service, bool exclusive) {
  return administer(device, service, [service, exclusive](soft::Services& services) {
    return soft::result_of(services.set_exclusive(service, exclusive));
  });
}

int cxil_svc_get_exclusive_cp(Device* device, unsigned service, bool* exclusive) {
  if (exclusive == nullptr) return -EINVAL;
  return look(device, service, [exclusive](const soft::Nic& nic, unsigned row) {
    const soft::Service& its = nic.services().at(row);
    if (its.vnis.empty() && !its.range && !its.any_vni) return -ENOENT;  // it has no profile yet
    *exclusive = its.exclusive_profiles;
    return 0;
  });
}

int cxil_svc_set_vni_range(Device* device, unsigned service, std::uint16_t first,
                           std::uint16_t last) {
  return administer(device, service, [service, first, last](soft::Services& services) {
    return soft::result_of(services.set_range(service, {.first = first, .last = last}));
  });
}

int cxil_svc_get_vni_range(Device* device, unsigned service, std::uint16_t* first,
                           std::uint16_t* last) {
  if (first == nullptr || last == nullptr) return -EINVAL;
  return look(device, service, [first, last](const soft::Nic& nic, unsigned row) {
    const auto range = nic.services().at(row).range;
    if (!range) return -EINVAL;
    *first = range->first;
    *last = range->last;
    return 0;
  });
}

int cxil_svc_set_netns(Device* device, unsigned service, unsigned network) {
  return administer(device, service, [service, network](soft::Services& services) {
    return soft::result_of(services.set_network(service, network));
  });
}

int cxil_svc_get_netns(Device* device, unsigned service, unsigned* network) {
  if (network == nullptr) return -EINVAL;
  return look(device, service, [network](const soft::Nic& nic, unsigned row) {
    const auto only = nic.services().at(row).network;
    if (!only) return -EINVAL;
    *network = *only;
    return 0;
  });
}

}  // namespace plnet::cassini::libcxi
