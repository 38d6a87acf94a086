// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/net/cassini/rx.hpp"

#include <algorithm>

#include "drivers/net/cassini/trace.hpp"

namespace plnet::cassini {

using Id = CassiniCounters::Id;
using kfilnd::FabricCompletion;
using kfilnd::FabricEvent;
using State = ListEntry::State;

Receiver::Receiver(Context& context, Blocks& blocks, Backend& backend, const RxLimits& limits)
    : context_(context),
      blocks_(blocks),
      backend_(backend),
      limits_(limits),
      entries_(std::min(limits.tagged_max + limits.buffers_max, kBufferIdMax)) {
  work_.reserve(entries_.capacity());
}

void Receiver::attach(const CommandQueue& commands, const EventQueue& events,
                      const PortalTable& portal) {
  commands_ = commands;
  events_ = events;
  portal_ = portal;
}

unsigned Receiver::min_free() const {
  // Rounded up: with less than the longest message left a buffer must go.
  const std::uint64_t unit = 1ULL << limits_.min_free_shift;
  return static_cast<unsigned>((limits_.message_bytes_max + unit - 1) >> limits_.min_free_shift);
}

bool Receiver::push(const TargetCommand& command) {
  if (!commands_.push(command)) return false;
  if (context_.tracer != nullptr)
    context_.tracer->command(commands_.hardware_index(), command.encode());
  return true;
}

void Receiver::add_work(unsigned id, ListEntry& entry, Instant due) {
  entry.due = due;
  next_due_ = std::min(next_due_, due);
  if (entry.queued) return;
  entry.queued = true;
  work_.push_back(static_cast<std::uint16_t>(id));
}

Result<void> Receiver::post_tagged(Process from, kfilnd::Tag tag, bool peer_reads,
                                   const lnet::Payload& buffer, std::uint64_t cookie) {
  if (context_.shut_down) return std::unexpected(Errc::kShutdown);
  if (entries_.by_tag(tag) != 0) return std::unexpected(Errc::kExists);
  const auto refuse = [&](Errc why) {
    context_.stats.add(Id::kRefused);
    return std::unexpected(why);
  };
  if (context_.failed || tagged_ >= limits_.tagged_max) return refuse(Errc::kAgain);
  std::uint32_t block = BlockPool::kNone;
  std::optional<DeviceAddress> at = context_.map.contiguous(buffer);
  // The device knows no empty entries: an empty buffer is one byte that nobody misses.
  if (buffer.empty()) at = blocks_.address(blocks_.messages.bytes(0));
  if (!at) {
    if (buffer.length > blocks_.bulk.block_bytes()) return std::unexpected(Errc::kTooBig);
    block = blocks_.bulk.take();
    if (block == BlockPool::kNone) return refuse(Errc::kAgain);
    at = blocks_.address(blocks_.bulk.bytes(block));
  }
  const unsigned id = entries_.take();
  if (id == 0) {
    if (block != BlockPool::kNone) blocks_.bulk.give(block);
    return refuse(Errc::kAgain);
  }
  if (block != BlockPool::kNone) {
    context_.stats.add(Id::kBounces);
    if (peer_reads) gather(context_.arenas, buffer, blocks_.bulk.bytes(block).data());
  }
  ListEntry& entry = *entries_.find(id);
  entry.tagged = true;
  entry.peer_reads = peer_reads;
  entry.lac = at->lac;
  entry.iova = at->iova;
  entry.length = std::max(buffer.length, 1U);
  entry.tag = tag;
  entry.match_id = match_id(from, context_.pid_bits);
  entry.block = block;
  entry.cookie = cookie;
  entry.payload = buffer;
  entries_.add_tag(id);
  ++tagged_;
  context_.stats.add(Id::kTaggedPosted);
  if (!work_on(id, entry)) add_work(id, entry, context_.now);
  return {};
}

Result<void> Receiver::post_multi_receive(const Fragment& buffer, std::uint64_t cookie) {
  if (context_.shut_down) return std::unexpected(Errc::kShutdown);
  if (buffer.length < limits_.message_bytes_max) return std::unexpected(Errc::kInvalid);
  const auto at = context_.map.find(buffer.at);
  // What a buffer takes in is told in place: there is nothing to bounce through.
  if (!at) return std::unexpected(Errc::kInvalid);
  const unsigned id = context_.failed || buffers_ >= limits_.buffers_max ? 0 : entries_.take();
  if (id == 0) {
    context_.stats.add(Id::kRefused);
    return std::unexpected(Errc::kAgain);
  }
  ListEntry& entry = *entries_.find(id);
  entry.lac = at->lac;
  entry.iova = at->iova;
  entry.length = buffer.length;
  entry.match_id = kMatchAny;
  entry.cookie = cookie;
  ++buffers_;
  if (!work_on(id, entry)) add_work(id, entry, context_.now);
  return {};
}

Result<void> Receiver::cancel_tagged(kfilnd::Tag tag) {
  const unsigned id = entries_.by_tag(tag);
  if (id == 0) return std::unexpected(Errc::kNotFound);
  ListEntry& entry = *entries_.find(id);
  if (entry.cancelling) return {};
  entry.cancelling = true;
  add_work(id, entry, context_.now);
  return {};
}

bool Receiver::work_on(unsigned id, ListEntry& entry) {
  if (entry.state == State::kWaiting) {
    if (entry.cancelling && !entry.unlink_sent) {
      taken_back(id, entry);
      return true;
    }
    if (entry.cancelling) return true;  // the answer to the UNLINK ends it
    if (!portal_.enabled()) return false;
    if (!push(entry.append(portal_.number(), id, min_free()))) return false;
    entry.state = State::kLinked;
    return true;
  }
  if (entry.state == State::kLinked && entry.cancelling && !entry.unlink_sent) {
    if (!push(ListEntry::unlink(portal_.number(), id))) return false;
    entry.unlink_sent = true;
  }
  return true;
}

void Receiver::work() {
  if (work_.empty() || context_.now < next_due_) return;
  next_due_ = Instant::max();
  unsigned done = 0;
  for (std::size_t i = 0; i < work_.size();) {
    const unsigned id = work_[i];
    ListEntry& entry = *entries_.find(id);
    if (entry.due <= context_.now && done < kWorkMax) {
      ++done;
      // Off the list first: what is done may end the entry and give its id away.
      entry.queued = false;
      if (work_on(id, entry)) {
        work_[i] = work_.back();
        work_.pop_back();
        continue;
      }
      entry.queued = true;
    }
    next_due_ = std::min(next_due_, entry.due);
    ++i;
  }
}

void Receiver::release(unsigned id, ListEntry& entry) {
  --(entry.tagged ? tagged_ : buffers_);
  if (entry.queued) {
    const auto at = std::ranges::find(work_, static_cast<std::uint16_t>(id));
    *at = work_.back();
    work_.pop_back();
  }
  entries_.give(id);
}

void Receiver::end(unsigned id, ListEntry& entry, const FabricCompletion& completion) {
  if (entry.tagged) {
    entries_.remove_tag(id);
    if (entry.block != BlockPool::kNone) blocks_.bulk.give(entry.block);
  }
  context_.completions.push(completion);
  entry.state = State::kDone;
  // An UNLINK that is under way names this id: until it is answered the id may not come again.
  if (!entry.unlink_sent) release(id, entry);
}

// No peer reaches the memory any more, and none has had its turn.
void Receiver::taken_back(unsigned id, ListEntry& entry) {
  FabricCompletion completion{.event = FabricEvent::kTaggedCancelled, .cookie = entry.cookie};
  if (entry.tagged) {
    context_.stats.add(Id::kTaggedCancelled);
  } else {
    completion = Context::failure(FabricEvent::kBufferUnlinked, entry.cookie, Errc::kCancelled);
  }
  end(id, entry, completion);
}

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
    context_.stats.add(Id::kStrangeEvents);  // switched off in every entry
    return;
  }
  entry.unlink_sent = false;
  if (entry.state == State::kDone) {
    release(id, entry);
  } else if (entry.state == State::kWaiting) {
    taken_back(id, entry);  // the NIC had never taken it up
  } else if (code == ReturnCode::kOk) {
    // Part of a message may still be on its way in: after this call it is not. Cold, and rare.
    const auto cut = backend_.invalidate_entry(portal_.handle(), id,
                                               static_cast<unsigned>(PortalList::kPriority));
    if (!cut) {
      // Nobody can say that the memory is ours again: make the NIC forget all of it.
      context_.stats.add(Id::kBackendFailures);
      context_.failed = true;
      return;
    }
    taken_back(id, entry);
  } else {
    context_.stats.add(Id::kLateCancels);  // a peer was first: its event comes
  }
}

