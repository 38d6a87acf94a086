// SPDX-License-Identifier: BSD-3-Clause
// libcxi's own symbols over software NICs: what loads this in place of the vendor's library gets
// devices that are joined in this process, and a thread that runs them.
#include <cerrno>
#include <cstring>
#include <memory>
#include <new>

#include "drivers/net/cassini/soft/libcxi_world.hpp"

namespace {

using namespace plnet::cassini;
namespace soft = plnet::cassini::soft;
using soft::backend;
using Device = soft::CxiDevice;
using Lni = soft::CxiLni;
using Cp = soft::CxiCp;
using DomainObject = soft::CxiDomain;
using Md = soft::CxiMd;
using Eq = soft::CxiEq;
using Cq = soft::CxiCq;
using Pte = soft::CxiPte;

constexpr unsigned kIsTransmit = 1U << 1;
constexpr unsigned kVendor = 0x17db;
constexpr unsigned kDevice = 0x0501;
constexpr unsigned kCassini2 = 33;
constexpr unsigned kRetryHandlerEq = 1;

// Destroys by the handle and frees; a negative errno if it may not go yet.
template <class Object, class Base, class Drop>
int destroy(Base* base, Drop drop) {
  if (base == nullptr) return -EINVAL;
  auto* const object = static_cast<Object*>(base);
  if (const Allocated<void> gone = drop(object->handle); !gone) return -gone.error().value;
  delete object;
  return 0;
}

void fill(cxil_devinfo& out, const DeviceInfo& info) {
  out = {};
  out.dev_id = info.id;
  out.nid = info.nic_address;
  out.pid_bits = info.pid_bits;
  out.pid_count = soft::kPidAnyValue;
  out.pid_granule = info.pid_granule;
  out.min_free_shift = info.min_free_shift;
  out.rdzv_get_idx = soft::kPidGranule - 1;
  std::strncpy(out.device_name, info.name.c_str(), sizeof out.device_name - 1);
  std::strncpy(out.driver_name, "soft", sizeof out.driver_name - 1);
  out.vendor_id = kVendor;
  out.device_id = kDevice;
  out.num_ptes = static_cast<std::uint16_t>(info.portals);
  out.num_txqs = static_cast<std::uint16_t>(info.transmit_queues);
  out.num_tgqs = static_cast<std::uint16_t>(info.target_queues);
  out.num_eqs = static_cast<std::uint16_t>(info.event_queues);
  out.num_cts = static_cast<std::uint16_t>(info.counters);
  out.num_acs = static_cast<std::uint16_t>(info.address_contexts);
  out.num_les = static_cast<std::uint16_t>(info.list_entries > 0xffff ? 0xffff : info.list_entries);
  out.link_mtu = info.link_mtu;
  out.link_speed = info.link_mbps;
  out.link_state = info.link_up ? 1 : 0;
  out.pct_eq = info.retry_handler ? kRetryHandlerEq : 0;
  out.cassini_version = kCassini2;
  std::strncpy(out.fru_description, "software", sizeof out.fru_description - 1);
}

}  // namespace

PLNET_EXPORT int cxil_get_device_list(cxil_device_list** list) {
  if (list == nullptr || soft::world() == nullptr) return -EINVAL;
  const auto devices = backend().devices();
  const std::size_t bytes = kDeviceListHead + devices->size() * sizeof(cxil_devinfo);
  auto* const memory = static_cast<std::byte*>(::operator new(bytes, std::nothrow));
  if (memory == nullptr) return -ENOMEM;
  *list = new (memory) cxil_device_list{static_cast<unsigned>(devices->size())};
  for (std::size_t i = 0; i < devices->size(); ++i) {
    auto* const info = new (memory + kDeviceListHead + i * sizeof(cxil_devinfo)) cxil_devinfo{};
    fill(*info, (*devices)[i]);
  }
  return 0;
}

PLNET_EXPORT void cxil_free_device_list(cxil_device_list* list) {
  ::operator delete(list);
}

