// SPDX-License-Identifier: BSD-3-Clause
#include "lib/lnet/move/loopback_lnd.hpp"

#include <algorithm>
#include <cstring>

#include "lib/base/check.hpp"

namespace plnet::lnet {

LoopbackLnd::LoopbackLnd(LndUpcalls& core, const ArenaTable& arenas, std::size_t in_flight_max)
    : traits_{.name = "lo", .net_type = NetType::kLoopback, .aborts_messages = true},
      core_(core),
      arenas_(arenas),
      capacity_(in_flight_max),
      slots_(std::make_unique<Slot[]>(in_flight_max)) {
  PLNET_CHECK(in_flight_max > 0 && in_flight_max < kNone,
              "loopback has a slot, and kNone is no slot");
  for (std::size_t i = capacity_; i-- > 0;) {
    slots_[i].next = free_;
    free_ = static_cast<std::uint32_t>(i);
  }
}

std::size_t LoopbackLnd::send(std::span<Transmit* const> burst) {
  std::size_t taken = 0;
  for (; taken < burst.size() && free_ != kNone && !shutting_down_; ++taken) {
    const std::uint32_t index = free_;
    Slot& slot = slots_[index];
    free_ = slot.next;
    PLNET_DEBUG_CHECK(slot.state == State::kFree && slot.transmit == nullptr,
                      "a free slot has no message");
    slot.state = State::kQueued;
    slot.cancelled = false;
    slot.transmit = burst[taken];
    slot.transmit->lnd_state = index;
    queue(index);
    ++used_;
  }
  PLNET_DEBUG_CHECK(used_ <= capacity_, "no more messages are under way than there are slots");
  return taken;
}

void LoopbackLnd::queue(std::uint32_t index) {
  PLNET_CHECK(index < capacity_, "the slot exists");
  slots_[index].next = kNone;
  PLNET_DEBUG_CHECK(slots_[index].state == State::kQueued || slots_[index].state == State::kResumed,
                    "queued slots have work for the next turn");
  (first_ == kNone ? first_ : slots_[last_].next) = index;
  last_ = index;
}

void LoopbackLnd::resume(RxHandle rx, const RxDecision& decision) {
  if (rx.index >= capacity_) return;
  Slot& slot = slots_[rx.index];
  if (slot.state != State::kParked || slot.generation != rx.generation) return;
  slot.decision = decision;
  slot.state = State::kResumed;
  queue(rx.index);
}

unsigned LoopbackLnd::flush(Instant /*now*/) {
  unsigned work = end_parked();
  std::uint32_t index = first_;
  first_ = last_ = kNone;  // messages that upcalls add wait for the next turn
  while (index != kNone) {
    const std::uint32_t next = slots_[index].next;
    if (slots_[index].state == State::kQueued) {
      offer(index);
    } else {
      carry_out(index);
    }
    index = next;
    ++work;
  }
  if (releasing_ != nullptr && used_ == 0) {
    PeerLink& link = *releasing_;
    releasing_ = nullptr;
    core_.on_peer_released(link);
    ++work;
  }
  return work;
}

// The core may never decide about a parked message, so each ends on request.
unsigned LoopbackLnd::end_parked() {
  if (!parked_must_end_) return 0;
  parked_must_end_ = false;
  unsigned ended = 0;
  for (std::uint32_t index = 0; index < capacity_; ++index) {
    const Slot& slot = slots_[index];
    const bool ends = slot.cancelled || shutting_down_ || releasing_ != nullptr;
    if (slot.state != State::kParked || !ends) continue;
    const Errc cause = slot.cancelled ? Errc::kCancelled : Errc::kShutdown;
    core_.on_parked_gone({index, slot.generation}, cause);
    end(index, std::unexpected(cause));
    ++ended;
  }
  return ended;
}

void LoopbackLnd::offer(std::uint32_t index) {
  PLNET_CHECK(slots_[index].state == State::kQueued, "a queued message is offered");
  Slot& slot = slots_[index];
  if (slot.cancelled) return end(index, std::unexpected(Errc::kCancelled));
  if (shutting_down_) return end(index, std::unexpected(Errc::kShutdown));
  slot.state = State::kOffering;
  ++slot.generation;
  slot.decision = core_.on_header({.header = slot.transmit->header,
                                   .from = slot.transmit->header.source,
                                   .link = slot.transmit->next_hop,
                                   .rx = {index, slot.generation}});
  PLNET_DEBUG_CHECK(is_sound(slot.decision), "a decision has room for the bytes that it takes");
  if (slot.decision.verdict == RxVerdict::kPark) {
    slot.state = State::kParked;
  } else {
    carry_out(index);
  }
}

void LoopbackLnd::carry_out(std::uint32_t index) {
  PLNET_CHECK(slots_[index].decision.verdict != RxVerdict::kPark,
              "a decided message is carried out");
  const Slot& slot = slots_[index];
  PLNET_CHECK(slot.state == State::kOffering || slot.state == State::kResumed,
              "a decision is carried out once");
  const RxHandle rx{index, slot.generation};
  if (slot.decision.verdict == RxVerdict::kReceive) {
    Payload from = slot.transmit->source;
    Payload to = slot.decision.target;
    from.length = to.length = std::min(slot.decision.length, from.length);
    copy(from, to);
    core_.on_received(rx, {}, Health::kOk);
  }
  end(index, {});
}

void LoopbackLnd::end(std::uint32_t index, Result<void> status) {
  PLNET_CHECK(used_ > 0, "a message in use ends");
  Slot& slot = slots_[index];
  PLNET_CHECK(slot.state != State::kFree && slot.transmit != nullptr, "a message ends once");
  const Completion completion{.transmit = slot.transmit,
                              .status = status,
                              .health = status ? Health::kOk : health_of(status.error())};
  slot.state = State::kFree;
  slot.transmit = nullptr;
  slot.next = free_;
  free_ = index;
  --used_;
  core_.on_sent({&completion, 1});
}

void LoopbackLnd::copy(const Payload& from, const Payload& to) {
  Payload rest = to;
  for_each_piece(from, [&](const Fragment& piece) {
    Fragment left = piece;
    Payload here = rest;
    here.length = piece.length;
    for_each_piece(here, [&](const Fragment& target) {
      const auto source = arenas_.bytes({left.at, target.length});
      std::memmove(arenas_.bytes(target).data(), source.data(), source.size());
      left.at.offset += target.length;
    });
    rest.offset += piece.length;
    rest.length -= piece.length;
  });
}

void LoopbackLnd::cancel(Transmit& transmit) {
  PLNET_CHECK(transmit.lnd_state < capacity_, "the message was sent by this LND");
  Slot& slot = slots_[transmit.lnd_state];
  if (slot.transmit == &transmit) slot.cancelled = parked_must_end_ = true;
}

void LoopbackLnd::shut_down() {
  shutting_down_ = parked_must_end_ = true;
}

void LoopbackLnd::release_peer(PeerLink& link) {
  PLNET_CHECK(releasing_ == nullptr, "the link of loopback is released once");
  if (used_ == 0) return core_.on_peer_released(link);
  releasing_ = &link;
  parked_must_end_ = true;
}

Instant LoopbackLnd::next_deadline() const {
  return first_ == kNone && !parked_must_end_ ? Instant::max() : Instant::min();
}

}  // namespace plnet::lnet
