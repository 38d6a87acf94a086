// SPDX-License-Identifier: BSD-3-Clause
// What libcxi has beyond what the driver asks for.
#include <cerrno>

#include "drivers/net/cassini/soft/backend_soft.hpp"

namespace plnet::cassini::soft {
namespace {

Allocated<void> told(const Made<void>& done) {
  if (!done) return std::unexpected(Errno{done.error()});
  return {};
}

}  // namespace

std::vector<Statistic> SoftBackend::statistics(DeviceHandle device) {
  const Gate::Held held(gate_);
  const Named named = find(Kind::kDevice, device.value);
  std::vector<Statistic> all;
  if (named.nic == nullptr) return all;
  const auto append = [&](const std::string& group, const CounterView& counters) {
    for (std::size_t i = 0; i < counters.info.size(); ++i)
      all.push_back({group + "." + std::string(counters.info[i].name),
                     counters.values[i].load(std::memory_order_relaxed)});
  };
  append("nic", named.nic->counters());
  for (const StatisticsGroup& group : groups_) {
    if (group.device == named.device) append(group.name, group.counters);
  }
  return all;
}

Allocated<EventQueueMemory> SoftBackend::make_event_queue(LniHandle lni, MappingHandle mapping,
                                                          const EventQueueSetup& setup) {
  const Gate::Held held(gate_);
  const Named named = find(Kind::kLni, lni.value);
  const Named home = find(Kind::kMapping, mapping.value);
  if (named.nic == nullptr || home.nic != named.nic) return std::unexpected(Errno{EINVAL});
  const Made<unsigned> number = named.nic->make_event_queue(
      static_cast<unsigned>(named.number), static_cast<unsigned>(home.number), setup);
  if (!number) return std::unexpected(Errno{number.error()});
  return EventQueueMemory{{add(Kind::kEventQueue, named.device, *number)},
                          *number,
                          setup.memory,
                          setup.bytes,
                          named.nic->event_queue(*number)->software_state()};
}

Allocated<void> SoftBackend::resize_event_queue(EventQueueHandle queue, MappingHandle mapping,
                                                std::byte* memory, std::size_t bytes) {
  const Gate::Held held(gate_);
  const Named named = find(Kind::kEventQueue, queue.value);
  const Named home = find(Kind::kMapping, mapping.value);
  if (named.nic == nullptr || home.nic != named.nic) return std::unexpected(Errno{EINVAL});
  return told(named.nic->resize_event_queue(static_cast<unsigned>(named.number),
                                            static_cast<unsigned>(home.number), memory, bytes));
}

Allocated<void> SoftBackend::complete_resize(EventQueueHandle queue) {
  const Gate::Held held(gate_);
  const Named named = find(Kind::kEventQueue, queue.value);
  if (named.nic == nullptr) return std::unexpected(Errno{EINVAL});
  return told(named.nic->complete_resize(static_cast<unsigned>(named.number)));
}

Allocated<void> SoftBackend::remap(MappingHandle mapping, void* va, std::size_t length) {
  const Gate::Held held(gate_);
  const Named named = find(Kind::kMapping, mapping.value);
  if (named.nic == nullptr) return std::unexpected(Errno{EINVAL});
  return told(named.nic->remap(static_cast<unsigned>(named.number), va, length));
}

const Nic* SoftBackend::nic_of(DeviceHandle device) const {
  return find(Kind::kDevice, device.value).nic;
}

}  // namespace plnet::cassini::soft
