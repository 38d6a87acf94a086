// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/net/cassini/inspect.hpp"

#include <algorithm>
#include <utility>

#include "drivers/net/cassini/endpoint.hpp"

namespace plnet::cassini {
namespace {

CommandQueueView view_of(const CommandQueue& queue) {
  const CommandQueueStatus status = queue.status();
  constexpr unsigned kFirstSlot = kFirstUnit / 2;
  const unsigned ring = queue.slots() - kFirstSlot;
  CommandQueueView view{.hardware_index = queue.hardware_index(),
                        .depth = ring - 1,  // one slot stays unused
                        .rings = queue.rings(),
                        .low_latency_rejected = status.num_write_cmds_rejected};
  // An invalid read pointer: the other figures are unknown.
  if (status.rd_ptr >= kFirstSlot && status.rd_ptr < queue.slots()) {
    const unsigned written = (queue.write_unit() + 1) / 2;
    view.used = (written + ring - status.rd_ptr) % ring;
    view.space = view.depth - view.used;
  }
  if (queue.failed()) view.failed_by = static_cast<ReturnCode>(status.return_code);
  return view;
}

EventQueueView view_of(const EventQueue& queue) {
  EventQueueView view{.number = queue.number(),
                      .depth = static_cast<unsigned>(queue.bytes() / kEventLine) - 1,
                      .bytes = queue.bytes(),
                      .offset = queue.offset(),
                      .dropped = queue.dropped(),
                      .broken = queue.broken()};
  const auto status = queue.status();
  // All zero: the NIC has never written it.
  if (status && status->wr_ptr != 0) {
    const unsigned free = std::min<unsigned>(status->event_slots_free, view.depth);
    view.used = view.depth - free;
    view.reserved = status->event_slots_rsrvd;
  }
  return view;
}

}  // namespace

EndpointView inspect(const Endpoint& endpoint) {
  const Receiver& rx = endpoint.receiver();
  const Transmitter& tx = endpoint.transmitter();
  EndpointView view{.own = endpoint.own(),
                    .running = endpoint.running(),
                    .link_up = endpoint.link_up(),
                    .queues = std::nullopt,
                    .operations = tx.in_flight(),
                    .not_ready = tx.not_ready(),
                    .entries = {},
                    .counters = endpoint.counters()};
  if (endpoint.running()) {
    view.queues = QueuesView{.transmit = view_of(tx.commands()),
                             .target = view_of(rx.commands()),
                             .transmit_events = view_of(tx.events()),
                             .receive_events = view_of(rx.events()),
                             .portal = rx.portal().number(),
                             .portal_state = rx.portal().state()};
  }
  view.entries.reserve(rx.in_use());
  rx.entries().each([&](unsigned id, const ListEntry& entry) {
    view.entries.push_back({.buffer_id = id,
                            .tagged = entry.tagged,
                            .state = entry.state,
                            .tag = entry.tag,
                            .match_id = entry.match_id,
                            .length = entry.length,
                            .told = entry.told,
                            .cancelling = entry.cancelling});
  });
  return view;
}

Allocated<NicView> inspect(Backend& backend, DeviceHandle device) {
  auto info = backend.device_info(device);
  if (!info) return std::unexpected(info.error());
  return NicView{.info = std::move(*info), .statistics = backend.statistics(device)};
}

std::string_view name_of(ListEntry::State state) {
  switch (state) {
    case ListEntry::State::kFree: return "free";
    case ListEntry::State::kWaiting: return "waiting";
    case ListEntry::State::kLinked: return "linked";
    case ListEntry::State::kDone: return "done";
  }
  return "?";
}

}  // namespace plnet::cassini
