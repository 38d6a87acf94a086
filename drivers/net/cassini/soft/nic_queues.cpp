// SPDX-License-Identifier: BSD-3-Clause
// Allocation of a NIC's queues and counters.
#include <algorithm>
#include <cerrno>

#include "drivers/net/cassini/soft/nic.hpp"

namespace plnet::cassini::soft {

bool Nic::queue_fits(unsigned group, unsigned mapping, const std::byte* memory,
                     std::size_t bytes) const {
  if (mapping >= mappings_.size() || !mappings_[mapping].used || mappings_[mapping].group != group)
    return false;
  const MappingEntry& home = mappings_[mapping];
  const auto address = reinterpret_cast<std::uintptr_t>(memory);
  const auto begin = reinterpret_cast<std::uintptr_t>(home.va);
  if (bytes == 0 || bytes % kPageBytes != 0 || bytes >> 32 != 0 || address % kPageBytes != 0)
    return false;
  return address >= begin && bytes <= home.length && address - begin <= home.length - bytes;
}

Made<unsigned> Nic::make_event_queue(unsigned group, unsigned mapping,
                                     const EventQueueSetup& setup) {
  Group* const owner = group_of(group);
  if (owner == nullptr || !queue_fits(group, mapping, setup.memory, setup.bytes) ||
      setup.reserved > kReservedFlowControlMax)
    return no(EINVAL);
  const auto end = static_cast<unsigned>(tables_.eqs.size());
  unsigned number = 1;
  while (number < end && tables_.eqs[number] != nullptr)
    ++number;
  if (number >= end || !take(group, Resource::kEventQueues)) return no(ENOSPC);
  tables_.eqs[number] = std::make_unique<EventQueue>(setup, tables_.stats);
  tables_.eq_group[number] = static_cast<std::uint16_t>(group);
  eq_home_[number] = {.mapping = mapping};
  ++mappings_[mapping].event_queues;
  ++owner->objects;
  return number;
}

Made<void> Nic::drop_event_queue(unsigned number) {
  if (number == 0 || tables_.eq(number) == nullptr) return no(EINVAL);
  const bool portal = std::ranges::any_of(
      tables_.portals, [&](const PortalTable& one) { return one.allocated && one.eq == number; });
  const bool queue = std::ranges::any_of(
      active_, [&](const CommandQueue* one) { return one->setup.error_eq == number; });
  if (portal || queue) return no(EBUSY);
  const EqHome& home = eq_home_[number];
  --mappings_[home.mapping].event_queues;
  if (home.resizing) --mappings_[home.before].event_queues;
  const unsigned group = tables_.eq_group[number];
  --group_of(group)->objects;
  give(group, Resource::kEventQueues);
  tables_.eqs[number].reset();
  return {};
}

Made<void> Nic::resize_event_queue(unsigned number, unsigned mapping, std::byte* memory,
                                   std::size_t bytes) {
  EventQueue* const eq = tables_.eq(number);
  if (eq == nullptr || !queue_fits(tables_.eq_group[number], mapping, memory, bytes))
    return no(EINVAL);
  EqHome& home = eq_home_[number];
  if (home.resizing) return no(EBUSY);
  // no room even for the EQ_SWITCH
  if (!eq->resize(memory, bytes, tables_.now_ns)) return no(ENOSPC);
  home = {.mapping = mapping, .before = home.mapping, .resizing = true};
  ++mappings_[mapping].event_queues;
  return {};
}

Made<void> Nic::complete_resize(unsigned number) {
  EventQueue* const eq = tables_.eq(number);
  if (eq == nullptr || !eq->resize_complete()) return no(EINVAL);
  --mappings_[eq_home_[number].before].event_queues;
  eq_home_[number].resizing = false;
  return {};
}

Made<unsigned> Nic::adjust_reserved(unsigned number, int slots) {
  EventQueue* const eq = tables_.eq(number);
  if (eq == nullptr) return no(EINVAL);
  if (slots > static_cast<int>(kReservedFlowControlMax) ||
      slots < -static_cast<int>(eq->slots_reserved()))
    return no(EINVAL);
  if (!eq->adjust_reserved(slots)) return no(ENOSPC);
  return eq->slots_reserved();
}

Made<unsigned> Nic::make_command_queue(unsigned group, const QueueRequest& request) {
  Group* const owner = group_of(group);
  if (owner == nullptr || request.slots == 0 || request.slots > kQueueSlotsMax ||
      request.update_policy > static_cast<unsigned>(UpdatePolicy::kLowFreq))
    return no(EINVAL);
  if (request.error_eq != 0 &&
      (tables_.eq(request.error_eq) == nullptr || tables_.eq_group[request.error_eq] != group))
    return no(EINVAL);
  if (request.transmit &&
      (request.lcid >= owner->profiles.size() || !owner->profiles[request.lcid].allocated))
    return no(EINVAL);
  const unsigned first = request.transmit ? 0 : kFirstTargetQueue;
  const unsigned end = request.transmit
                           ? std::min(tables_.limits.transmit_queues, kFirstTargetQueue)
                           : kFirstTargetQueue + tables_.limits.target_queues;
  unsigned index = first;
  while (index < end && queues_[index] != nullptr)
    ++index;
  const Resource kind = request.transmit ? Resource::kTransmitQueues : Resource::kTargetQueues;
  if (index >= end || !take(group, kind)) return no(ENOSPC);
  constexpr unsigned kSlotsPerPage = kPageBytes / kSlotBytes;
  const unsigned slots = (request.slots + kSlotsPerPage - 1) / kSlotsPerPage * kSlotsPerPage;
  auto queue = std::make_unique<CommandQueue>(
      CommandQueue::Setup{.index = index,
                          .slots = slots,
                          .transmit = request.transmit,
                          .triggered = request.triggered,
                          .policy = static_cast<UpdatePolicy>(request.update_policy),
                          .group = group,
                          .lcid = request.lcid,
                          .error_eq = request.error_eq,
                          .generation = ++generation_},
      tables_.stats);
  if (request.transmit) {
    ProfileEntry& profile = owner->profiles[request.lcid];
    ++profile.queues;
    queue->vni = profile.vni;
    queue->traffic_class = profile.traffic_class;
    queue->profile_known = true;
  }
  active_.push_back(queue.get());
  queues_[index] = std::move(queue);
  ++owner->objects;
  return index;
}

CommandQueue* Nic::command_queue(unsigned index) {
  return index < queues_.size() ? queues_[index].get() : nullptr;
}

Made<void> Nic::drop_command_queue(unsigned index) {
  CommandQueue* const queue = command_queue(index);
  if (queue == nullptr) return no(EINVAL);
  Group* const owner = group_of(queue->setup.group);
  if (queue->setup.transmit) --owner->profiles[queue->setup.lcid].queues;
  --owner->objects;
  give(queue->setup.group,
       queue->setup.transmit ? Resource::kTransmitQueues : Resource::kTargetQueues);
  std::erase(active_, queue);
  queues_[index].reset();
  return {};
}

Made<unsigned> Nic::make_counter(unsigned group, void* writeback) {
  Group* const owner = group_of(group);
  if (owner == nullptr || reinterpret_cast<std::uintptr_t>(writeback) % 8 != 0) return no(EINVAL);
  unsigned number = 1;
  while (number < tables_.counters.size() && tables_.counters[number].allocated)
    ++number;
  if (number >= tables_.counters.size() || !take(group, Resource::kCounters)) return no(ENOSPC);
  tables_.counters[number] = {.allocated = true,
                              .group = static_cast<std::uint16_t>(group),
                              .writeback = static_cast<std::byte*>(writeback)};
  ++owner->objects;
  return number;
}

Made<void> Nic::drop_counter(unsigned number) {
  if (number == 0 || number >= tables_.counters.size() || !tables_.counters[number].allocated)
    return no(EINVAL);
  --group_of(tables_.counters[number].group)->objects;
  give(tables_.counters[number].group, Resource::kCounters);
  tables_.counters[number] = {};
  return {};
}

Made<void> Nic::set_writeback(unsigned number, void* writeback) {
  if (number == 0 || number >= tables_.counters.size() || !tables_.counters[number].allocated ||
      reinterpret_cast<std::uintptr_t>(writeback) % 8 != 0)
    return no(EINVAL);
  tables_.counters[number].writeback = static_cast<std::byte*>(writeback);
  return {};
}

}  // namespace plnet::cassini::soft
