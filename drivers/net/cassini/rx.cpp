// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/net/cassini/rx.hpp"

#include <algorithm>

#include "drivers/net/cassini/trace.hpp"
#include "lib/base/check.hpp"

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
  // Rounded up: a buffer with less room than the longest message must be unlinked.
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
  if (context_.receive_failed || tagged_ >= limits_.tagged_max) return refuse(Errc::kAgain);
  std::uint32_t block = BlockPool::kNone;
  std::optional<DeviceAddress> at = context_.map.contiguous(buffer);
  // The device has no empty entries: an empty buffer is represented by one spare byte.
  if (buffer.empty()) at = blocks_.address(blocks_.spare);
  if (!at) {
    if (buffer.length > blocks_.bulk.block_bytes()) return std::unexpected(Errc::kTooBig);
    if (blocks_.bulk.block_count() == 0) return std::unexpected(Errc::kNotSupported);
    // Half of the blocks are reserved for operations that peers request: those end by themselves,
    // exposed buffers do not.
    if (blocks_.bulk.free_count() <= blocks_.bulk.block_count() / 2) return refuse(Errc::kAgain);
    block = blocks_.bulk.take();
    PLNET_CHECK(block != BlockPool::kNone, "more than half of them are free");
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
  // Received messages are reported in place, so bouncing is impossible.
  if (!at) return std::unexpected(Errc::kInvalid);
  if (buffer.length > limits_.bytes_max) return std::unexpected(Errc::kTooBig);
  const bool has_room =
      buffers_ < limits_.buffers_max && bytes_ + buffer.length <= limits_.bytes_max;
  const unsigned id = context_.receive_failed || !has_room ? 0 : entries_.take();
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
  bytes_ += buffer.length;
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
  std::size_t kept = 0;  // in their order: buffers are filled in turn
  for (std::size_t i = 0; i < work_.size(); ++i) {
    const std::uint16_t id = work_[i];
    ListEntry& entry = *entries_.find(id);
    PLNET_DEBUG_CHECK(entry.queued, "each entry of the list says so");
    // Entries that wait for the portal do not count against the limit of work.
    const bool held = entry.state == State::kWaiting && !entry.cancelling && !portal_.enabled();
    if (!held && entry.due <= context_.now && done < kWorkMax) {
      ++done;
      // Off the list first: the work may end the entry and release its id.
      entry.queued = false;
      if (work_on(id, entry)) continue;
      entry.queued = true;
    }
    next_due_ = std::min(next_due_, entry.due);
    work_[kept++] = id;
  }
  work_.resize(kept);
}

void Receiver::release(unsigned id, ListEntry& entry) {
  if (entry.tagged) {
    PLNET_DEBUG_CHECK(tagged_ > 0, "each tagged buffer is counted");
    --tagged_;
  } else {
    PLNET_DEBUG_CHECK(buffers_ > 0 && bytes_ >= entry.length,
                      "each buffer is counted, with its bytes");
    --buffers_;
    bytes_ -= entry.length;
  }
  if (entry.queued) {
    PLNET_DEBUG_CHECK(std::ranges::find(work_, static_cast<std::uint16_t>(id)) != work_.end(),
                      "an entry that is queued is in the list");
    work_.erase(std::ranges::find(work_, static_cast<std::uint16_t>(id)));
  }
  entries_.give(id);
}

void Receiver::end(unsigned id, ListEntry& entry, const FabricCompletion& completion) {
  PLNET_DEBUG_CHECK(entry.state != State::kDone, "an entry ends once");
  if (entry.tagged) {
    entries_.remove_tag(id);
    if (entry.block != BlockPool::kNone) blocks_.bulk.give(entry.block);
  }
  context_.completions.push(completion);
  entry.state = State::kDone;
  // A pending UNLINK names this id: it must not be reused before the answer.
  if (!entry.unlink_sent) release(id, entry);
}

// No peer accesses the memory any more, and none has used it.
void Receiver::taken_back(unsigned id, ListEntry& entry) {
  FabricCompletion completion{.event = FabricEvent::kTaggedCancelled, .cookie = entry.cookie};
  if (entry.tagged) {
    context_.stats.add(Id::kTaggedCancelled);
  } else {
    completion = Context::failure(FabricEvent::kBufferUnlinked, entry.cookie, Errc::kCancelled);
  }
  end(id, entry, completion);
}

unsigned Receiver::poll(unsigned limit) {
  const unsigned count = events_.poll(limit, [this](const Event& event) { on_event(event); });
  if (count == 0 && commands_.failed()) {
    if (!context_.receive_failed) context_.stats.add(Id::kCommandFailures);
    context_.receive_failed = true;
  }
  if (events_.broken() || events_.dropped()) {
    if (!events_lost_) context_.stats.add(Id::kEventsDropped);
    events_lost_ = true;
    context_.receive_failed = true;
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
  PLNET_CHECK(work_.empty(), "released entries have no pending work");
  next_due_ = Instant::max();
  commands_ = {};
  events_ = {};
  portal_ = {};
  events_lost_ = false;
}

}  // namespace plnet::cassini
