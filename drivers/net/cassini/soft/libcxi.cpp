// SPDX-License-Identifier: BSD-3-Clause
// libcxi's functions for queues and portals.
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>

#include "drivers/net/cassini/soft/libcxi_caller.hpp"
#include "drivers/net/cassini/soft/libcxi_functions.hpp"
#include "drivers/net/cassini/soft/libcxi_objects.hpp"
#include "drivers/net/cassini/soft/process_memory.hpp"

namespace plnet::cassini::libcxi {
namespace {

using soft::behind;
using soft::Gate;

constexpr unsigned kPercentMax = 100;
constexpr std::uint64_t kFirstSlotIsNext = 1;  // the doorbell of a queue of which nothing has been
                                               // read

// Its number, 0 for none. Nothing: it is another NIC's.
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

// The first threshold is the highest; thresholds below 0 % cannot be.
std::optional<soft::EventQueueSetup> setup_of(const EventQueueAttributes& attributes) {
  soft::EventQueueSetup setup{.memory = static_cast<std::byte*>(attributes.queue),
                              .bytes = attributes.bytes,
                              .flags = attributes.flags};
  const unsigned count = attributes.threshold_count;
  if (count == 0) return setup;
  if (count > soft::kThresholds || attributes.threshold_base > kPercentMax ||
      attributes.threshold_delta > kPercentMax ||
      (count - 1) * attributes.threshold_delta > attributes.threshold_base)
    return std::nullopt;
  for (unsigned i = 0; i < count; ++i)
    setup.threshold_percent[i] = attributes.threshold_base - i * attributes.threshold_delta;
  return setup;
}

// Memory that is not translated is one piece for the device, which a page is.
bool is_one_piece(const void* memory, std::size_t bytes) {
  if (memory == nullptr || bytes == 0) return false;
  const std::size_t page = soft::page_size_at(memory);
  const auto begin = reinterpret_cast<std::uintptr_t>(memory);
  return begin / page == (begin + bytes - 1) / page;
}

// The mapping that an event queue lies in. Nothing: none fits.
std::optional<unsigned> home_of(const soft::Nic& nic, std::uint64_t flags, const Mapping* mapping,
                                const void* memory, std::size_t bytes) {
  if ((flags & kPassthrough) != 0)
    return is_one_piece(memory, bytes) ? std::optional(soft::Nic::kNoMapping) : std::nullopt;
  if (mapping == nullptr) return std::nullopt;
  const auto& home = behind<const soft::MappingObject>(mapping);
  return &home.nic == &nic ? std::optional<unsigned>(home.key) : std::nullopt;
}

int show(soft::LniObject& owner, unsigned index, CommandQueue** queue) {
  soft::CommandQueue& there = *owner.nic.command_queue(index);
  auto& made = owner.add<soft::CommandQueueObject>(index);
  std::byte* const page = there.launch_page();
  made.size = there.slots();
  made.write_pointer = reinterpret_cast<std::uint64_t*>(page);
  made.window_64 = page + soft::kWindow64;
  made.window_128_aligned = page + soft::kWindow128Aligned;
  made.window_128 = page + soft::kWindow128Skip;
  made.commands = there.commands();
  made.read_unit = soft::kFirstUnit;
  made.index = index;
  made.units = there.slots() * (soft::kSlotBytes / soft::kUnitBytes);
  made.write_unit = soft::kFirstUnit;
  made.rung_unit = soft::kFirstUnit;
  *queue = &made;
  return 0;
}

}  // namespace

int cxil_alloc_evtq(Lni* lni, const Mapping* mapping, const EventQueueAttributes* attributes,
                    WaitObject* event_wait, WaitObject* status_wait, EventQueue** queue) {
  if (lni == nullptr || attributes == nullptr || queue == nullptr) return -EINVAL;
  if ((attributes->flags & kRetryHandlerEvents) != 0 && !soft::is_administrator()) return -EPERM;
  auto& owner = behind<soft::LniObject>(lni);
  auto setup = setup_of(*attributes);
  const auto home =
      home_of(owner.nic, attributes->flags, mapping, attributes->queue, attributes->bytes);
  if (!home || !setup || attributes->reserved_slots >= attributes->bytes / soft::kSlotBytes)
    return -EINVAL;
  auto* const on_event = static_cast<soft::WaitObject*>(event_wait);
  auto* const on_status = static_cast<soft::WaitObject*>(status_wait);
  setup->on_event = on_event;
  setup->on_status = on_status;
  setup->reserved = attributes->reserved_slots;
  const Gate::Held held(owner.gate());
  const auto number = owner.nic.make_event_queue(owner.key, *home, *setup);
  if (!number) return -number.error();
  std::memset(attributes->queue, 0, attributes->bytes);
  auto& made = owner.add<soft::EventQueueObject>(*number);
  start_reading(made, setup->memory, setup->bytes, 0);
  made.state_address = owner.nic.event_queue(*number)->software_state();
  made.number = *number;
  made.flags = attributes->flags;
  made.waits = {on_event, on_status};
  for (soft::WaitObject* const one : made.waits)
    if (one != nullptr) ++one->queues;
  *queue = &made;
  return 0;
}

int cxil_destroy_evtq(EventQueue* queue) {
  return soft::destroy<soft::EventQueueObject>(queue);
}

int cxil_evtq_adjust_reserved_fc(EventQueue* queue, int value) {
  if (queue == nullptr) return -EINVAL;
  auto& object = behind<soft::EventQueueObject>(queue);
  const Gate::Held held(object.gate());
  const auto reserved = object.nic.adjust_reserved(object.key, value);
  return reserved ? static_cast<int>(*reserved) : -reserved.error();
}

int cxil_evtq_resize(EventQueue* queue, void* memory, std::size_t bytes, Mapping* mapping) {
  if (queue == nullptr || memory == nullptr) return -EINVAL;
  auto& object = behind<soft::EventQueueObject>(queue);
  const auto home = home_of(object.nic, object.flags, mapping, memory, bytes);
  if (!home) return -EINVAL;
  const Gate::Held held(object.gate());
  auto* const next = static_cast<std::byte*>(memory);
  const auto done = object.nic.resize_event_queue(object.key, *home, next, bytes);
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

int cxil_alloc_buf_cmdq(Lni* lni, EventQueue* errors, const CommandQueueBuffer* wanted,
                        CommandQueue** queue) {
  if (lni == nullptr || wanted == nullptr || queue == nullptr) return -EINVAL;
  const CommandQueueOptions& options = wanted->options;
  const bool is_transmit = (options.flags & kTransmitQueue) != 0;
  if (!is_transmit && options.credit_threshold >= kCreditThresholds) return -EINVAL;
  if ((options.flags & kEthernetQueue) != 0) return -EPERM;  // there is no Ethernet
  // Memory of a device cannot be reached.
  if (wanted->buffer != nullptr && !wanted->is_host_memory) return -EINVAL;
  if (options.slots > soft::kQueueSlotsMax) return -E2BIG;
  const std::size_t bytes = std::size_t{soft::Nic::slots_for(options.slots)} * soft::kSlotBytes;
  if (wanted->buffer != nullptr && !soft::look_at_memory(wanted->buffer, bytes).writable)
    return -EFAULT;
  auto& owner = behind<soft::LniObject>(lni);
  const Gate::Held held(owner.gate());
  const auto error_eq = number_on(owner.nic, errors);
  if (!error_eq) return -EINVAL;
  const auto index =
      owner.nic.make_command_queue(owner.key, {.slots = options.slots,
                                               .transmit = is_transmit,
                                               .triggered = (options.flags & kTriggeredQueue) != 0,
                                               .lcid = options.lcid,
                                               .update_policy = options.update_policy,
                                               .error_eq = *error_eq,
                                               .memory = static_cast<std::byte*>(wanted->buffer)});
  return index ? show(owner, *index, queue) : -index.error();
}

int cxil_alloc_cmdq(Lni* lni, EventQueue* errors, const CommandQueueOptions* options,
                    CommandQueue** queue) {
  if (options == nullptr) return -EINVAL;
  const CommandQueueBuffer own{.options = *options};
  return cxil_alloc_buf_cmdq(lni, errors, &own, queue);
}

int cxil_cmdq_ack_counter(CommandQueue* queue, unsigned* count) {
  if (queue == nullptr || count == nullptr) return -EINVAL;
  auto& object = behind<soft::CommandQueueObject>(queue);
  const Gate::Held held(object.gate());
  *count = object.nic.command_queue(object.key)->outstanding;
  return 0;
}

int cxil_destroy_cmdq(CommandQueue* queue) {
  return soft::destroy<soft::CommandQueueObject>(queue);
}

int cxil_alloc_pte(Lni* lni, EventQueue* events, PortalOptions* options, Portal** portal) {
  if (lni == nullptr || options == nullptr || portal == nullptr) return -EINVAL;
  const std::uint64_t flags = options->flags;
  if ((flags & kEthernet) != 0) return -EPERM;  // there is no Ethernet
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
                             .clear_remote_offset = (flags & kClearRemoteOffset) != 0,
                             .hybrid = (flags & kSoftwareState) != 0,
                             .space_check = (flags & kSpaceCheck) != 0});
  if (!number) return -number.error();
  auto& made = owner.add<soft::PortalObject>(*number);
  made.number = *number;
  *portal = &made;
  return 0;
}

