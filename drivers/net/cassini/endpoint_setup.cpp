// SPDX-License-Identifier: BSD-3-Clause
// The queues and the portal of an endpoint: made in order, given back in reverse.
#include <algorithm>
#include <bit>
#include <cstring>

#include "drivers/net/cassini/endpoint.hpp"

namespace plnet::cassini {

namespace {
constexpr unsigned kSlotsMin = 256;
constexpr unsigned kSlotsMax = 65536;

// Room for as many 64-byte commands, the status block and the slot that stays unused.
unsigned slots_for(unsigned commands) {
  return std::clamp(std::bit_ceil(commands + 8), kSlotsMin, kSlotsMax);
}
}  // namespace

Outcome<void> Endpoint::build() {
  if (!tear_down()) return failure(Errc::kAgain, "the NIC does not give back what it had");
  auto done = build_queues();
  if (done) done = build_portal();
  if (!done) {
    (void)tear_down();  // what stays is taken down before the next try
    return done;
  }
  const PortalTable portal(portal_, device_.backend(), context_.stats);
  tx_.attach(CommandQueue(transmit_), EventQueue(transmit_events_));
  rx_.attach(CommandQueue(target_), EventQueue(receive_events_), portal);
  running_ = true;
  return {};
}

Outcome<void> Endpoint::build_queues() {
  Backend& backend = device_.backend();
  const std::span<std::byte> events =
      memory_.bytes().first(layout_.receive_events + layout_.transmit_events);
  // An event of an earlier life must not be read again.
  std::memset(events.data(), 0, events.size());
  const auto receive = backend.alloc_event_queue(
      device_.lni(), mapping_, {.queue = events.data(), .bytes = layout_.receive_events});
  if (!receive) return backend_failure("alloc_evtq (receive)", receive.error());
  receive_events_ = *receive;
  made_ = 1;
  const auto transmit = backend.alloc_event_queue(
      device_.lni(), mapping_,
      {.queue = events.data() + layout_.receive_events, .bytes = layout_.transmit_events});
  if (!transmit) return backend_failure("alloc_evtq (transmit)", transmit.error());
  transmit_events_ = *transmit;
  made_ = 2;
  const auto commands =
      backend.alloc_command_queue(device_.lni(), transmit_events_.handle,
                                  {.slots = slots_for(config_.limits.operations_max),
                                   .transmit = true,
                                   .lcid = device_.lcid()});
  if (!commands) return backend_failure("alloc_cmdq (transmit)", commands.error());
  transmit_ = *commands;
  made_ = 3;
  const auto targets = backend.alloc_command_queue(
      device_.lni(), receive_events_.handle,
      {.slots = slots_for(config_.limits.operations_max + config_.buffers_max)});
  if (!targets) return backend_failure("alloc_cmdq (target)", targets.error());
  target_ = *targets;
  made_ = 4;
  return {};
}

Outcome<void> Endpoint::build_portal() {
  Backend& backend = device_.backend();
  const auto portal =
      backend.alloc_portal(device_.lni(), receive_events_.handle,
                           {.matching = true, .flow_control = config_.portal_flow_control});
  if (!portal) return backend_failure("alloc_pte", portal.error());
  portal_ = *portal;
  made_ = 5;
  const unsigned context = config_.limits.receive_context;
  for (unsigned i = 0; i < 2; ++i) {
    const unsigned index = i == 0 ? put_index(context) : get_index(context);
    const auto map = backend.map_portal(portal_.handle, device_.domain(), index);
    if (!map) return backend_failure("map_pte", map.error());
    portal_maps_[i] = *map;
    ++made_;
  }
  return {};
}

bool Endpoint::tear_down() {
  Backend& backend = device_.backend();
  while (made_ > 0) {
    const auto done = [&]() -> Allocated<void> {
      switch (made_) {
        case 7: return backend.unmap_portal(portal_maps_[1]);
        case 6: return backend.unmap_portal(portal_maps_[0]);
        case 5: return backend.destroy_portal(portal_.handle);
        case 4: return backend.destroy_command_queue(target_.handle);
        case 3: return backend.destroy_command_queue(transmit_.handle);
        case 2: return backend.destroy_event_queue(transmit_events_.handle);
        default: return backend.destroy_event_queue(receive_events_.handle);
      }
    }();
    if (!done) {
      context_.stats.add(CassiniCounters::Id::kBackendFailures);
      return false;
    }
    --made_;
  }
  return true;
}

}  // namespace plnet::cassini
