// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/net/fault/endpoint.hpp"

#include <algorithm>

namespace plnet::drivers {

using kfilnd::FabricCompletion;
using kfilnd::FabricEvent;
using kfilnd::Tag;
using kfilnd::Target;
using lnet::Payload;

Outcome<void> FaultEndpointDriver::set_plan(const FaultPlan& plan) {
  for (const FaultRule& rule : plan.view()) {
    if (rule.fault == Fault::kCorrupt && arenas_ == nullptr) {
      return failure(Errc::kInvalid, "fault corrupt: this driver was built without arenas");
    }
  }
  return judge_.set_plan(plan);
}

unsigned FaultEndpointDriver::poll(Instant now) {
  now_ = now;
  unsigned work = 0;
  if (stalled_until_ != Instant::min() && now >= stalled_until_) {
    stalled_until_ = Instant::min();
    ++work;  // another turn: a refused caller may have asked before this poll
  }
  // Completions that are held from within a delivery wait for the next poll, so that this one ends.
  std::size_t i = 0;
  for (std::size_t left = held_count_; left > 0; --left) {
    const Held held = held_[i];
    const bool overtaken = held.counts_overtakers && held.overtake_left == 0;
    if (now < held.due && !overtaken) {
      ++i;
      continue;
    }
    remove(i);
    up_.on_completions({&held.completion, 1});
    ++work;
  }
  return work;
}

Instant FaultEndpointDriver::next_deadline() const {
  // Nothing else may wake refused callers: no completion is due for an operation that was not
  // posted.
  Instant next = stalled_until_ == Instant::min() ? Instant::max() : stalled_until_;
  for (const Held& held : std::span(held_).first(held_count_))
    next = std::min(next, held.due);
  return next;
}

bool FaultEndpointDriver::hold(const FabricCompletion& completion, Instant due,
                               unsigned overtake_left, bool counts_overtakers) {
  if (held_count_ == kHeldEventsMax) return false;
  held_[held_count_++] = {completion, due, overtake_left, counts_overtakers};
  return true;
}

void FaultEndpointDriver::remove(std::size_t index) {
  PLNET_CHECK(index < held_count_, "a held completion is removed");
  std::move(held_.begin() + static_cast<std::ptrdiff_t>(index) + 1,
            held_.begin() + static_cast<std::ptrdiff_t>(held_count_),
            held_.begin() + static_cast<std::ptrdiff_t>(index));
  --held_count_;
}

std::optional<Result<void>> FaultEndpointDriver::interfere(const Target& peer, FabricEvent ends_in,
                                                           std::uint64_t cookie) {
  if (shut_down_) return std::nullopt;  // the real driver refuses it
  if (now_ < stalled_until_) return std::unexpected(Errc::kAgain);
  const FaultRule* const rule = judge_.draw(Direction::kTx, {.stream = peer.receive_context}, now_);
  if (rule == nullptr) return std::nullopt;
  FabricCompletion completion{.event = ends_in, .cookie = cookie};
  Instant due = now_;
  switch (rule->fault) {
    case Fault::kStall: stalled_until_ = now_ + rule->delay; return std::unexpected(Errc::kAgain);
    case Fault::kFail: completion.status = std::unexpected(rule->error); break;
    case Fault::kDrop:
      // Only an untagged message can vanish; a read or write without effect would not complete.
      if (ends_in != FabricEvent::kSent) {
        judge_.skip(*rule);
        return std::nullopt;
      }
      if (rule->fails_late) {
        completion.status = std::unexpected(rule->error);
        due = now_ + rule->delay;
      }
      break;
    default: break;
  }
  if (!hold(completion, due, 0, false)) {
    judge_.skip(*rule);
    return std::nullopt;
  }
  return Result<void>{};
}

Result<void> FaultEndpointDriver::send(const Target& to, std::span<const std::byte> header,
                                       const Payload& payload, std::uint64_t cookie) {
  if (const auto result = interfere(to, FabricEvent::kSent, cookie)) return *result;
  return lower_->send(to, header, payload, cookie);
}

Result<void> FaultEndpointDriver::read_tagged(const Target& peer, Tag tag, const Payload& into,
                                              std::uint64_t cookie) {
  if (const auto result = interfere(peer, FabricEvent::kRemoteDone, cookie)) return *result;
  return lower_->read_tagged(peer, tag, into, cookie);
}

Result<void> FaultEndpointDriver::write_tagged(const Target& peer, Tag tag, const Payload& from,
                                               std::uint64_t cookie) {
  if (const auto result = interfere(peer, FabricEvent::kRemoteDone, cookie)) return *result;
  return lower_->write_tagged(peer, tag, from, cookie);
}

Result<void> FaultEndpointDriver::answer_tagged(const Target& peer, Tag tag, std::uint64_t data,
                                                std::uint64_t cookie) {
  if (const auto result = interfere(peer, FabricEvent::kRemoteDone, cookie)) return *result;
  return lower_->answer_tagged(peer, tag, data, cookie);
}

// No fault: nothing leaves the node, and a buffer that failed to open fails its sender.
Result<void> FaultEndpointDriver::post_tagged(const Target& from, Tag tag, bool peer_reads,
                                              const Payload& buffer, std::uint64_t cookie) {
  return lower_->post_tagged(from, tag, peer_reads, buffer, cookie);
}

Result<void> FaultEndpointDriver::cancel_tagged(Tag tag) {
  return lower_->cancel_tagged(tag);
}

Result<void> FaultEndpointDriver::post_multi_receive(const Fragment& buffer, std::uint64_t cookie) {
  if (now_ < no_buffers_until_ && !shut_down_) return std::unexpected(Errc::kAgain);
  Result<void> posted = lower_->post_multi_receive(buffer, cookie);
  const auto slot = std::ranges::find(buffers_, false, &Buffer::live);
  if (posted && slot != buffers_.end()) *slot = {buffer, cookie, true};
  return posted;
}

void FaultEndpointDriver::on_completions(std::span<const FabricCompletion> burst) {
  for (const FabricCompletion& completion : burst)
    receive(completion);
}

void FaultEndpointDriver::receive(const FabricCompletion& completion) {
  const bool last = completion.buffer_unlinked || completion.event == FabricEvent::kBufferUnlinked;
  if (!last) return decide(completion, false);
  deliver_held_of(completion.cookie);
  // kfilnd may post the buffer again, under the same cookie, while it handles its last message. So
  // this record is found by its place, and the new one cannot take it.
  const auto known = find_buffer(completion.cookie);
  decide(completion, true);
  if (known != buffers_.end()) known->live = false;
}

void FaultEndpointDriver::decide(const FabricCompletion& completion, bool last) {
  const FaultRule* const rule = judge_.draw(Direction::kRx, {}, now_);
  if (rule == nullptr) return deliver(completion);
  if (rule->fault == Fault::kStall) {
    no_buffers_until_ = now_ + rule->delay;
    return deliver(completion);
  }
  if (rule->fault == Fault::kDelay || rule->fault == Fault::kReorder) {
    const bool reorder = rule->fault == Fault::kReorder;
    if (last || !hold(completion, now_ + rule->delay, rule->span, reorder)) {
      judge_.skip(*rule);
      deliver(completion);
    }
    return;
  }
  if (completion.event != FabricEvent::kMessage || !completion.status) {
    judge_.skip(*rule);
    return deliver(completion);
  }
  spoil(completion, *rule);
}

// Faults that only messages of peers have.
void FaultEndpointDriver::spoil(FabricCompletion completion, const FaultRule& rule) {
  switch (rule.fault) {
    case Fault::kDrop:
      if (!completion.buffer_unlinked) return;
      completion = {.event = FabricEvent::kBufferUnlinked, .cookie = completion.cookie};
      break;
    case Fault::kDuplicate: {
      FabricCompletion first = completion;
      first.buffer_unlinked = false;
      deliver(first);
      break;
    }
    case Fault::kTruncate: completion.length /= 2; break;
    default:
      if (!corrupt(completion)) judge_.skip(rule);
      break;
  }
  deliver(completion);
}

FaultEndpointDriver::Buffers::iterator FaultEndpointDriver::find_buffer(std::uint64_t cookie) {
  return std::ranges::find_if(
      buffers_, [&](const Buffer& buffer) { return buffer.live && buffer.cookie == cookie; });
}

bool FaultEndpointDriver::corrupt(const FabricCompletion& completion) {
  const auto known = find_buffer(completion.cookie);
  if (known == buffers_.end() || completion.length == 0) return false;
  const std::uint64_t at = completion.offset + judge_.random().below(completion.length);
  PLNET_CHECK(at < known->fragment.length, "a message ends within its buffer");
  arenas_->bytes(known->fragment)[at] ^= std::byte{0x20};
  return true;
}

void FaultEndpointDriver::deliver(const FabricCompletion& completion) {
  for (Held& held : std::span(held_).first(held_count_)) {
    if (held.counts_overtakers && held.overtake_left > 0) --held.overtake_left;
  }
  up_.on_completions({&completion, 1});
}

void FaultEndpointDriver::deliver_held_of(std::uint64_t cookie) {
  for (std::size_t i = 0; i < held_count_;) {
    const Held held = held_[i];
    if (held.completion.event != FabricEvent::kMessage || held.completion.cookie != cookie) {
      ++i;
      continue;
    }
    remove(i);
    up_.on_completions({&held.completion, 1});
  }
}

void FaultEndpointDriver::on_link(bool usable, std::uint64_t nic_address) {
  up_.on_link(usable, nic_address);
}

Result<kfilnd::PeerAddress> FaultEndpointDriver::resolve(std::uint64_t nic_address,
                                                         unsigned service) {
  return lower_->resolve(nic_address, service);
}

void FaultEndpointDriver::forget(kfilnd::PeerAddress address) {
  lower_->forget(address);
}

void FaultEndpointDriver::shut_down() {
  shut_down_ = true;
  for (Held& held : std::span(held_).first(held_count_))
    held.due = Instant::min();  // the next poll() delivers them
  lower_->shut_down();
}

}  // namespace plnet::drivers