int cxil_destroy_pte(Portal* portal) {
  return soft::destroy<soft::PortalObject>(portal);
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
  return soft::destroy<soft::PortalMapObject>(map);
}

int cxil_invalidate_pte_le(Portal* portal, unsigned buffer_id, unsigned list) {
  if (portal == nullptr) return -EINVAL;
  auto& object = behind<soft::PortalObject>(portal);
  const Gate::Held held(object.gate());
  return soft::result_of(object.nic.invalidate(object.key, buffer_id, list));
}

// Tells the device addresses of messages that wait on the unexpected list, as many as there is room
// for; the count is that of all of them.
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
  unsigned waiting = 0;
  if (status->unexpected_offsets != nullptr) {
    const auto told = [&](std::uint64_t start) {
      if (waiting < status->unexpected_count) status->unexpected_offsets[waiting] = start;
      ++waiting;
    };
    object.nic.portals().for_each_header(object.key, told);
  }
  status->unexpected_count = soft::narrow(waiting);
  return 0;
}

int cxil_pte_transition_sm(Portal* portal, unsigned drop_count) {
  if (portal == nullptr) return -EINVAL;
  auto& object = behind<soft::PortalObject>(portal);
  const Gate::Held held(object.gate());
  return soft::result_of(object.nic.to_software_managed(object.key, drop_count));
}

}  // namespace plnet::cassini::libcxi