void Receiver::on_message(unsigned id, ListEntry& entry, const Arrival& arrival) {
  const std::uint64_t offset = arrival.start - entry.iova;
  entry.told += arrival.length;
  if (arrival.auto_unlinked) {
    entry.auto_unlinked = true;
    entry.total = offset + arrival.length;
  }
  const bool sane = arrival.type == EventType::kPut && arrival.has_start &&
                    arrival.start >= entry.iova && offset <= entry.length &&
                    arrival.length <= entry.length - offset;
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
    // A peer that goes the wrong way, or more of it than the buffer holds.
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
  if (entry.state != State::kLinked) {
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
    context_.failed = true;
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

unsigned Receiver::poll(unsigned limit) {
  const unsigned count = events_.poll(limit, [this](const Event& event) { on_event(event); });
  if (count == 0 && commands_.failed()) {
    if (!context_.failed) context_.stats.add(Id::kCommandFailures);
    context_.failed = true;
  }
  if (events_.broken() || events_.dropped()) {
    context_.stats.add(Id::kEventsDropped);
    context_.failed = true;
  }
  return count;
}

void Receiver::flush() {
  portal_.poll(commands_, context_.now);
  work();
  commands_.ring();
}

void Receiver::shut_down() {
  entries_.each([this](unsigned id, ListEntry& entry) {
    if (entry.state == State::kDone || entry.cancelling) return;
    entry.cancelling = true;
    add_work(id, entry, context_.now);
  });
}

void Receiver::invalidate_all() {
  entries_.each([this](unsigned id, const ListEntry& entry) {
    if (entry.state != State::kLinked) return;
    if (!backend_.invalidate_entry(portal_.handle(), id,
                                   static_cast<unsigned>(PortalList::kPriority)))
      context_.stats.add(Id::kBackendFailures);
  });
}

void Receiver::abort(Errc why) {
  entries_.each([&](unsigned id, ListEntry& entry) {
    entry.unlink_sent = false;
    if (entry.state == State::kDone) {
      release(id, entry);
    } else {
      end(id, entry,
          Context::failure(entry.tagged ? FabricEvent::kTaggedFailed : FabricEvent::kBufferUnlinked,
                           entry.cookie, why));
    }
  });
  PLNET_CHECK(work_.empty(), "nothing is left to be done to entries that are gone");
  next_due_ = Instant::max();
  commands_ = {};
  events_ = {};
  portal_ = {};
}

}  // namespace plnet::cassini
