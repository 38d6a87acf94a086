// SPDX-License-Identifier: BSD-3-Clause
// libcxi's functions for a process on a device: its resource groups (LNIs), communication profiles
// and domains.
#include <cerrno>
#include <new>

#include "drivers/net/cassini/soft/libcxi_caller.hpp"
#include "drivers/net/cassini/soft/libcxi_functions.hpp"
#include "drivers/net/cassini/soft/libcxi_objects.hpp"

namespace plnet::cassini::libcxi {
namespace {

using soft::behind;
using soft::caller;
using soft::Gate;

constexpr unsigned kTrafficClassTypes = 4;
constexpr unsigned kClassesMax = 8;  // 0 to 3, and those of Ethernet
constexpr unsigned kPriorities = 8;  // of Ethernet
constexpr unsigned kProfileKinds = 3;

}  // namespace

void cxil_free_device_list(DeviceList* list) {
  ::operator delete(list);
}

void cxil_close_device(Device* device) {
  if (device != nullptr) (void)behind<soft::DeviceObject>(device).destroy();
}

int cxil_alloc_lni(Device* device, Lni** lni, unsigned service) {
  if (device == nullptr || lni == nullptr || service == 0) return -EINVAL;
  auto& owner = behind<soft::DeviceObject>(device);
  const Gate::Held held(owner.gate());
  const auto group = owner.nic.make_group(service, caller());
  if (!group) return -group.error();
  auto& made = owner.add<soft::LniObject>(*group);
  made.id = *group;
  made.device = device;
  *lni = &made;
  return 0;
}

int cxil_destroy_lni(Lni* lni) {
  return soft::destroy<soft::LniObject>(lni);
}

int cxil_alloc_trig_cp(Lni* lni, unsigned vni, unsigned traffic_class, unsigned type, unsigned kind,
                       Profile** profile) {
  if (lni == nullptr || profile == nullptr || traffic_class >= kClassesMax ||
      type >= kTrafficClassTypes || kind >= kProfileKinds)
    return -EINVAL;
  // The software NIC has no Ethernet.
  if (traffic_class >= soft::kTrafficClasses) return vni >= kPriorities ? -EINVAL : -EPERM;
  auto& owner = behind<soft::LniObject>(lni);
  const Gate::Held held(owner.gate());
  const auto lcid = owner.nic.make_profile(
      owner.key, vni, traffic_class,
      {.type = type, .kind = static_cast<soft::ProfileKind>(kind), .caller = caller()});
  if (!lcid) return -lcid.error();
  auto& made = owner.add<soft::ProfileObject>(*lcid);
  static_cast<Profile&>(made) = {vni, traffic_class, type, *lcid};
  made.group = owner.key;
  *profile = &made;
  return 0;
}

int cxil_alloc_cp(Lni* lni, unsigned vni, unsigned traffic_class, unsigned type,
                  Profile** profile) {
  return cxil_alloc_trig_cp(lni, vni, traffic_class, type,
                            static_cast<unsigned>(soft::ProfileKind::kAny), profile);
}

int cxil_destroy_cp(Profile* profile) {
  return soft::destroy<soft::ProfileObject>(profile);
}

int cxil_modify_cp(Lni* lni, Profile* profile, unsigned vni) {
  if (lni == nullptr || profile == nullptr) return -EINVAL;
  auto& object = behind<soft::ProfileObject>(profile);
  const Gate::Held held(object.gate());
  const auto done = object.nic.change_profile(object.group, object.key, vni, caller());
  if (done) profile->vni_pcp = vni;
  return soft::result_of(done);
}

int cxil_reserve_domain(Lni* lni, unsigned vni, unsigned pid, unsigned count) {
  if (lni == nullptr) return -EINVAL;
  auto& owner = behind<soft::LniObject>(lni);
  const Gate::Held held(owner.gate());
  const auto first = owner.nic.reserve_pids(owner.key, vni, pid, count, caller());
  return first ? static_cast<int>(*first) : -first.error();
}

int cxil_alloc_domain(Lni* lni, unsigned vni, unsigned pid, Domain** domain) {
  if (lni == nullptr || domain == nullptr) return -EINVAL;
  auto& owner = behind<soft::LniObject>(lni);
  const Gate::Held held(owner.gate());
  const auto given = owner.nic.make_domain(owner.key, vni, pid, caller());
  if (!given) return -given.error();
  auto& made = owner.add<soft::DomainObject>(given->key);
  static_cast<Domain&>(made) = {vni, given->pid};
  *domain = &made;
  return 0;
}

int cxil_destroy_domain(Domain* domain) {
  return soft::destroy<soft::DomainObject>(domain);
}

}  // namespace plnet::cassini::libcxi
