// SPDX-License-Identifier: BSD-3-Clause
// The queues and the portal of an endpoint: created in order, destroyed in reverse.
#include <algorithm>
#include <bit>

#include "drivers/net/cassini/endpoint.hpp"
#include "lib/base/check.hpp"

namespace plnet::cassini {

namespace {
constexpr unsigned kSlotsMin = 256;
constexpr unsigned kSlotsMax = 65536;
constexpr std::uint64_t kEventBytesMax = 1ULL << 32U;  // less than this, in whole pages

// Each event that a peer or a command of ours can cause without any being read needs a line of its
// own, since events may come one by one and the NIC pads the rest of a line:
// - a message, as many as fit into the posted buffers,
// - the operation of a peer on a tagged buffer, or its failed link, and its UNLINK,
// - the same two of a multi-receive buffer,
// - events of the portal and of the queue itself. The NIC reserves two lines, and we one that is
//   partly read.
std::uint64_t receive_event_bytes(const EndpointConfig& config) {
  if (config.receive_event_bytes != 0)
    return std::max<std::uint64_t>(config.receive_event_bytes, 4096);
  constexpr std::uint64_t kOfItself = 16;
  constexpr std::uint64_t kKept = 3;
  const std::uint64_t messages = config.receive_bytes_max / config.message_bytes_min;
  const std::uint64_t buffers = std::uint64_t{config.limits.operations_max} + config.buffers_max;
  return (messages + 2 * buffers + kOfItself + kKept) * kEventLine;
}

// Room for this many 64-byte commands, the status block and the slot that stays unused.
unsigned slots_for(unsigned commands) {
  return std::clamp(std::bit_ceil(commands + 8), kSlotsMin, kSlotsMax);
}
}  // namespace

bool Endpoint::is_possible(const EndpointConfig& config, const DeviceInfo& device) {
  const kfilnd::EndpointLimits& limits = config.limits;
  return limits.operations_max != 0 && limits.operations_max <= kBufferIdMax / 2 &&
         config.buffers_max != 0 && config.buffers_max <= kBufferIdMax / 2 &&
         limits.message_bytes_max != 0 && limits.receive_contexts <= kContextsMax &&
         limits.receive_context < limits.receive_contexts &&
         limits.message_bytes_max >> device.min_free_shift <= kMinFreeMax &&
         config.message_bytes_min != 0 && page_bytes(receive_event_bytes(config)) < kEventBytesMax;
}

Endpoint::Layout Endpoint::layout_of(const EndpointConfig& config) {
  const std::size_t operations = config.limits.operations_max;
  return {.receive_events = page_bytes(receive_event_bytes(config)),
          // One event ends each operation. A single event takes a whole line, as the NIC does not
          // wait for others; twice that, so that a slow turn loses none.
          .transmit_events = page_bytes(operations * 128 + 4096),
          .spare = page_bytes(1),
          .messages = page_bytes(operations * config.limits.message_bytes_max),
          .bulk = page_bytes(std::size_t{config.bulk_blocks} * config.bulk_bytes_max)};
}

Outcome<void> Endpoint::build_receive() {
  PLNET_CHECK(!receiving_, "receive objects are made anew after the former ones are gone");
  if (!tear_down_receive())
    return failure(Errc::kAgain, "the NIC has not released its objects of an earlier incarnation");
  auto done = make_receive_queues();
  if (done) done = make_portal();
  if (!done) {
    (void)tear_down_receive();  // the rest is taken down before the next try
    return done;
  }
  rx_.attach(CommandQueue(target_), EventQueue(receive_events_),
             PortalTable(portal_, device_.backend(), context_.stats));
  receiving_ = true;
  return {};
}

Outcome<void> Endpoint::build_transmit() {
  PLNET_CHECK(!transmitting_, "transmit objects are made anew after the former ones are gone");
  if (!tear_down_transmit())
    return failure(Errc::kAgain, "the NIC has not released its objects of an earlier incarnation");
  if (auto done = make_transmit_queues(); !done) {
    (void)tear_down_transmit();
    return done;
  }
  tx_.attach(CommandQueue(transmit_), EventQueue(transmit_events_));
  transmitting_ = true;
  return {};
}

Outcome<void> Endpoint::make_receive_queues() {
  Backend& backend = device_.backend();
  const std::span<std::byte> memory = memory_.bytes().first(layout_.receive_events);
  // Events of an earlier incarnation must not be read again.
  std::ranges::fill(memory, std::byte{0});
  const auto events = backend.alloc_event_queue(device_.lni(), mapping_,
                                                {.queue = memory.data(), .bytes = memory.size()});
  if (!events) return backend_failure("alloc_evtq (receive)", events.error());
  receive_events_ = *events;
  made_receive_ = 1;
  const auto commands = backend.alloc_command_queue(
      device_.lni(), receive_events_.handle,
      {.slots = slots_for(config_.limits.operations_max + config_.buffers_max)});
  if (!commands) return backend_failure("alloc_cmdq (target)", commands.error());
  target_ = *commands;
  made_receive_ = 2;
  return {};
}

Outcome<void> Endpoint::make_transmit_queues() {
  Backend& backend = device_.backend();
  const std::span<std::byte> memory =
      memory_.bytes().subspan(layout_.receive_events, layout_.transmit_events);
  std::ranges::fill(memory, std::byte{0});
  const auto events = backend.alloc_event_queue(device_.lni(), mapping_,
                                                {.queue = memory.data(), .bytes = memory.size()});
  if (!events) return backend_failure("alloc_evtq (transmit)", events.error());
  transmit_events_ = *events;
  made_transmit_ = 1;
  const auto commands =
      backend.alloc_command_queue(device_.lni(), transmit_events_.handle,
                                  {.slots = slots_for(config_.limits.operations_max),
                                   .transmit = true,
                                   .lcid = device_.lcid()});
  if (!commands) return backend_failure("alloc_cmdq (transmit)", commands.error());
  transmit_ = *commands;
  made_transmit_ = 2;
  return {};
}

Outcome<void> Endpoint::make_portal() {
  Backend& backend = device_.backend();
  const auto portal =
      backend.alloc_portal(device_.lni(), receive_events_.handle,
                           {.matching = true, .flow_control = config_.portal_flow_control});
  if (!portal) return backend_failure("alloc_pte", portal.error());
  portal_ = *portal;
  made_receive_ = 3;
  const unsigned context = config_.limits.receive_context;
  for (unsigned i = 0; i < 2; ++i) {
    const unsigned index = i == 0 ? put_index(context) : get_index(context);
    const auto map = backend.map_portal(portal_.handle, device_.domain(), index);
    if (!map) return backend_failure("map_pte", map.error());
    portal_maps_[i] = *map;
    ++made_receive_;
  }
  return {};
}

bool Endpoint::tear_down_receive() {
  Backend& backend = device_.backend();
  while (made_receive_ > 0) {
    const auto done = [&]() -> Allocated<void> {
      switch (made_receive_) {
        case 5: return backend.unmap_portal(portal_maps_[1]);
        case 4: return backend.unmap_portal(portal_maps_[0]);
        case 3: return backend.destroy_portal(portal_.handle);
        case 2: return backend.destroy_command_queue(target_.handle);
        default: return backend.destroy_event_queue(receive_events_.handle);
      }
    }();
    if (!done) {
      context_.stats.add(CassiniCounters::Id::kBackendFailures);
      return false;
    }
    --made_receive_;
  }
  return true;
}

bool Endpoint::tear_down_transmit() {
  Backend& backend = device_.backend();
  while (made_transmit_ > 0) {
    const auto done = made_transmit_ == 2 ? backend.destroy_command_queue(transmit_.handle)
                                          : backend.destroy_event_queue(transmit_events_.handle);
    if (!done) {
      context_.stats.add(CassiniCounters::Id::kBackendFailures);
      return false;
    }
    --made_transmit_;
  }
  return true;
}

}  // namespace plnet::cassini