PLNET_EXPORT int cxil_open_device(std::uint32_t id, cxil_dev** device) {
  if (device == nullptr || soft::world() == nullptr) return -EINVAL;
  const auto opened = backend().open_device(id);
  if (!opened) return -opened.error().value;
  auto made = std::make_unique<Device>();
  made->handle = *opened;
  fill(made->info, backend().device_info(*opened).value());
  *device = made.release();
  return 0;
}

PLNET_EXPORT void cxil_close_device(cxil_dev* device) {
  if (device == nullptr) return;
  const std::unique_ptr<Device> gone(static_cast<Device*>(device));
  if (soft::world() != nullptr) backend().close_device(gone->handle);
}

PLNET_EXPORT int cxil_alloc_lni(cxil_dev* device, cxil_lni** lni, unsigned service) {
  if (device == nullptr || lni == nullptr) return -EINVAL;
  const auto handle = backend().alloc_lni(static_cast<Device*>(device)->handle, service);
  if (!handle) return -handle.error().value;
  auto made = std::make_unique<Lni>();
  made->handle = *handle;
  made->id = static_cast<unsigned>(handle->value & 0xffff);
  *lni = made.release();
  return 0;
}

PLNET_EXPORT int cxil_destroy_lni(cxil_lni* lni) {
  return destroy<Lni>(lni, [](LniHandle one) { return backend().destroy_lni(one); });
}

PLNET_EXPORT int cxil_alloc_cp(cxil_lni* lni, unsigned vni, unsigned tc, unsigned tc_type,
                               cxi_cp** cp) {
  if (lni == nullptr || cp == nullptr || tc > 3 || tc_type > 3) return -EINVAL;
  const auto profile =
      backend().alloc_profile(static_cast<Lni*>(lni)->handle, vni, static_cast<TrafficClass>(tc));
  if (!profile) return -profile.error().value;
  auto made = std::make_unique<Cp>();
  static_cast<cxi_cp&>(*made) = {vni, tc, tc_type, profile->lcid};
  made->handle = profile->handle;
  *cp = made.release();
  return 0;
}

PLNET_EXPORT int cxil_destroy_cp(cxi_cp* cp) {
  return destroy<Cp>(cp, [](ProfileHandle one) { return backend().destroy_profile(one); });
}

PLNET_EXPORT int cxil_alloc_domain(cxil_lni* lni, unsigned vni, unsigned pid,
                                   cxil_domain** domain) {
  if (lni == nullptr || domain == nullptr) return -EINVAL;
  const auto given = backend().alloc_domain(static_cast<Lni*>(lni)->handle, vni, pid);
  if (!given) return -given.error().value;
  auto made = std::make_unique<DomainObject>();
  static_cast<cxil_domain&>(*made) = {vni, given->pid};
  made->handle = given->handle;
  *domain = made.release();
  return 0;
}

PLNET_EXPORT int cxil_destroy_domain(cxil_domain* domain) {
  return destroy<DomainObject>(domain,
                               [](DomainHandle one) { return backend().destroy_domain(one); });
}

PLNET_EXPORT int cxil_map(cxil_lni* lni, void* va, std::size_t length, std::uint32_t flags,
                          void* /*hints*/, cxi_md** md) {
  if (lni == nullptr || md == nullptr) return -EINVAL;
  const auto mapping = backend().map(static_cast<Lni*>(lni)->handle, va, length, flags);
  if (!mapping) return -mapping.error().value;
  auto made = std::make_unique<Md>();
  made->iova = mapping->iova;
  made->va = mapping->va;
  made->len = mapping->length;
  made->lac = static_cast<std::uint8_t>(mapping->lac);
  made->page_shift = 12;
  made->id = static_cast<unsigned>(mapping->handle.value & 0xffffffff);
  made->handle = mapping->handle;
  *md = made.release();
  return 0;
}

PLNET_EXPORT int cxil_unmap(cxi_md* md) {
  return destroy<Md>(md, [](MappingHandle one) { return backend().unmap(one); });
}

