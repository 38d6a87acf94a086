// SPDX-License-Identifier: BSD-3-Clause
// libcxi's functions for queues, portals, and the objects that they need.
#include <algorithm>
#include <cerrno>
#include <new>
#include <optional>

#include "drivers/net/cassini/soft/libcxi_functions.hpp"
#include "drivers/net/cassini/soft/libcxi_objects.hpp"

namespace plnet::cassini::libcxi {
namespace {

using soft::behind;
using soft::Gate;
using soft::Made;

constexpr unsigned kTrafficClassTypes = 4;
constexpr int kPageShift = 12;
constexpr unsigned kPercentMax = 100;
constexpr std::uint64_t kFirstSlotIsNext = 1;  // the doorbell of a queue of which nothing has been
                                               // read

template <class Behind, class Shown>
int destroy(Shown* shown) {
  return shown == nullptr ? -EINVAL : behind<Behind>(shown).destroy();
}

int result_of(const Made<void>& done) {
  return done ? 0 : -done.error();
}

// Its number, 0 for none. Nothing: it belongs to another NIC.
std::optional<unsigned> number_on(const soft::Nic& nic, EventQueue* queue) {
  if (queue == nullptr) return 0;
  const auto& object = behind<soft::EventQueueObject>(queue);
  return &object.nic == &nic ? std::optional(object.key) : std::nullopt;
}

void start_reading(EventQueue& queue, std::byte* events, std::size_t bytes, std::uint64_t buffer) {
  queue.events = events;
  queue.bytes = static_cast<unsigned>(bytes);
  queue.state = kFirstSlotIsNext | buffer;
  queue.read_offset = soft::kSlotBytes;
  queue.previous_offset = soft::kSlotBytes;
}

// Nothing: invalid thresholds.
std::optional<soft::EventQueueSetup> setup_of(const EventQueueAttributes& attributes) {
  soft::EventQueueSetup setup{.memory = static_cast<std::byte*>(attributes.queue),
                              .bytes = attributes.bytes,
                              .flags = attributes.flags};
  if (attributes.threshold_count > soft::kThresholds) return std::nullopt;
  for (unsigned i = 0; i < attributes.threshold_count; ++i) {
    setup.threshold_percent[i] = attributes.threshold_base + i * attributes.threshold_delta;
    if (setup.threshold_percent[i] > kPercentMax) return std::nullopt;
  }
  return setup;
}

}  // namespace

void cxil_free_device_list(DeviceList* list) {
  ::operator delete(list);
}

void cxil_close_device(Device* device) {
  if (device != nullptr) (void)behind<soft::DeviceObject>(device).destroy();
}

int cxil_alloc_lni(Device* device, Lni** lni, unsigned service) {
  if (device == nullptr || lni == nullptr) return -EINVAL;
  auto& owner = behind<soft::DeviceObject>(device);
  const Gate::Held held(owner.gate());
  const auto group = owner.nic.make_group(service);
  if (!group) return -group.error();
  auto& made = owner.add<soft::LniObject>(*group);
  made.id = *group;
  *lni = &made;
  return 0;
}

int cxil_destroy_lni(Lni* lni) {
  return destroy<soft::LniObject>(lni);
}

int cxil_alloc_cp(Lni* lni, unsigned vni, unsigned traffic_class, unsigned type,
                  Profile** profile) {
  if (lni == nullptr || profile == nullptr || traffic_class >= soft::kTrafficClasses ||
      type >= kTrafficClassTypes)
    return -EINVAL;
  auto& owner = behind<soft::LniObject>(lni);
  const Gate::Held held(owner.gate());
  const auto lcid = owner.nic.make_profile(owner.key, vni, traffic_class);
  if (!lcid) return -lcid.error();
  auto& made = owner.add<soft::ProfileObject>(*lcid);
  static_cast<Profile&>(made) = {vni, traffic_class, type, *lcid};
  made.group = owner.key;
  *profile = &made;
  return 0;
}

int cxil_destroy_cp(Profile* profile) {
  return destroy<soft::ProfileObject>(profile);
}

int cxil_alloc_domain(Lni* lni, unsigned vni, unsigned pid, Domain** domain) {
  if (lni == nullptr || domain == nullptr) return -EINVAL;
  auto& owner = behind<soft::LniObject>(lni);
  const Gate::Held held(owner.gate());
  const auto given = owner.nic.make_domain(owner.key, vni, pid);
  if (!given) return -given.error();
  auto& made = owner.add<soft::DomainObject>(given->key);
  static_cast<Domain&>(made) = {vni, given->pid};
  *domain = &made;
  return 0;
}

int cxil_destroy_domain(Domain* domain) {
  return destroy<soft::DomainObject>(domain);
}

int cxil_map(Lni* lni, void* va, std::size_t length, std::uint32_t flags, MapHints* /*hints*/,
             Mapping** mapping) {
  if (lni == nullptr || mapping == nullptr) return -EINVAL;
  auto& owner = behind<soft::LniObject>(lni);
  const Gate::Held held(owner.gate());
  const auto number =
      owner.nic.map(owner.key, va, length, (flags & kMapRead) != 0, (flags & kMapWrite) != 0);
  if (!number) return -number.error();
  const soft::MappingEntry& entry = owner.nic.mapping(*number);
  auto& made = owner.add<soft::MappingObject>(*number);
  made.iova = entry.iova;
  made.va = reinterpret_cast<std::uintptr_t>(entry.va);
  made.length = entry.length;
  made.lac = entry.lac;
  made.page_shift = kPageShift;
  made.id = *number;
  *mapping = &made;
  return 0;
}

int cxil_unmap(Mapping* mapping) {
  return destroy<soft::MappingObject>(mapping);
}

int cxil_update_md(Mapping* mapping, void* va, std::size_t length, std::uint32_t /*flags*/) {
  if (mapping == nullptr) return -EINVAL;
  auto& object = behind<soft::MappingObject>(mapping);
  const Gate::Held held(object.gate());
  const auto done = object.nic.remap(object.key, va, length);
  if (!done) return -done.error();
  mapping->va = reinterpret_cast<std::uintptr_t>(va);
  mapping->length = length;
  return 0;
}

int cxil_alloc_evtq(Lni* lni, const Mapping* mapping, const EventQueueAttributes* attributes,
                    WaitObject* event_wait, WaitObject* status_wait, EventQueue** queue) {
  if (lni == nullptr || mapping == nullptr || attributes == nullptr || queue == nullptr)
    return -EINVAL;
  auto& owner = behind<soft::LniObject>(lni);
  const auto& home = behind<const soft::MappingObject>(mapping);
  auto setup = setup_of(*attributes);
  if (&home.nic != &owner.nic || !setup) return -EINVAL;
  auto* const on_event = static_cast<soft::WaitObject*>(event_wait);
  auto* const on_status = static_cast<soft::WaitObject*>(status_wait);
  setup->on_event = on_event;
  setup->on_status = on_status;
  const Gate::Held held(owner.gate());
  const auto number = owner.nic.make_event_queue(owner.key, home.key, *setup);
  if (!number) return -number.error();
  const auto kept =
      owner.nic.adjust_reserved(*number, static_cast<int>(attributes->reserved_slots));
  if (!kept) {
    (void)owner.nic.drop_event_queue(*number);
    return -kept.error();
  }
  auto& made = owner.add<soft::EventQueueObject>(*number);
  start_reading(made, setup->memory, setup->bytes, 0);
  made.state_address = owner.nic.event_queue(*number)->software_state();
  made.number = *number;
  made.waits = {on_event, on_status};
  for (soft::WaitObject* const one : made.waits)
    if (one != nullptr) ++one->queues;
  *queue = &made;
  return 0;
}

int cxil_destroy_evtq(EventQueue* queue) {
  return destroy<soft::EventQueueObject>(queue);
}

int cxil_evtq_adjust_reserved_fc(EventQueue* queue, int value) {
  if (queue == nullptr) return -EINVAL;
  auto& object = behind<soft::EventQueueObject>(queue);
  const Gate::Held held(object.gate());
  const auto reserved = object.nic.adjust_reserved(object.key, value);
  return reserved ? static_cast<int>(*reserved) : -reserved.error();
}

int cxil_evtq_resize(EventQueue* queue, void* memory, std::size_t bytes, Mapping* mapping) {
  if (queue == nullptr || memory == nullptr || mapping == nullptr) return -EINVAL;
  auto& object = behind<soft::EventQueueObject>(queue);
  const auto& home = behind<soft::MappingObject>(mapping);
  if (&home.nic != &object.nic) return -EINVAL;
  const Gate::Held held(object.gate());
  auto* const next = static_cast<std::byte*>(memory);
  const auto done = object.nic.resize_event_queue(object.key, home.key, next, bytes);
  if (!done) return -done.error();
  object.next = {next, bytes};
  return 0;
}

// After the EQ_SWITCH was read: the reader continues at the beginning of the other buffer.
int cxil_evtq_resize_complete(EventQueue* queue) {
  if (queue == nullptr) return -EINVAL;
  auto& object = behind<soft::EventQueueObject>(queue);
  const Gate::Held held(object.gate());
  const auto done = object.nic.complete_resize(object.key);
  if (!done) return -done.error();
  start_reading(*queue, object.next.data(), object.next.size(),
                (queue->state & kReadingSecond) ^ kReadingSecond);
  return 0;
}

int cxil_alloc_cmdq(Lni* lni, EventQueue* errors, const CommandQueueOptions* options,
                    CommandQueue** queue) {
  if (lni == nullptr || options == nullptr || queue == nullptr) return -EINVAL;
  auto& owner = behind<soft::LniObject>(lni);
  const Gate::Held held(owner.gate());
  const auto error_eq = number_on(owner.nic, errors);
  if (!error_eq) return -EINVAL;
  const auto index =
      owner.nic.make_command_queue(owner.key, {.slots = options->slots,
                                               .transmit = (options->flags & kTransmitQueue) != 0,
                                               .lcid = options->lcid,
                                               .update_policy = options->update_policy,
                                               .error_eq = *error_eq});
  if (!index) return -index.error();
  soft::CommandQueue& there = *owner.nic.command_queue(*index);
  auto& made = owner.add<soft::CommandQueueObject>(*index);
  std::byte* const page = there.launch_page();
  made.size = there.slots();
  made.write_pointer = reinterpret_cast<std::uint64_t*>(page);
  made.window_64 = page + soft::kWindow64;
  made.window_128_aligned = page + soft::kWindow128Aligned;
  made.window_128 = page + soft::kWindow128Skip;
  made.commands = there.commands();
  made.read_unit = soft::kFirstUnit;
  made.index = *index;
  made.units = there.slots() * (soft::kSlotBytes / soft::kUnitBytes);
  made.write_unit = soft::kFirstUnit;
  made.rung_unit = soft::kFirstUnit;
  *queue = &made;
  return 0;
}

int cxil_destroy_cmdq(CommandQueue* queue) {
  return destroy<soft::CommandQueueObject>(queue);
}

int cxil_alloc_pte(Lni* lni, EventQueue* events, PortalOptions* options, Portal** portal) {
  if (lni == nullptr || portal == nullptr) return -EINVAL;
  const std::uint64_t flags = options != nullptr ? options->flags : 0;
  if ((flags & kEthernet) != 0) return -EPERM;
  auto& owner = behind<soft::LniObject>(lni);
  const Gate::Held held(owner.gate());
  const auto eq = number_on(owner.nic, events);
  if (!eq) return -EINVAL;
  const auto number =
      owner.nic.make_portal(owner.key, *eq,
                            {.matching = (flags & kMatching) != 0,
                             .event_match = (flags & kEventMatch) != 0,
                             .flow_control = (flags & kFlowControl) != 0,
                             .use_long_event = (flags & kUseLongEvent) != 0,
                             .clear_remote_offset = (flags & kClearRemoteOffset) != 0});
  if (!number) return -number.error();
  auto& made = owner.add<soft::PortalObject>(*number);
  made.number = *number;
  *portal = &made;
  return 0;
}

int cxil_destroy_pte(Portal* portal) {
  return destroy<soft::PortalObject>(portal);
}

int cxil_map_pte(Portal* portal, Domain* domain, unsigned index, bool is_multicast,
                 PortalMap** map) {
  if (portal == nullptr || domain == nullptr || map == nullptr) return -EINVAL;
  if (is_multicast) return -EOPNOTSUPP;
  auto& object = behind<soft::PortalObject>(portal);
  const auto& home = behind<soft::DomainObject>(domain);
  if (&home.nic != &object.nic) return -EINVAL;
  const Gate::Held held(object.gate());
  if (const auto done = object.nic.map_portal(object.key, home.key, index); !done)
    return -done.error();
  auto& made = object.add<soft::PortalMapObject>(home.key);
  made.index = index;
  *map = &made;
  return 0;
}

int cxil_unmap_pte(PortalMap* map) {
  return destroy<soft::PortalMapObject>(map);
}

int cxil_invalidate_pte_le(Portal* portal, unsigned buffer_id, unsigned list) {
  if (portal == nullptr) return -EINVAL;
  auto& object = behind<soft::PortalObject>(portal);
  const Gate::Held held(object.gate());
  return result_of(object.nic.invalidate(object.key, buffer_id, list));
}

int cxil_pte_status(Portal* portal, PortalStatus* status) {
  if (portal == nullptr || status == nullptr) return -EINVAL;
  auto& object = behind<soft::PortalObject>(portal);
  const Gate::Held held(object.gate());
  constexpr auto kEntries = soft::Resource::kListEntries;
  const soft::Tables& tables = object.nic.tables();
  const soft::PortalTable& table = tables.portals[object.key];
  const soft::Share share = tables.resources.share(table.service, kEntries);
  status->drop_count = table.dropped;
  status->state = static_cast<std::uint8_t>(table.state);
  status->reserved = soft::narrow(share.kept);
  status->allocated = soft::narrow(tables.resources.used(table.service, kEntries));
  status->maximum = soft::narrow(std::min(share.most, tables.pool.count()));
  status->unexpected_count = 0;
  return 0;
}

int cxil_pte_transition_sm(Portal* portal, unsigned drop_count) {
  if (portal == nullptr) return -EINVAL;
  auto& object = behind<soft::PortalObject>(portal);
  const Gate::Held held(object.gate());
  return result_of(object.nic.to_software_managed(object.key, drop_count));
}

}  // namespace plnet::cassini::libcxi
