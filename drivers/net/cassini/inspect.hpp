// SPDX-License-Identifier: BSD-3-Clause
// The present state of an endpoint and its NIC, for `lnetctl cassini show` and for troubleshooting.
// Plain values; reading changes nothing. Cold: allocates, and calls the backend. For the shard that
// owns the endpoint.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "drivers/net/cassini/address.hpp"
#include "drivers/net/cassini/backend.hpp"
#include "drivers/net/cassini/codes.hpp"
#include "drivers/net/cassini/list_entry.hpp"
#include "lib/base/counters.hpp"

namespace plnet::cassini {

class CommandQueue;
class Endpoint;
class EventQueue;

struct CommandQueueView {
  unsigned hardware_index = 0;
  // In slots of 64 bytes: capacity, commands that the NIC has not run yet, free.
  unsigned depth = 0, used = 0, space = 0;
  std::uint64_t rings = 0;              // of the doorbell
  unsigned low_latency_rejected = 0;    // by the NIC
  std::optional<ReturnCode> failed_by;  // the queue has stopped
};

struct EventQueueView {
  unsigned number = 0;
  unsigned depth = 0;        // slots of 64 bytes, without the status slot
  std::uint64_t bytes = 0;   // of its memory
  std::uint64_t offset = 0;  // position of the reader
  // As last written by the NIC: at a threshold, or when it dropped an event. May be missing.
  std::optional<unsigned> used, reserved;
  bool dropped = false;  // an event is lost
  bool broken = false;   // an invalid event stands in the queue
};

struct ListEntryView {
  unsigned buffer_id = 0;
  bool tagged = false;
  ListEntry::State state = ListEntry::State::kFree;
  std::uint32_t tag = 0;       // of tagged ones
  std::uint32_t match_id = 0;  // the peer that may use it
  std::uint32_t length = 0;
  std::uint64_t told = 0;  // bytes of reported messages
  bool cancelling = false;
};

struct QueuesView {
  CommandQueueView transmit, target;
  EventQueueView transmit_events, receive_events;
  unsigned portal = 0;
  PortalState portal_state = PortalState::kReset;
};

struct EndpointView {
  Process own;
  bool running = false;  // else the queues are being rebuilt
  bool link_up = false;
  std::optional<QueuesView> queues;  // of a running direction
  unsigned operations = 0;           // under way
  unsigned not_ready = 0;            // of these, waiting to be posted again because the peer had no
                                     // buffer
  std::vector<ListEntryView> entries;
  CounterView counters;  // valid as long as the endpoint
};

[[nodiscard]] EndpointView inspect(const Endpoint& endpoint);

struct NicView {
  DeviceInfo info;
  std::vector<Statistic> statistics;  // the NIC's own, with those of its retry handler
};
[[nodiscard]] Allocated<NicView> inspect(Backend& backend, DeviceHandle device);

[[nodiscard]] std::string_view name_of(ListEntry::State state);

}  // namespace plnet::cassini
