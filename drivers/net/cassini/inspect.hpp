// SPDX-License-Identifier: BSD-3-Clause
// What an endpoint and its NIC look like just now, for `lnetctl cassini show` and for people who
// search a fault. Plain values; nothing is changed by looking. Cold: it allocates, and asks the
// backend. By the shard that owns the endpoint.
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
  // In slots of 64 bytes: what can be written at all, what the NIC has not run yet, what is left.
  unsigned depth = 0, used = 0, space = 0;
  std::uint64_t rings = 0;              // of the doorbell
  unsigned low_latency_rejected = 0;    // by the NIC
  std::optional<ReturnCode> failed_by;  // nothing runs any more
};

struct EventQueueView {
  unsigned number = 0;
  unsigned depth = 0;        // slots of 64 bytes, the status slot not counted
  std::uint64_t bytes = 0;   // of its memory
  std::uint64_t offset = 0;  // where the reader stands
  // As the NIC wrote them last: at a threshold, or when it had to drop. It need not have.
  std::optional<unsigned> used, reserved;
  bool dropped = false;  // an event is lost
  bool broken = false;   // what stands there cannot be an event
};

struct ListEntryView {
  unsigned buffer_id = 0;
  bool tagged = false;
  ListEntry::State state = ListEntry::State::kFree;
  std::uint32_t tag = 0;       // of tagged ones
  std::uint32_t match_id = 0;  // who may use it
  std::uint32_t length = 0;
  std::uint64_t told = 0;  // bytes that messages have filled
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
  bool running = false;  // else the queues are being made anew
  bool link_up = false;
  std::optional<QueuesView> queues;  // of one that is running
  unsigned operations = 0;           // under way
  unsigned not_ready = 0;            // of them: wait to be posted again, for want of a buffer there
  std::vector<ListEntryView> entries;
  CounterView counters;  // good as long as the endpoint
};

[[nodiscard]] EndpointView inspect(const Endpoint& endpoint);

struct NicView {
  DeviceInfo info;
  std::vector<Statistic> statistics;  // the NIC's own, with those of its retry handler
};
[[nodiscard]] Allocated<NicView> inspect(Backend& backend, DeviceHandle device);

[[nodiscard]] std::string_view name_of(ListEntry::State state);

}  // namespace plnet::cassini
