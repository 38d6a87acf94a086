// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/net/cassini/backend_libcxi.hpp"

#include <algorithm>
#include <cstring>

#include <dlfcn.h>

namespace plnet::cassini {

namespace {

template <class Object, class Handle>
Object* object(Handle handle) {
  return reinterpret_cast<Object*>(handle.value);  // NOLINT(performance-no-int-to-ptr)
}
template <class Handle, class Object>
Handle handle_of(Object* made) {
  return Handle{.value = reinterpret_cast<std::uintptr_t>(made)};
}

std::unexpected<Errno> failed(int result) {
  return std::unexpected(Errno{result < 0 ? -result : result});
}
Allocated<void> done(int result) {
  if (result != 0) return failed(result);
  return {};
}

template <std::size_t Size>
std::string text(const char (&field)[Size]) {
  return {field, strnlen(field, Size)};
}

static_assert(kMapPin == libcxi::kMapPin && kMapWrite == libcxi::kMapWrite &&
              kMapRead == libcxi::kMapRead);

// Bits of links_.
constexpr std::uint64_t kThere = 1ULL << 63U;
constexpr std::uint64_t kUp = 1ULL << 62U;

DeviceInfo info_of(const libcxi::DeviceInfo& from) {
  DeviceInfo info;
  info.id = from.id;
  info.name = text(from.device_name);
  info.description = text(from.description);
  info.nic_address = from.nic_address;
  info.pid_bits = from.pid_bits;
  info.pid_granule = from.pid_granule;
  info.min_free_shift = from.min_free_shift;
  info.version = from.version >> libcxi::kGenerationShift;
  info.retry_handler = from.pct_eq != 0;
  info.link_up = from.link_state != 0;
  info.virtual_function = from.is_vf;
  info.link_mtu = from.link_mtu;
  info.link_mbps = from.link_speed;
  info.portals = from.portals;
  info.transmit_queues = from.transmit_queues;
  info.target_queues = from.target_queues;
  info.event_queues = from.event_queues;
  info.counters = from.counters;
  info.address_contexts = from.address_contexts;
  info.list_entries = from.list_entries;
  return info;
}

}  // namespace

Outcome<std::unique_ptr<LibcxiBackend>> LibcxiBackend::load(const std::string& library) {
  std::unique_ptr<LibcxiBackend> backend(new LibcxiBackend());
  backend->library_ = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (backend->library_ == nullptr) {
    const char* const why = dlerror();  // NOLINT(concurrency-mt-unsafe): start-up
    return failure(Errc::kNotFound, "cannot load " + library +
                                        " (of the Slingshot host software): " +
                                        (why != nullptr ? why : "no reason given"));
  }
  std::string missing;
  const auto find = [&](const char* name, auto& function) {
    void* const symbol = dlsym(backend->library_, name);
    if (symbol == nullptr) missing += std::string(missing.empty() ? "" : ", ") + name;
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(symbol);
  };
#define PLNET_X(name, result, arguments) find("cxil_" #name, backend->call_.name);
  PLNET_LIBCXI_ENTRIES(PLNET_X)
  PLNET_LIBCXI_FUNCTIONS(PLNET_X)
#undef PLNET_X
  if (!missing.empty()) return failure(Errc::kNotSupported, library + " has no " + missing);
  return backend;
}

LibcxiBackend::~LibcxiBackend() {
  if (library_ != nullptr) (void)dlclose(library_);
}

Allocated<std::vector<DeviceInfo>> LibcxiBackend::devices() {
  libcxi::DeviceList* list = nullptr;
  if (const int result = get_device_list(&list); result != 0) return failed(result);
  std::vector<DeviceInfo> found;
  const std::byte* at = reinterpret_cast<const std::byte*>(list) + libcxi::kDeviceListHead;
  for (unsigned i = 0; i < list->count; ++i, at += sizeof(libcxi::DeviceInfo)) {
    libcxi::DeviceInfo one{};
    std::memcpy(&one, at, sizeof one);
    found.push_back(info_of(one));
  }
  call_.free_device_list(list);
  for (unsigned id = 0; id < kDevicesMax; ++id) {
    if (std::ranges::find(found, id, &DeviceInfo::id) == found.end())
      links_[id].store(0, std::memory_order_relaxed);
  }
  for (const DeviceInfo& info : found)
    note(info);
  return found;
}

void LibcxiBackend::note(const DeviceInfo& info) {
  if (info.id >= kDevicesMax) return;
  links_[info.id].store(kThere | (info.link_up ? kUp : 0) | info.nic_address,
                        std::memory_order_relaxed);
}

LibcxiBackend::Open* LibcxiBackend::find(DeviceHandle device) {
  if (device.value <= kClaimed) return nullptr;
  const auto found = std::ranges::find_if(open_, [device](const Open& one) {
    return one.handle.load(std::memory_order_acquire) == device.value;
  });
  return found == open_.end() ? nullptr : &*found;
}

std::optional<unsigned> LibcxiBackend::id_of(DeviceHandle device) {
  const Open* const open = find(device);
  if (open == nullptr) return std::nullopt;
  return open->id.load(std::memory_order_relaxed);
}

LibcxiBackend::Open* LibcxiBackend::claim() {
  for (Open& one : open_) {
    std::uintptr_t free = 0;
    if (one.handle.compare_exchange_strong(free, kClaimed, std::memory_order_relaxed)) return &one;
  }
  return nullptr;
}

Allocated<LinkSeen> LibcxiBackend::link(DeviceHandle device) {
  const auto id = id_of(device);
  if (!id) return std::unexpected(Errno{EINVAL});
  const std::uint64_t seen = *id < kDevicesMax ? links_[*id].load(std::memory_order_relaxed) : 0;
  if ((seen & kThere) == 0) return std::unexpected(Errno{ENODEV});
  return LinkSeen{.up = (seen & kUp) != 0, .nic_address = static_cast<std::uint32_t>(seen)};
}

Allocated<DeviceHandle> LibcxiBackend::open_device(unsigned id) {
  Open* const open = claim();
  if (open == nullptr) return std::unexpected(Errno{ENOSPC});
  libcxi::Device* device = nullptr;
  if (const int result = open_by_id(id, &device); result != 0) {
    open->handle.store(0, std::memory_order_relaxed);
    return failed(result);
  }
  note(info_of(device->info));
  const auto handle = handle_of<DeviceHandle>(device);
  open->id.store(device->info.id, std::memory_order_relaxed);
  open->handle.store(handle.value, std::memory_order_release);
  return handle;
}

void LibcxiBackend::close_device(DeviceHandle device) {
  Open* const open = find(device);
  if (open == nullptr) return;
  open->handle.store(0, std::memory_order_release);
  call_.close_device(object<libcxi::Device>(device));
}

// An open device's own information dates from its opening, so the list is read anew.
Allocated<DeviceInfo> LibcxiBackend::device_info(DeviceHandle device) {
  const auto id = id_of(device);
  if (!id) return std::unexpected(Errno{EINVAL});
  auto all = devices();
  if (!all) return std::unexpected(all.error());
  const auto found = std::ranges::find(*all, *id, &DeviceInfo::id);
  if (found == all->end()) return std::unexpected(Errno{ENODEV});
  return std::move(*found);
}

Allocated<LniHandle> LibcxiBackend::alloc_lni(DeviceHandle device, unsigned service) {
  libcxi::Lni* lni = nullptr;
  if (const int result = call_.alloc_lni(object<libcxi::Device>(device), &lni, service);
      result != 0)
    return failed(result);
  return handle_of<LniHandle>(lni);
}

Allocated<void> LibcxiBackend::destroy_lni(LniHandle lni) {
  return done(call_.destroy_lni(object<libcxi::Lni>(lni)));
}

Allocated<Profile> LibcxiBackend::alloc_profile(LniHandle lni, unsigned vni,
                                                TrafficClass traffic_class) {
  libcxi::Profile* profile = nullptr;
  constexpr unsigned kDefaultType = 0;
  if (const int result =
          call_.alloc_cp(object<libcxi::Lni>(lni), vni, static_cast<unsigned>(traffic_class),
                         kDefaultType, &profile);
      result != 0)
    return failed(result);
  return Profile{.handle = handle_of<ProfileHandle>(profile), .lcid = profile->lcid};
}

Allocated<void> LibcxiBackend::destroy_profile(ProfileHandle profile) {
  return done(call_.destroy_cp(object<libcxi::Profile>(profile)));
}

Allocated<Domain> LibcxiBackend::alloc_domain(LniHandle lni, unsigned vni, unsigned pid) {
  libcxi::Domain* domain = nullptr;
  if (const int result = call_.alloc_domain(object<libcxi::Lni>(lni), vni, pid, &domain);
      result != 0)
    return failed(result);
  return Domain{.handle = handle_of<DomainHandle>(domain), .pid = domain->pid};
}

Allocated<void> LibcxiBackend::destroy_domain(DomainHandle domain) {
  return done(call_.destroy_domain(object<libcxi::Domain>(domain)));
}

Allocated<Mapping> LibcxiBackend::map(LniHandle lni, void* va, std::size_t length,
                                      std::uint32_t flags) {
  libcxi::Mapping* mapping = nullptr;
  if (const int result = call_.map(object<libcxi::Lni>(lni), va, length, flags, nullptr, &mapping);
      result != 0)
    return failed(result);
  return Mapping{.handle = handle_of<MappingHandle>(mapping),
                 .iova = mapping->iova,
                 .va = mapping->va,
                 .length = mapping->length,
                 .lac = mapping->lac};
}

Allocated<void> LibcxiBackend::unmap(MappingHandle mapping) {
  return done(call_.unmap(object<libcxi::Mapping>(mapping)));
}

Allocated<EventQueueMemory> LibcxiBackend::alloc_event_queue(LniHandle lni, MappingHandle mapping,
                                                             const EventQueueOptions& options) {
  libcxi::EventQueueAttributes attributes{};
  attributes.queue = options.queue;
  attributes.bytes = options.bytes;
  attributes.flags = options.flags;
  attributes.threshold_base = options.status_percent;
  attributes.threshold_count = options.status_percent != 0 ? 1 : 0;
  attributes.combining_delay_ns = options.combining_delay_ns;
  libcxi::EventQueue* queue = nullptr;
  if (const int result =
          call_.alloc_evtq(object<libcxi::Lni>(lni), object<libcxi::Mapping>(mapping), &attributes,
                           nullptr, nullptr, &queue);
      result != 0)
    return failed(result);
  return EventQueueMemory{.handle = handle_of<EventQueueHandle>(queue),
                          .number = queue->number,
                          .queue = options.queue,
                          .bytes = queue->bytes,
                          .software_state = queue->state_address};
}

Allocated<void> LibcxiBackend::destroy_event_queue(EventQueueHandle queue) {
  return done(call_.destroy_evtq(object<libcxi::EventQueue>(queue)));
}

Allocated<void> LibcxiBackend::adjust_reserved(EventQueueHandle queue, int slots) {
  // A successful call returns the number of reserved slots.
  const int result = call_.evtq_adjust_reserved_fc(object<libcxi::EventQueue>(queue), slots);
  return done(result < 0 ? result : 0);
}

Allocated<CommandQueueMemory> LibcxiBackend::alloc_command_queue(
    LniHandle lni, EventQueueHandle errors, const CommandQueueOptions& options) {
  const libcxi::CommandQueueOptions wanted{.slots = options.slots,
                                           .update_policy = options.update_policy,
                                           .counter_pool = 0,
                                           .flags = options.transmit ? libcxi::kTransmitQueue : 0,
                                           .lcid = options.lcid,
                                           .credit_threshold = 0};
  libcxi::CommandQueue* queue = nullptr;
  if (const int result = call_.alloc_cmdq(object<libcxi::Lni>(lni),
                                          object<libcxi::EventQueue>(errors), &wanted, &queue);
      result != 0)
    return failed(result);
  return CommandQueueMemory{.handle = handle_of<CommandQueueHandle>(queue),
                            .hardware_index = queue->index,
                            .slots = queue->units / 2,
                            .commands = queue->commands,
                            .launch_page = reinterpret_cast<std::byte*>(queue->write_pointer)};
}

Allocated<void> LibcxiBackend::destroy_command_queue(CommandQueueHandle queue) {
  return done(call_.destroy_cmdq(object<libcxi::CommandQueue>(queue)));
}

Allocated<Portal> LibcxiBackend::alloc_portal(LniHandle lni, EventQueueHandle events,
                                              const PortalOptions& options) {
  libcxi::PortalOptions wanted{};
  if (options.matching) wanted.flags |= libcxi::kMatching;
  if (options.event_match) wanted.flags |= libcxi::kEventMatch;
  if (options.flow_control) wanted.flags |= libcxi::kFlowControl;
  if (options.use_long_event) wanted.flags |= libcxi::kUseLongEvent;
  if (options.clear_remote_offset) wanted.flags |= libcxi::kClearRemoteOffset;
  libcxi::Portal* portal = nullptr;
  if (const int result = call_.alloc_pte(object<libcxi::Lni>(lni),
                                         object<libcxi::EventQueue>(events), &wanted, &portal);
      result != 0)
    return failed(result);
  return Portal{.handle = handle_of<PortalHandle>(portal), .number = portal->number};
}

Allocated<void> LibcxiBackend::destroy_portal(PortalHandle portal) {
  return done(call_.destroy_pte(object<libcxi::Portal>(portal)));
}

Allocated<PortalMapHandle> LibcxiBackend::map_portal(PortalHandle portal, DomainHandle domain,
                                                     unsigned index) {
  libcxi::PortalMap* map = nullptr;
  if (const int result = call_.map_pte(object<libcxi::Portal>(portal),
                                       object<libcxi::Domain>(domain), index, false, &map);
      result != 0)
    return failed(result);
  return handle_of<PortalMapHandle>(map);
}

Allocated<void> LibcxiBackend::unmap_portal(PortalMapHandle map) {
  return done(call_.unmap_pte(object<libcxi::PortalMap>(map)));
}

Allocated<void> LibcxiBackend::invalidate_entry(PortalHandle portal, unsigned buffer_id,
                                                unsigned list) {
  return done(call_.invalidate_pte_le(object<libcxi::Portal>(portal), buffer_id, list));
}

Allocated<PortalStatus> LibcxiBackend::portal_status(PortalHandle portal) {
  libcxi::PortalStatus status{};
  if (const int result = call_.pte_status(object<libcxi::Portal>(portal), &status); result != 0)
    return failed(result);
  return PortalStatus{.drop_count = status.drop_count,
                      .state = status.state,
                      .entries_reserved = status.reserved,
                      .entries_allocated = status.allocated,
                      .entries_max = status.maximum};
}

Allocated<void> LibcxiBackend::transition_software_managed(PortalHandle portal,
                                                           unsigned drop_count) {
  return done(call_.pte_transition_sm(object<libcxi::Portal>(portal), drop_count));
}

}  // namespace plnet::cassini