PLNET_EXPORT int cxil_alloc_evtq(cxil_lni* lni, const cxi_md* md, const cxi_eq_attr* attributes,
                                 cxil_wait_obj* event_wait, cxil_wait_obj* status_wait,
                                 cxi_eq** eq) {
  if (lni == nullptr || md == nullptr || attributes == nullptr || eq == nullptr) return -EINVAL;
  soft::EventQueueSetup setup{.memory = static_cast<std::byte*>(attributes->queue),
                              .bytes = attributes->queue_len,
                              .flags = attributes->flags,
                              .on_event = event_wait,
                              .on_status = status_wait};
  if (attributes->status_thresh_count > soft::kThresholds) return -EINVAL;
  for (unsigned i = 0; i < attributes->status_thresh_count; ++i) {
    setup.threshold_percent[i] =
        attributes->status_thresh_base + i * attributes->status_thresh_delta;
    if (setup.threshold_percent[i] > 100) return -EINVAL;
  }
  const auto queue = backend().make_event_queue(static_cast<Lni*>(lni)->handle,
                                                static_cast<const Md*>(md)->handle, setup);
  if (!queue) return -queue.error().value;
  if (attributes->reserved_slots > 0) {
    const auto kept =
        backend().adjust_reserved(queue->handle, static_cast<int>(attributes->reserved_slots));
    if (!kept) {
      (void)backend().destroy_event_queue(queue->handle);
      return -kept.error().value;
    }
  }
  auto made = std::make_unique<Eq>();
  made->byte_size = static_cast<unsigned>(queue->bytes);
  made->sw_state = 1;  // nothing is read: the first slot comes next
  made->sw_state_addr = queue->software_state;
  made->rd_offset = soft::kSlotBytes;
  made->prev_rd_offset = soft::kSlotBytes;
  made->eqn = queue->number;
  made->events = reinterpret_cast<std::uint8_t*>(queue->queue);
  made->handle = queue->handle;
  made->waits[0] = event_wait;
  made->waits[1] = status_wait;
  for (cxil_wait_obj* const one : made->waits)
    if (one != nullptr) ++one->queues;
  *eq = made.release();
  return 0;
}

PLNET_EXPORT int cxil_destroy_evtq(cxi_eq* eq) {
  if (eq == nullptr) return -EINVAL;
  cxil_wait_obj* const waits[] = {static_cast<Eq*>(eq)->waits[0], static_cast<Eq*>(eq)->waits[1]};
  const int result =
      destroy<Eq>(eq, [](EventQueueHandle one) { return backend().destroy_event_queue(one); });
  for (cxil_wait_obj* const one : waits)
    if (one != nullptr && result == 0) --one->queues;
  return result;
}

PLNET_EXPORT int cxil_evtq_adjust_reserved_fc(cxi_eq* eq, int value) {
  if (eq == nullptr) return -EINVAL;
  const auto done = backend().adjust_reserved(static_cast<Eq*>(eq)->handle, value);
  return done ? 0 : -done.error().value;
}

PLNET_EXPORT int cxil_alloc_cmdq(cxil_lni* lni, cxi_eq* eq, const cxi_cq_alloc_opts* options,
                                 cxi_cq** cq) {
  if (lni == nullptr || options == nullptr || cq == nullptr) return -EINVAL;
  const auto queue = backend().alloc_command_queue(
      static_cast<Lni*>(lni)->handle,
      eq != nullptr ? static_cast<Eq*>(eq)->handle : EventQueueHandle{},
      {.slots = options->count,
       .transmit = (options->flags & kIsTransmit) != 0,
       .lcid = options->lcid,
       .update_policy = options->policy});
  if (!queue) return -queue.error().value;
  auto made = std::make_unique<Cq>();
  auto* const page = reinterpret_cast<std::uint8_t*>(queue->launch_page);
  made->size = queue->slots;
  made->wp_addr = reinterpret_cast<std::uint64_t*>(page);
  made->ll_64 = page + soft::kWindow64;
  made->ll_128a = page + soft::kWindow128Aligned;
  made->ll_128u = page + soft::kWindow128Skip;
  made->cmds32 = reinterpret_cast<std::uint8_t*>(queue->commands);
  made->rp32 = soft::kFirstUnit;
  made->idx = queue->hardware_index;
  made->size32 = queue->slots * 2;
  made->wp32 = soft::kFirstUnit;
  made->hw_wp32 = soft::kFirstUnit;
  made->handle = queue->handle;
  *cq = made.release();
  return 0;
}

