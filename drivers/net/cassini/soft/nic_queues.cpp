// SPDX-License-Identifier: BSD-3-Clause
// Queues that a NIC allocates.
#include <algorithm>
#include <bit>
#include <cerrno>

#include "drivers/net/cassini/soft/nic.hpp"

namespace plnet::cassini::soft {
namespace {

bool is_whole_pages(const std::byte* memory, std::size_t bytes) {
  return memory != nullptr && bytes != 0 && bytes % kPageBytes == 0 && bytes >> 32 == 0 &&
         reinterpret_cast<std::uintptr_t>(memory) % kPageBytes == 0;
}

}  // namespace

unsigned Nic::slots_for(unsigned wanted) {
  constexpr unsigned kSlotsPerPage = kPageBytes / kSlotBytes;
  return std::bit_ceil(std::max(wanted, kSlotsPerPage));
}

bool Nic::queue_fits(unsigned group, unsigned mapping, const std::byte* memory,
                     std::size_t bytes) const {
  if (mapping == kNoMapping) return is_whole_pages(memory, bytes);
  if (mapping >= mappings_.size() || !mappings_[mapping].used || mappings_[mapping].group != group)
    return false;
  const MappingEntry& home = mappings_[mapping];
  const auto address = reinterpret_cast<std::uintptr_t>(memory);
  const auto begin = reinterpret_cast<std::uintptr_t>(home.va);
  if (!is_whole_pages(memory, bytes)) return false;
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
  if (setup.on_event != nullptr) waited_for_.push_back(tables_.eqs[number].get());
  tables_.eq_group[number] = static_cast<std::uint16_t>(group);
  eq_home_[number] = {.mapping = mapping};
  if (mapping != kNoMapping) ++mappings_[mapping].event_queues;
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
  leave(home.mapping);
  if (home.resizing) leave(home.before);
  const unsigned group = tables_.eq_group[number];
  --group_of(group)->objects;
  give(group, Resource::kEventQueues);
  std::erase(waited_for_, tables_.eqs[number].get());
  tables_.eqs[number].reset();
  return {};
}

Made<void> Nic::resize_event_queue(unsigned number, unsigned mapping, std::byte* memory,
                                   std::size_t bytes) {
  EventQueue* const eq = tables_.eq(number);
  if (eq == nullptr || !queue_fits(tables_.eq_group[number], mapping, memory, bytes))
    return no(EINVAL);
  EqHome& home = eq_home_[number];
  // With translation before and after, or without.
  if (home.resizing || (home.mapping == kNoMapping) != (mapping == kNoMapping)) return no(EINVAL);
  if (!eq->resize(memory, bytes, tables_.now_ns)) return no(ENOSPC);  // not even for the EQ_SWITCH
  home = {.mapping = mapping, .before = home.mapping, .resizing = true};
  if (mapping != kNoMapping) ++mappings_[mapping].event_queues;
  return {};
}

Made<void> Nic::complete_resize(unsigned number) {
  EventQueue* const eq = tables_.eq(number);
  if (eq == nullptr || !eq->resize_complete()) return no(EINVAL);
  leave(eq_home_[number].before);
  eq_home_[number].resizing = false;
  return {};
}

Made<unsigned> Nic::adjust_reserved(unsigned number, int slots) {
  EventQueue* const eq = tables_.eq(number);
  if (eq == nullptr) return no(EINVAL);
  constexpr int kMax = kReservedFlowControlMax;
  const auto reserved = static_cast<int>(eq->slots_reserved());
  if (slots > kMax - reserved || slots < -reserved) return no(EINVAL);
  if (!eq->adjust_reserved(slots)) return no(ENOSPC);
  return eq->slots_reserved();
}

Made<unsigned> Nic::make_command_queue(unsigned group, const QueueRequest& request) {
  Group* const owner = group_of(group);
  if (request.slots > kQueueSlotsMax) return no(E2BIG);
  if (owner == nullptr || reinterpret_cast<std::uintptr_t>(request.memory) % kPageBytes != 0 ||
      request.update_policy > static_cast<unsigned>(UpdatePolicy::kLowFreq))
    return no(EINVAL);
  if (request.error_eq != 0 &&
      (tables_.eq(request.error_eq) == nullptr || tables_.eq_group[request.error_eq] != group))
    return no(EINVAL);
  if (request.transmit &&
      (request.lcid >= owner->profiles.size() || !owner->profiles[request.lcid].allocated ||
       (request.triggered && request.lcid != 0)))
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
  auto queue = std::make_unique<CommandQueue>(
      CommandQueue::Setup{.index = index,
                          .slots = slots_for(request.slots),
                          .transmit = request.transmit,
                          .triggered = request.triggered,
                          .policy = static_cast<UpdatePolicy>(request.update_policy),
                          .group = group,
                          .lcid = request.lcid,
                          .error_eq = request.error_eq,
                          .memory = request.memory,
                          .generation = ++generation_},
      tables_.stats);
  if (request.transmit) {
    ProfileEntry& profile = owner->profiles[request.lcid];
    ++profile.queues;
    queue->vni = profile.vni;
    queue->traffic_class = profile.traffic_class;
    queue->is_hrp = profile.type == kTrafficTypeHrp;
    queue->profile_known = true;
  }
  if (request.triggered) initiator_.make_room_for_triggered();
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
  initiator_.forget(*queue);
  std::erase(active_, queue);
  queues_[index].reset();
  return {};
}

}  // namespace plnet::cassini::soft
