// SPDX-License-Identifier: BSD-3-Clause
// The effects of the receive queue's events on their entries.
#include <algorithm>

#include "drivers/net/cassini/rx.hpp"
#include "drivers/net/cassini/trace.hpp"

namespace plnet::cassini {

using Id = CassiniCounters::Id;
using kfilnd::FabricCompletion;
using kfilnd::FabricEvent;
using State = ListEntry::State;

void Receiver::on_link(unsigned id, ListEntry& entry, ReturnCode code) {
  if (code == ReturnCode::kOk || entry.state != State::kLinked) return;
  context_.stats.add(Id::kNoEntry);
  entry.state = State::kWaiting;
  const unsigned doublings = std::min<unsigned>(entry.backoff++, kPauseDoublings);
  if (!entry.unlink_sent) add_work(id, entry, context_.now + kPauseMin * (1U << doublings));
}

void Receiver::on_unlink(unsigned id, ListEntry& entry, const TargetLongEvent& event,
                         ReturnCode code) {
  if (event.auto_unlinked != 0 || !entry.unlink_sent) {
    context_.stats.add(Id::kStrangeEvents);  // disabled in every entry
    return;
  }
  entry.unlink_sent = false;
  if (entry.state == State::kDone) {
    release(id, entry);
  } else if (entry.state == State::kWaiting) {
    taken_back(id, entry);  // the NIC had never linked it
  } else if (code == ReturnCode::kOk) {
    if (entry.tagged) {  // used once, and not yet: no peer has begun
      taken_back(id, entry);
      return;
    }
    // Part of a message may still be arriving; not after this call. Cold, and rare.
    const auto cut = backend_.invalidate_entry(portal_.handle(), id,
                                               static_cast<unsigned>(PortalList::kPriority));
    if (!cut) {
      // The memory may still be written: rebuild the queues so that the NIC forgets all of it.
      context_.stats.add(Id::kBackendFailures);
      context_.receive_failed = true;
      return;
    }
    taken_back(id, entry);
  } else {
    context_.stats.add(Id::kLateCancels);  // a peer was first: its event will come
  }
}

void Receiver::on_message(unsigned id, ListEntry& entry, const Arrival& arrival) {
  const std::uint64_t offset = arrival.start - entry.iova;
  const bool in_range = arrival.has_start && arrival.start >= entry.iova &&
                        offset <= entry.length && arrival.length <= entry.length - offset;
  entry.told += arrival.length;
  if (arrival.auto_unlinked) {
    entry.auto_unlinked = true;
    // The operation took this room in any case; earlier ones may still be under way.
    entry.total = in_range ? offset + arrival.length : entry.told;
  }
  const bool sane = in_range && arrival.type == EventType::kPut;
  const bool whole = arrival.code == ReturnCode::kOk && arrival.length == arrival.wanted;
  // `told` beyond `total`: the NIC contradicts itself, and waiting for equality would never end.
  const bool last = entry.auto_unlinked && entry.told >= entry.total;
  if (sane && whole) {
    context_.stats.add(Id::kMessages);
    const FabricCompletion completion{.event = FabricEvent::kMessage,
                                      .cookie = entry.cookie,
                                      .length = arrival.length,
                                      .offset = static_cast<std::uint32_t>(offset),
                                      .buffer_unlinked = last};
    if (last) {
      end(id, entry, completion);
    } else {
      context_.completions.push(completion);
    }
    return;
  }
  context_.stats.add(sane ? Id::kMessagesLost : Id::kStrangeEvents);
  if (last) end(id, entry, {.event = FabricEvent::kBufferUnlinked, .cookie = entry.cookie});
}

void Receiver::on_tagged(unsigned id, ListEntry& entry, const Arrival& arrival) {
  const bool rma = (arrival.match_bits & match_bits::kTaggedRma) != 0;
  const bool data = (arrival.match_bits & match_bits::kRemoteData) != 0;
  FabricCompletion completion{.cookie = entry.cookie, .length = arrival.length};
  if (arrival.type == EventType::kPut && data && !rma) {
    completion.event = FabricEvent::kTaggedMessage;
    completion.length = 0;
    completion.data = arrival.header_data;
  } else {
    completion.event =
        arrival.type == EventType::kGet ? FabricEvent::kTaggedRead : FabricEvent::kTaggedWritten;
    // An operation in the wrong direction, or longer than the buffer.
    if (!rma || entry.peer_reads != (arrival.type == EventType::kGet))
      completion.status = std::unexpected(Errc::kProtocol);
    if (arrival.length < arrival.wanted || arrival.length > entry.payload.length)
      completion.status = std::unexpected(Errc::kTooBig);
  }
  if (arrival.code != ReturnCode::kOk) completion.status = std::unexpected(Errc::kIo);
  if (!completion.status) {
    context_.stats.add(Id::kTargetErrors);
    completion.event = FabricEvent::kTaggedFailed;
    completion.length = 0;
  } else {
    context_.stats.add(Id::kTaggedTaken);
    if (completion.event == FabricEvent::kTaggedWritten && entry.block != BlockPool::kNone) {
      scatter(context_.arenas, blocks_.bulk.bytes(entry.block).first(completion.length),
              entry.payload);
    }
  }
  end(id, entry, completion);
}

void Receiver::on_arrival(unsigned id, ListEntry& entry, const Arrival& arrival) {
  // Ids are reused soon, so an id alone does not identify the entry of an event.
  if (entry.state != State::kLinked || !entry.matches(arrival.match_bits)) {
    context_.stats.add(Id::kStaleEvents);
  } else if (entry.tagged) {
    on_tagged(id, entry, arrival);
  } else {
    on_message(id, entry, arrival);
  }
}

void Receiver::on_event(const Event& event) {
  if (context_.tracer != nullptr) context_.tracer->event(events_.number(), event);
  if (event.type == EventType::kCommandFailure) {
    context_.stats.add(Id::kCommandFailures);
    context_.receive_failed = true;
    return;
  }
  if (event.type == EventType::kStateChange) {
    const auto change = event.as<StateChangeEvent>();
    if (change) portal_.on_state_change(*change, context_.now);
    return;
  }
  Arrival arrival{.type = event.type, .code = event.code};
  const auto full = event.as<TargetLongEvent>();
  unsigned id = 0;
  if (full) {
    id = full->buffer_id;
    arrival.match_bits = full->match_bits;
    arrival.header_data = full->header_data;
    arrival.start = full->start;
    arrival.length = full->mlength;
    arrival.wanted = full->rlength;
    arrival.auto_unlinked = full->auto_unlinked != 0;
    arrival.has_start = true;
  } else if (const auto brief = event.as<TargetEvent>()) {
    id = brief->buffer_id;
    arrival.match_bits = brief->match_bits;
    arrival.header_data = brief->header_data;
    arrival.length = arrival.wanted = brief->length;
    arrival.auto_unlinked = brief->auto_unlinked != 0;
  }
  ListEntry* const entry = entries_.find(id);
  if (entry == nullptr) {
    context_.stats.add(Id::kStaleEvents);
    return;
  }
  switch (event.type) {
    case EventType::kPut:
    case EventType::kGet: on_arrival(id, *entry, arrival); return;
    case EventType::kLink: on_link(id, *entry, event.code); return;
    case EventType::kUnlink:
      if (full) on_unlink(id, *entry, *full, event.code);
      return;
    default: context_.stats.add(Id::kStrangeEvents);
  }
}

}  // namespace plnet::cassini
