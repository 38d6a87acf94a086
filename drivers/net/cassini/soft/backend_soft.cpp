// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/net/cassini/soft/backend_soft.hpp"

#include <algorithm>
#include <cerrno>

#include "lib/base/check.hpp"

namespace plnet::cassini::soft {
namespace {

constexpr unsigned kKindShift = 56;
constexpr unsigned kDeviceShift = 48;
constexpr std::uint64_t kNumberMask = (std::uint64_t{1} << kDeviceShift) - 1;
constexpr std::size_t kLinkMtu = 9000;
constexpr std::size_t kLinkMbps = 200000;

std::unexpected<Errno> refuse(int error) {
  return std::unexpected(Errno{error});
}

}  // namespace

std::uintptr_t SoftBackend::name(Kind kind, unsigned device, std::uint64_t number) {
  return static_cast<std::uint64_t>(kind) << kKindShift |
         static_cast<std::uint64_t>(device) << kDeviceShift | (number & kNumberMask);
}

SoftBackend::Named SoftBackend::find(Kind kind, std::uintptr_t handle) const {
  if (handle >> kKindShift != static_cast<std::uint64_t>(kind) ||
      std::ranges::find(live_, handle) == live_.end())
    return {};
  const auto device = static_cast<unsigned>(handle >> kDeviceShift & 0xff);
  return {devices_[device], device, handle & kNumberMask};
}

std::uintptr_t SoftBackend::add(Kind kind, unsigned device, std::uint64_t number) {
  live_.push_back(name(kind, device, number));
  return live_.back();
}

Made<void> SoftBackend::destroy(std::uintptr_t handle) {
  const auto kind = static_cast<Kind>(handle >> kKindShift);
  const Named named = find(kind, handle);
  if (named.nic == nullptr) return std::unexpected(EINVAL);
  Nic& nic = *named.nic;
  const auto low = static_cast<unsigned>(named.number);
  switch (kind) {
    case Kind::kDevice: return {};
    case Kind::kLni: return nic.drop_group(low);
    case Kind::kProfile: return nic.drop_profile(low >> 8, low & 0xff);
    case Kind::kDomain: return nic.drop_domain(low);
    case Kind::kMapping: return nic.unmap(low);
    case Kind::kEventQueue: return nic.drop_event_queue(low);
    case Kind::kCommandQueue: return nic.drop_command_queue(low);
    case Kind::kPortal: return nic.drop_portal(low);
    case Kind::kPortalMap:
      return nic.unmap_portal(static_cast<std::uint32_t>(named.number >> 8), low & 0xff);
  }
  return std::unexpected(EINVAL);
}

Allocated<void> SoftBackend::drop(std::uintptr_t handle) {
  const Gate::Held held(gate_);
  if (const Made<void> gone = destroy(handle); !gone) return refuse(gone.error());
  std::erase(live_, handle);
  return {};
}

SoftBackend::~SoftBackend() {
  const Gate::Held held(gate_);
  // Last made, first destroyed: nothing is in use any more when its turn comes. Except the memory
  // that an event queue has moved to, which waits for the next round.
  while (!live_.empty()) {
    const std::size_t before = live_.size();
    for (std::size_t i = before; i-- > 0;) {
      if (destroy(live_[i])) live_.erase(live_.begin() + static_cast<std::ptrdiff_t>(i));
    }
    PLNET_CHECK(live_.size() < before, "something can always go");
  }
}

DeviceInfo SoftBackend::info_of(unsigned id) const {
  const Tables& tables = devices_[id]->tables();
  const Limits& limits = tables.limits;
  return {.id = id,
          .name = "cxi" + std::to_string(id),
          .description = "software Cassini",
          .nic_address = devices_[id]->address(),
          .pid_bits = kPidBits,
          .pid_granule = kPidGranule,
          .min_free_shift = tables.min_free_shift,
          .version = devices_[id]->version(),
          .retry_handler = tables.retry_handler,
          .link_up = tables.link_up,
          .virtual_function = false,
          .link_mtu = kLinkMtu,
          .link_mbps = kLinkMbps,
          .portals = limits.portals,
          .transmit_queues = limits.transmit_queues,
          .target_queues = limits.target_queues,
          .event_queues = limits.event_queues,
          .counters = limits.counters,
          .address_contexts = limits.address_contexts,
          .list_entries = limits.list_entries};
}

Allocated<std::vector<DeviceInfo>> SoftBackend::devices() {
  const Gate::Held held(gate_);
  std::vector<DeviceInfo> all;
  all.reserve(devices_.size());
  for (unsigned id = 0; id < devices_.size(); ++id)
    all.push_back(info_of(id));
  return all;
}

Allocated<DeviceHandle> SoftBackend::open_device(unsigned id) {
  const Gate::Held held(gate_);
  if (id >= devices_.size()) return refuse(ENODEV);
  return DeviceHandle{add(Kind::kDevice, id, 0)};  // once for each who opens it
}

void SoftBackend::close_device(DeviceHandle device) {
  const Gate::Held held(gate_);
  const auto one = std::ranges::find(live_, device.value);
  if (one != live_.end()) live_.erase(one);
}

Allocated<DeviceInfo> SoftBackend::device_info(DeviceHandle device) {
  const Gate::Held held(gate_);
  const Named named = find(Kind::kDevice, device.value);
  if (named.nic == nullptr) return refuse(EINVAL);
  return info_of(named.device);
}

Allocated<LinkSeen> SoftBackend::link(DeviceHandle device) {
  const Gate::Held held(gate_);
  const Named named = find(Kind::kDevice, device.value);
  if (named.nic == nullptr) return refuse(EINVAL);
  return LinkSeen{.up = named.nic->tables().link_up, .nic_address = named.nic->address()};
}

Allocated<LniHandle> SoftBackend::alloc_lni(DeviceHandle device, unsigned service) {
  const Gate::Held held(gate_);
  const Named named = find(Kind::kDevice, device.value);
  if (named.nic == nullptr) return refuse(EINVAL);
  const Made<unsigned> group = named.nic->make_group(service);
  if (!group) return refuse(group.error());
  return LniHandle{add(Kind::kLni, named.device, *group)};
}

Allocated<void> SoftBackend::destroy_lni(LniHandle lni) {
  return drop(lni.value);
}

Allocated<Profile> SoftBackend::alloc_profile(LniHandle lni, unsigned vni,
                                              TrafficClass traffic_class) {
  const Gate::Held held(gate_);
  const Named named = find(Kind::kLni, lni.value);
  if (named.nic == nullptr) return refuse(EINVAL);
  const auto group = static_cast<unsigned>(named.number);
  const Made<unsigned> lcid =
      named.nic->make_profile(group, vni, static_cast<unsigned>(traffic_class));
  if (!lcid) return refuse(lcid.error());
  return Profile{{add(Kind::kProfile, named.device, group << 8 | *lcid)}, *lcid};
}

Allocated<void> SoftBackend::destroy_profile(ProfileHandle profile) {
  return drop(profile.value);
}

Allocated<Domain> SoftBackend::alloc_domain(LniHandle lni, unsigned vni, unsigned pid) {
  const Gate::Held held(gate_);
  const Named named = find(Kind::kLni, lni.value);
  if (named.nic == nullptr) return refuse(EINVAL);
  const auto domain = named.nic->make_domain(static_cast<unsigned>(named.number), vni, pid);
  if (!domain) return refuse(domain.error());
  return Domain{{add(Kind::kDomain, named.device, domain->key)}, domain->pid};
}

Allocated<void> SoftBackend::destroy_domain(DomainHandle domain) {
  return drop(domain.value);
}

Allocated<Mapping> SoftBackend::map(LniHandle lni, void* va, std::size_t length,
                                    std::uint32_t flags) {
  const Gate::Held held(gate_);
  const Named named = find(Kind::kLni, lni.value);
  if (named.nic == nullptr) return refuse(EINVAL);
  const Made<unsigned> number = named.nic->map(static_cast<unsigned>(named.number), va, length,
                                               (flags & kMapRead) != 0, (flags & kMapWrite) != 0);
  if (!number) return refuse(number.error());
  const MappingEntry& entry = named.nic->mapping(*number);
  return Mapping{{add(Kind::kMapping, named.device, *number)},
                 entry.iova,
                 reinterpret_cast<std::uintptr_t>(entry.va),
                 entry.length,
                 entry.lac};
}

Allocated<void> SoftBackend::unmap(MappingHandle mapping) {
  return drop(mapping.value);
}

Allocated<EventQueueMemory> SoftBackend::alloc_event_queue(LniHandle lni, MappingHandle mapping,
                                                           const EventQueueOptions& options) {
  if (options.status_percent > 100) return refuse(EINVAL);
  EventQueueSetup setup{.memory = options.queue, .bytes = options.bytes, .flags = options.flags};
  setup.threshold_percent[0] = options.status_percent;
  return make_event_queue(lni, mapping, setup);
}

Allocated<void> SoftBackend::destroy_event_queue(EventQueueHandle queue) {
  return drop(queue.value);
}

Allocated<void> SoftBackend::adjust_reserved(EventQueueHandle queue, int slots) {
  const Gate::Held held(gate_);
  const Named named = find(Kind::kEventQueue, queue.value);
  if (named.nic == nullptr) return refuse(EINVAL);
  const Made<void> done = named.nic->adjust_reserved(static_cast<unsigned>(named.number), slots);
  if (!done) return refuse(done.error());
  return {};
}

Allocated<CommandQueueMemory> SoftBackend::alloc_command_queue(LniHandle lni,
                                                               EventQueueHandle errors,
                                                               const CommandQueueOptions& options) {
  const Gate::Held held(gate_);
  const Named named = find(Kind::kLni, lni.value);
  const Named eq = find(Kind::kEventQueue, errors.value);
  if (named.nic == nullptr || (errors != EventQueueHandle{} && eq.nic != named.nic))
    return refuse(EINVAL);
  const Made<unsigned> index = named.nic->make_command_queue(
      static_cast<unsigned>(named.number), {.slots = options.slots,
                                            .transmit = options.transmit,
                                            .lcid = options.lcid,
                                            .update_policy = options.update_policy,
                                            .error_eq = static_cast<unsigned>(eq.number)});
  if (!index) return refuse(index.error());
  CommandQueue& queue = *named.nic->command_queue(*index);
  return CommandQueueMemory{{add(Kind::kCommandQueue, named.device, *index)},
                            *index,
                            queue.slots(),
                            queue.commands(),
                            queue.launch_page()};
}

Allocated<void> SoftBackend::destroy_command_queue(CommandQueueHandle queue) {
  return drop(queue.value);
}

Allocated<Portal> SoftBackend::alloc_portal(LniHandle lni, EventQueueHandle events,
                                            const PortalOptions& options) {
  const Gate::Held held(gate_);
  const Named named = find(Kind::kLni, lni.value);
  const Named eq = find(Kind::kEventQueue, events.value);
  if (named.nic == nullptr || (events != EventQueueHandle{} && eq.nic != named.nic))
    return refuse(EINVAL);
  const Made<unsigned> number =
      named.nic->make_portal(static_cast<unsigned>(named.number), static_cast<unsigned>(eq.number),
                             {.matching = options.matching,
                              .event_match = options.event_match,
                              .flow_control = options.flow_control,
                              .use_long_event = options.use_long_event,
                              .clear_remote_offset = options.clear_remote_offset});
  if (!number) return refuse(number.error());
  return Portal{{add(Kind::kPortal, named.device, *number)}, *number};
}

Allocated<void> SoftBackend::destroy_portal(PortalHandle portal) {
  return drop(portal.value);
}

Allocated<PortalMapHandle> SoftBackend::map_portal(PortalHandle portal, DomainHandle domain,
                                                   unsigned index) {
  const Gate::Held held(gate_);
  const Named named = find(Kind::kPortal, portal.value);
  const Named home = find(Kind::kDomain, domain.value);
  if (named.nic == nullptr || home.nic != named.nic) return refuse(EINVAL);
  const Made<void> done = named.nic->map_portal(static_cast<unsigned>(named.number),
                                                static_cast<std::uint32_t>(home.number), index);
  if (!done) return refuse(done.error());
  return PortalMapHandle{add(Kind::kPortalMap, named.device, home.number << 8 | index)};
}

Allocated<void> SoftBackend::unmap_portal(PortalMapHandle map) {
  return drop(map.value);
}

Allocated<void> SoftBackend::invalidate_entry(PortalHandle portal, unsigned buffer_id,
                                              unsigned list) {
  const Gate::Held held(gate_);
  const Named named = find(Kind::kPortal, portal.value);
  if (named.nic == nullptr) return refuse(EINVAL);
  const Made<void> done =
      named.nic->invalidate(static_cast<unsigned>(named.number), buffer_id, list);
  if (!done) return refuse(done.error());
  return {};
}

Allocated<PortalStatus> SoftBackend::portal_status(PortalHandle portal) {
  const Gate::Held held(gate_);
  const Named named = find(Kind::kPortal, portal.value);
  if (named.nic == nullptr) return refuse(EINVAL);
  const Tables& tables = named.nic->tables();
  const PortalTable& table = tables.portals[named.number];
  constexpr Resource kEntries = Resource::kListEntries;
  const Share share = tables.resources.share(table.service, kEntries);
  return PortalStatus{.drop_count = table.dropped,
                      .state = static_cast<unsigned>(table.state),
                      .entries_reserved = share.kept,
                      .entries_allocated = tables.resources.used(table.service, kEntries),
                      .entries_max = std::min(share.most, tables.pool.count())};
}

Allocated<void> SoftBackend::transition_software_managed(PortalHandle portal, unsigned drop_count) {
  const Gate::Held held(gate_);
  const Named named = find(Kind::kPortal, portal.value);
  if (named.nic == nullptr) return refuse(EINVAL);
  const Made<void> done =
      named.nic->to_software_managed(static_cast<unsigned>(named.number), drop_count);
  if (!done) return refuse(done.error());
  return {};
}

}  // namespace plnet::cassini::soft
