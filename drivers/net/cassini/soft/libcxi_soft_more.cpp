// SPDX-License-Identifier: BSD-3-Clause
// What the driver does not ask libcxi for, but the vendor's userland does: services, wait objects,
// event queues that grow, mappings that move.
#include <algorithm>
#include <cerrno>
#include <new>

#include <sys/eventfd.h>
#include <unistd.h>

#include "drivers/net/cassini/soft/libcxi_world.hpp"

namespace {

using namespace plnet::cassini;
namespace soft = plnet::cassini::soft;

constexpr std::uint8_t kRestrictedVnis = 1U << 1, kRestrictedTcs = 1U << 2,
                       kResourceLimits = 1U << 3, kEnabled = 1U << 4;

std::uint16_t narrow(unsigned value) {
  return static_cast<std::uint16_t>(std::min(value, 0xffffU));
}

void fill(cxi_svc_desc& out, const soft::Service& service, const soft::Resources& resources,
          unsigned row) {
  out = {};
  out.svc_id = service.id;
  if (service.enabled) out.flags |= kEnabled;
  if (!service.vnis.empty()) out.flags |= kRestrictedVnis;
  out.num_vld_vnis = static_cast<std::uint8_t>(service.vnis.size());
  std::ranges::copy(service.vnis, out.vnis);
  if (service.traffic_classes != 0xf) out.flags |= kRestrictedTcs;
  for (unsigned tc = 0; tc < 4; ++tc)
    out.tcs[tc] = (service.traffic_classes >> tc & 1U) != 0;
  for (unsigned i = 0; i < soft::kResources; ++i) {
    const auto what = static_cast<soft::Resource>(i);
    const soft::Share share = resources.share(row, what);
    if (share.most != ~0U || share.kept != 0) out.flags |= kResourceLimits;
    out.limits[i] = {narrow(std::min(share.most, resources.total(what))), narrow(share.kept)};
  }
}

const soft::Nic* nic_of(cxil_dev* device) {
  return soft::backend().nic_of(static_cast<soft::CxiDevice*>(device)->handle);
}

}  // namespace

PLNET_EXPORT int cxil_get_svc_list(cxil_dev* device, cxil_svc_list** list) {
  if (device == nullptr || list == nullptr) return -EINVAL;
  const soft::Nic& nic = *nic_of(device);
  const auto services = nic.services();
  const std::size_t bytes = kServiceListHead + services.size() * sizeof(cxi_svc_desc);
  auto* const memory = static_cast<std::byte*>(::operator new(bytes, std::nothrow));
  if (memory == nullptr) return -ENOMEM;
  *list = new (memory) cxil_svc_list{static_cast<unsigned>(services.size())};
  for (unsigned row = 0; row < services.size(); ++row) {
    auto* const one = new (memory + kServiceListHead + row * sizeof(cxi_svc_desc)) cxi_svc_desc{};
    fill(*one, services[row], nic.resources(), row);
  }
  return 0;
}

PLNET_EXPORT void cxil_free_svc_list(cxil_svc_list* list) {
  ::operator delete(list);
}

PLNET_EXPORT int cxil_get_svc(cxil_dev* device, unsigned service, cxi_svc_desc* description) {
  if (device == nullptr || description == nullptr) return -EINVAL;
  const soft::Nic& nic = *nic_of(device);
  const auto services = nic.services();
  const auto found = std::ranges::find(services, service, &soft::Service::id);
  if (found == services.end()) return -EINVAL;
  fill(*description, *found, nic.resources(), static_cast<unsigned>(found - services.begin()));
  return 0;
}

PLNET_EXPORT int cxil_get_svc_rsrc_use(cxil_dev* device, unsigned service, cxi_rsrc_use* use) {
  if (device == nullptr || use == nullptr) return -EINVAL;
  const soft::Nic& nic = *nic_of(device);
  const auto services = nic.services();
  const auto found = std::ranges::find(services, service, &soft::Service::id);
  if (found == services.end()) return -EINVAL;
  *use = {.svc_id = service, .tle_pool_id = 0, .in_use = {}};
  for (unsigned i = 0; i < soft::kResources; ++i)
    use->in_use[i] = narrow(nic.resources().used(static_cast<unsigned>(found - services.begin()),
                                                 static_cast<soft::Resource>(i)));
  return 0;
}

PLNET_EXPORT int cxil_alloc_wait_obj(cxil_lni* lni, cxil_wait_obj** wait) {
  if (lni == nullptr || wait == nullptr) return -EINVAL;
  auto made = std::make_unique<cxil_wait_obj>();
  made->fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
  if (made->fd < 0) return -errno;
  *wait = made.release();
  return 0;
}

PLNET_EXPORT int cxil_destroy_wait_obj(cxil_wait_obj* wait) {
  if (wait == nullptr) return -EINVAL;
  if (wait->queues > 0) return -EBUSY;
  (void)close(wait->fd);
  delete wait;
  return 0;
}

PLNET_EXPORT int cxil_get_wait_obj_fd(cxil_wait_obj* wait) {
  return wait == nullptr ? -EINVAL : wait->fd;
}

PLNET_EXPORT void cxil_clear_wait_obj(cxil_wait_obj* wait) {
  if (wait != nullptr) wait->clear();
}

PLNET_EXPORT int cxil_evtq_resize(cxi_eq* eq, void* queue, std::size_t bytes, cxi_md* md) {
  if (eq == nullptr || queue == nullptr || md == nullptr) return -EINVAL;
  auto* const object = static_cast<soft::CxiEq*>(eq);
  const auto done = soft::backend().resize_event_queue(
      object->handle, static_cast<soft::CxiMd*>(md)->handle, static_cast<std::byte*>(queue), bytes);
  if (!done) return -done.error().value;
  object->next = static_cast<std::uint8_t*>(queue);
  object->next_bytes = static_cast<unsigned>(bytes);
  return 0;
}

// After the EQ_SWITCH was read: the reader goes on at the beginning of the other buffer.
PLNET_EXPORT int cxil_evtq_resize_complete(cxi_eq* eq) {
  if (eq == nullptr) return -EINVAL;
  auto* const object = static_cast<soft::CxiEq*>(eq);
  const auto done = soft::backend().complete_resize(object->handle);
  if (!done) return -done.error().value;
  constexpr std::uint64_t kReadingB = std::uint64_t{1} << 31;
  eq->events = object->next;
  eq->byte_size = object->next_bytes;
  eq->sw_state = 1 | ((eq->sw_state & kReadingB) ^ kReadingB);
  eq->rd_offset = soft::kSlotBytes;
  eq->prev_rd_offset = soft::kSlotBytes;
  return 0;
}

PLNET_EXPORT int cxil_update_md(cxi_md* md, void* va, std::size_t length, std::uint32_t /*flags*/) {
  if (md == nullptr) return -EINVAL;
  const auto done = soft::backend().remap(static_cast<soft::CxiMd*>(md)->handle, va, length);
  if (!done) return -done.error().value;
  md->va = reinterpret_cast<std::uintptr_t>(va);
  md->len = length;
  return 0;
}
