// SPDX-License-Identifier: BSD-3-Clause
// libcxi's functions for the services of a NIC.
#include <algorithm>
#include <cerrno>
#include <optional>

#include "drivers/net/cassini/soft/libcxi_functions.hpp"
#include "drivers/net/cassini/soft/libcxi_objects.hpp"

namespace plnet::cassini::libcxi {
namespace {

using soft::behind;
using soft::Gate;
using soft::narrow;
static_assert(kResourceKinds == soft::kResources);

Service description_of(const soft::Nic& nic, unsigned row) {
  const soft::Service& service = nic.services()[row];
  Service out{};
  out.id = service.id;
  if (service.enabled) out.flags |= kServiceEnabled;
  if (!service.vnis.empty()) out.flags |= kRestrictedVnis;
  out.vni_count = static_cast<std::uint8_t>(service.vnis.size());
  std::ranges::copy(service.vnis, out.vnis);
  if (service.traffic_classes != soft::kAllTrafficClasses) out.flags |= kRestrictedTrafficClasses;
  for (unsigned i = 0; i < soft::kTrafficClasses; ++i)
    out.traffic_classes[i] = (service.traffic_classes >> i & 1U) != 0;
  for (unsigned i = 0; i < soft::kResources; ++i) {
    const auto what = static_cast<soft::Resource>(i);
    const soft::Share share = nic.resources().share(row, what);
    if (share.most != soft::Share{}.most || share.kept != 0) out.flags |= kResourceLimits;
    out.limits[i] = {narrow(std::min(share.most, nic.resources().total(what))), narrow(share.kept)};
  }
  return out;
}

std::optional<unsigned> row_of(const soft::Nic& nic, unsigned id) {
  const auto services = nic.services();
  const auto found = std::ranges::find(services, id, &soft::Service::id);
  if (found == services.end()) return std::nullopt;
  return static_cast<unsigned>(found - services.begin());
}

}  // namespace

int cxil_get_svc_list(Device* device, ServiceList** list) {
  if (device == nullptr || list == nullptr) return -EINVAL;
  auto& object = behind<soft::DeviceObject>(device);
  const Gate::Held held(object.gate());
  const soft::Nic& nic = object.nic;
  auto* const made = soft::make_list<ServiceList, Service>(
      static_cast<unsigned>(nic.services().size()), kServiceListHead,
      [&nic](unsigned row) { return description_of(nic, row); });
  if (made == nullptr) return -ENOMEM;
  *list = made;
  return 0;
}

void cxil_free_svc_list(ServiceList* list) {
  ::operator delete(list);
}

int cxil_get_svc(Device* device, unsigned service, Service* description) {
  if (device == nullptr || description == nullptr) return -EINVAL;
  auto& object = behind<soft::DeviceObject>(device);
  const Gate::Held held(object.gate());
  const auto row = row_of(object.nic, service);
  if (!row) return -EINVAL;
  *description = description_of(object.nic, *row);
  return 0;
}

int cxil_get_svc_rsrc_use(Device* device, unsigned service, ResourceUse* use) {
  if (device == nullptr || use == nullptr) return -EINVAL;
  auto& object = behind<soft::DeviceObject>(device);
  const Gate::Held held(object.gate());
  const auto row = row_of(object.nic, service);
  if (!row) return -EINVAL;
  *use = {.service = service, .triggered_pool = 0, .in_use = {}};
  for (unsigned i = 0; i < soft::kResources; ++i)
    use->in_use[i] = narrow(object.nic.resources().used(*row, static_cast<soft::Resource>(i)));
  return 0;
}

}  // namespace plnet::cassini::libcxi