PLNET_EXPORT int cxil_destroy_cmdq(cxi_cq* cq) {
  return destroy<Cq>(cq,
                     [](CommandQueueHandle one) { return backend().destroy_command_queue(one); });
}

PLNET_EXPORT int cxil_alloc_pte(cxil_lni* lni, cxi_eq* eq, cxi_pt_alloc_opts* options,
                                cxil_pte** pte) {
  if (lni == nullptr || pte == nullptr) return -EINVAL;
  const std::uint64_t bits = options != nullptr ? options->bits : 0;
  const auto bit = [&](unsigned number) { return (bits >> number & 1) != 0; };
  if (bit(11)) return -EPERM;  // Ethernet
  const auto portal =
      backend().alloc_portal(static_cast<Lni*>(lni)->handle,
                             eq != nullptr ? static_cast<Eq*>(eq)->handle : EventQueueHandle{},
                             {.matching = bit(7),
                              .event_match = bit(0),
                              .flow_control = bit(2),
                              .use_long_event = bit(3),
                              .clear_remote_offset = bit(1)});
  if (!portal) return -portal.error().value;
  auto made = std::make_unique<Pte>();
  made->ptn = portal->number;
  made->handle = portal->handle;
  *pte = made.release();
  return 0;
}

PLNET_EXPORT int cxil_destroy_pte(cxil_pte* pte) {
  return destroy<Pte>(pte, [](PortalHandle one) { return backend().destroy_portal(one); });
}

PLNET_EXPORT int cxil_map_pte(cxil_pte* pte, cxil_domain* domain, unsigned index, bool is_multicast,
                              cxil_pte_map** map) {
  if (pte == nullptr || domain == nullptr || map == nullptr) return -EINVAL;
  if (is_multicast) return -EOPNOTSUPP;
  const auto handle = backend().map_portal(static_cast<Pte*>(pte)->handle,
                                           static_cast<DomainObject*>(domain)->handle, index);
  if (!handle) return -handle.error().value;
  *map = new cxil_pte_map{*handle};
  return 0;
}

PLNET_EXPORT int cxil_unmap_pte(cxil_pte_map* map) {
  if (map == nullptr) return -EINVAL;
  if (const auto gone = backend().unmap_portal(map->handle); !gone) return -gone.error().value;
  delete map;
  return 0;
}

PLNET_EXPORT int cxil_invalidate_pte_le(cxil_pte* pte, unsigned buffer_id, unsigned list) {
  if (pte == nullptr) return -EINVAL;
  const auto done = backend().invalidate_entry(static_cast<Pte*>(pte)->handle, buffer_id, list);
  return done ? 0 : -done.error().value;
}

PLNET_EXPORT int cxil_pte_status(cxil_pte* pte, cxi_pte_status* status) {
  if (pte == nullptr || status == nullptr) return -EINVAL;
  const auto now = backend().portal_status(static_cast<Pte*>(pte)->handle);
  if (!now) return -now.error().value;
  const auto narrow = [](unsigned value) {
    return static_cast<std::uint16_t>(value > 0xffff ? 0xffff : value);
  };
  status->drop_count = now->drop_count;
  status->state = static_cast<std::uint8_t>(now->state);
  status->les_reserved = narrow(now->entries_reserved);
  status->les_allocated = narrow(now->entries_allocated);
  status->les_max = narrow(now->entries_max);
  status->ule_count = 0;
  return 0;
}

PLNET_EXPORT int cxil_pte_transition_sm(cxil_pte* pte, unsigned drop_count) {
  if (pte == nullptr) return -EINVAL;
  const auto done =
      backend().transition_software_managed(static_cast<Pte*>(pte)->handle, drop_count);
  return done ? 0 : -done.error().value;
}
