// SPDX-License-Identifier: BSD-3-Clause
// What completes: answers to our requests, and the side that is asked.
#include <algorithm>
#include <cstring>

#include "apps/lnet-sim/net/rdma/cookie.hpp"
#include "apps/lnet-sim/net/rdma/lnd.hpp"
#include "lib/lnet/api/payload_cursor.hpp"

namespace plnet::sim {

using namespace lnet;
using o2iblnd::QueuePairId;
using o2iblnd::WorkCompletion;
using o2iblnd::WorkEvent;

RxHandle RdmaLnd::handle_of(const Pair& pair, const Inbound& inbound) const {
  const auto record = static_cast<std::uint32_t>(&inbound - pair.inbound.data());
  return {static_cast<std::uint32_t>(pairs_.index_of(&pair) * kDepth + record),
          inbound.rx_generation};
}

void RdmaLnd::on_completions(std::span<const WorkCompletion> burst) {
  for (const WorkCompletion& completion : burst) {
    Pair* const pair = pair_of(completion.queue_pair);
    if (pair == nullptr || !completion.status) continue;  // on_drained() ends what it belonged to
    if (completion.event == WorkEvent::kReceived) {
      received(*pair, completion);
    } else {
      sent(*pair, completion.cookie);
    }
    go_on(*pair);
  }
  report();
}

void RdmaLnd::on_connect_request(QueuePairId request, const o2iblnd::Ipv4Endpoint& /*from*/,
                                 const o2iblnd::Ipv4Endpoint& /*to*/,
                                 std::span<const std::byte> data) {
  RdmaHello hello;
  PLNET_CHECK(data.size() >= sizeof hello, "private data is padded");
  std::memcpy(&hello, data.data(), sizeof hello);
  const bool ours = hello.magic == RdmaFrame::kMagic && hello.nid.is_well_formed();
  const bool room = !shutting_down() && pairs_.free_count() > 0 &&
                    driver_->prepare(request, {4 * kSlots, kSlots}).has_value();
  if (!ours || !room) {
    counters_.add(Id::kRefused);
    return driver_->reject(request, {});
  }
  Pair* const pair = open_pair(request, false);
  pair->from = hello.nid;
  for (std::size_t slot = 0; slot < kSlots; ++slot)
    post_receive(*pair, slot);
  if (!driver_->accept(request, {.rnr_retry_count = 7}, {})) break_pair(*pair, Errc::kAborted);
}

void RdmaLnd::received(Pair& pair, const WorkCompletion& completion) {
  const std::size_t slot = slot_of(completion.cookie);
  RdmaFrame frame;
  if (completion.length < sizeof frame) {
    counters_.add(Id::kProtocolErrors);
    return break_pair(pair, Errc::kProtocol);
  }
  std::memcpy(&frame, config_.arenas->bytes(slot_memory(pair, slot, true)).data(), sizeof frame);
  if (pair.active) {
    post_receive(pair, slot);
    return answered(pair, frame);
  }
  const auto payload = static_cast<std::uint32_t>(completion.length - sizeof frame);
  asked(pair, frame, payload, slot);
}

// --- Answers ---

void RdmaLnd::answered(Pair& pair, const RdmaFrame& frame) {
  pair.credits += frame.credits;
  if (frame.kind == RdmaKind::kCredit) return;
  Request* const request = frame.request < kDepth ? &pair.requests[frame.request] : nullptr;
  if (frame.magic != RdmaFrame::kMagic || request == nullptr ||
      request->generation != frame.generation || pair.credits > kDepth) {
    counters_.add(Id::kProtocolErrors);
    return break_pair(pair, Errc::kProtocol);
  }
  if (request->state != Request::State::kAsking) return;
  switch (frame.kind) {
    case RdmaKind::kPutAck:
      request->answer = frame.answer;
      request->length = frame.length;
      request->piece_count = frame.piece_count;
      request->pieces = frame.pieces;
      request->state = Request::State::kMustWrite;
      break;
    case RdmaKind::kPutNak: end_request(pair, *request, {}, Health::kOk); break;
    case RdmaKind::kGetDone:
      end_request(pair, *request,
                  frame.failed != 0 ? Result<void>(std::unexpected(Errc::kNoData)) : Result<void>{},
                  Health::kOk, frame.length);
      break;
    default: counters_.add(Id::kProtocolErrors); break_pair(pair, Errc::kProtocol);
  }
}

// --- Requests of the peer ---

void RdmaLnd::asked(Pair& pair, const RdmaFrame& frame, std::uint32_t bytes, std::size_t slot) {
  if (frame.kind == RdmaKind::kPutDone) {
    post_receive(pair, slot);
    Inbound& inbound = pair.inbound[frame.answer % kDepth];
    if (inbound.state != Inbound::State::kWaiting) return;
    tell_received(pair, inbound, {}, Health::kOk);
    return release(pair, inbound);
  }
  const auto free = std::ranges::find(pair.inbound, Inbound::State::kFree, &Inbound::state);
  const auto header = decode_header_nid16(frame.header);
  const bool sane = frame.magic == RdmaFrame::kMagic && free != pair.inbound.end() && header &&
                    frame.piece_count <= kRdmaPiecesMax &&
                    (frame.kind != RdmaKind::kImmediate || bytes == header->payload_length);
  if (!sane) {
    counters_.add(Id::kProtocolErrors);
    return break_pair(pair, Errc::kProtocol);
  }
  Inbound& inbound = *free;
  inbound.header = *header;
  inbound.kind = frame.kind;
  inbound.state = Inbound::State::kQueued;
  inbound.slot = static_cast<std::uint8_t>(slot);
  inbound.failed = false;
  inbound.request = frame.request;
  inbound.generation = frame.generation;
  inbound.piece_count = frame.piece_count;
  inbound.pieces = frame.pieces;
  if (inbound.kind != RdmaKind::kImmediate) post_receive(pair, slot);
  pair.order[(pair.order_head + pair.order_count++) % kDepth] =
      static_cast<std::uint8_t>(free - pair.inbound.begin());
  offer_queued(pair);
}

// In order; what is behind a parked one waits.
void RdmaLnd::offer_queued(Pair& pair) {
  while (pair.order_count > 0 && !pair.parked && pair.state != Pair::State::kError) {
    Inbound& inbound = pair.inbound[pair.order[pair.order_head]];
    pair.order_head = (pair.order_head + 1) % kDepth;
    --pair.order_count;
    ++inbound.rx_generation;
    ++receiving_;
    inbound.state = Inbound::State::kParked;
    counters_.add(Id::kReceived);
    inbound.decision = core_.on_header({.header = inbound.header,
                                        .from = pair.from,
                                        .link = pair.link,
                                        .rx = handle_of(pair, inbound),
                                        .reply_by_lnd = inbound.kind == RdmaKind::kGetRequest});
    take_link(pair, inbound.decision.link);
    if (inbound.decision.verdict == RxVerdict::kPark) {
      counters_.add(Id::kParked);
      pair.parked = true;
      return;
    }
    carry_out(pair, inbound);
  }
}

void RdmaLnd::resume(RxHandle rx, const RxDecision& decision) {
  const std::uint32_t number = rx.index / kDepth;
  Pair* const pair = pairs_.is_lent(number) ? &pairs_.at(number) : nullptr;
  Inbound* const inbound = pair == nullptr ? nullptr : &pair->inbound[rx.index % kDepth];
  if (inbound == nullptr || inbound->state != Inbound::State::kParked ||
      inbound->rx_generation != rx.generation) {
    counters_.add(Id::kStaleResumes);
    return;
  }
  inbound->decision = decision;
  inbound->state = Inbound::State::kDecided;
  take_link(*pair, decision.link);
  decided(rx.index);
}

void RdmaLnd::carry_out_decision(std::uint32_t rx_index) {
  Pair& pair = pairs_.at(static_cast<std::uint32_t>(rx_index / kDepth));
  Inbound& inbound = pair.inbound[rx_index % kDepth];
  if (inbound.state != Inbound::State::kDecided || pair.state == Pair::State::kError) return;
  pair.parked = false;
  carry_out(pair, inbound);
  offer_queued(pair);
  go_on(pair);
}

void RdmaLnd::carry_out(Pair& pair, Inbound& inbound) {
  const RxDecision& decision = inbound.decision;
  const bool wanted = decision.verdict == RxVerdict::kReceive;
  if (decision.verdict == RxVerdict::kReject) {
    --receiving_;
    inbound.state = Inbound::State::kFree;
    counters_.add(Id::kProtocolErrors);
    return break_pair(pair, Errc::kProtocol);
  }
  inbound.progress = now_;
  switch (inbound.kind) {
    case RdmaKind::kImmediate:
      if (wanted) place_immediate(pair, inbound, decision.length);
      post_receive(pair, inbound.slot);
      if (wanted) {
        tell_received(pair, inbound, {}, Health::kOk);
      } else {
        --receiving_;
      }
      return release(pair, inbound);
    case RdmaKind::kGetRequest:
      inbound.failed = !wanted;
      inbound.state = wanted ? Inbound::State::kMustReply : Inbound::State::kMustSay;
      if (!wanted) --receiving_;
      break;
    default:
      if (wanted && decision.length > 0) {
        inbound.state = Inbound::State::kMustAck;
        break;
      }
      counters_.add(Id::kNaks);
      inbound.state = Inbound::State::kMustSay;
      if (wanted) {
        tell_received(pair, inbound, {}, Health::kOk);
      } else {
        --receiving_;
      }
  }
  if (!advance(pair, inbound)) try_again(pair);
}

void RdmaLnd::place_immediate(Pair& pair, Inbound& inbound, std::uint32_t length) {
  std::byte* from =
      config_.arenas->bytes(slot_memory(pair, inbound.slot, true)).data() + sizeof(RdmaFrame);
  PLNET_CHECK(length <= inbound.header.payload_length, "no more is wanted than there is");
  PayloadCursor cursor(inbound.decision.target, length);
  while (cursor.left() > 0) {
    const Fragment piece = cursor.piece();
    drivers::copy_memory(config_.lazy, config_.arenas->bytes(piece).data(), {from, piece.length});
    from += piece.length;
    cursor.advance(piece.length);
  }
}

// True: it waits for nothing that we could post.
bool RdmaLnd::advance(Pair& pair, Inbound& inbound) {
  const auto record = static_cast<std::uint32_t>(&inbound - pair.inbound.data());
  RdmaFrame frame{.request = inbound.request, .generation = inbound.generation, .answer = record};
  switch (inbound.state) {
    case Inbound::State::kMustAck:
      frame.kind = RdmaKind::kPutAck;
      frame.length = inbound.decision.length;
      lay_open(inbound.decision.target, inbound.decision.length, frame);
      if (!post(pair, frame, 0, nullptr, cookie_of(CookieKind::kFrame, record, 0))) return false;
      inbound.state = Inbound::State::kWaiting;
      look_at(inbound.progress + config_.lnd_timeout);
      return true;
    case Inbound::State::kMustReply:
      frame.kind = RdmaKind::kGetDone;
      frame.length = inbound.decision.length;
      if (!post_writes(pair, inbound.decision.target, inbound.decision.length,
                       std::span(inbound.pieces).first(inbound.piece_count), frame,
                       cookie_of(CookieKind::kReply, record, 0))) {
        return false;
      }
      inbound.state = Inbound::State::kReplying;
      return true;
    case Inbound::State::kMustSay:
      frame.kind = inbound.kind == RdmaKind::kGetRequest ? RdmaKind::kGetDone : RdmaKind::kPutNak;
      frame.failed = inbound.failed ? 1 : 0;
      if (!post(pair, frame, 0, nullptr, cookie_of(CookieKind::kFrame, record, 0))) return false;
      release(pair, inbound);
      return true;
    default: return true;
  }
}

void RdmaLnd::tell_received(Pair& pair, Inbound& inbound, Result<void> status, Health health) {
  --receiving_;
  core_.on_received(handle_of(pair, inbound), status, health);
}

void RdmaLnd::release(Pair& pair, Inbound& inbound) {
  inbound.state = Inbound::State::kFree;
  ++pair.owed;
}

// In halves, so that there is not one message for each.
void RdmaLnd::return_credits(Pair& pair) {
  if (pair.owed < kDepth / 2) return;
  const RdmaFrame frame{.kind = RdmaKind::kCredit,
                        .credits = static_cast<std::uint16_t>(pair.owed)};
  if (post(pair, frame, 0, nullptr, cookie_of(CookieKind::kFrame, 0, 0))) {
    pair.owed = 0;
  } else if (pair.state == Pair::State::kOpen) {
    try_again(pair);
  }
}

void RdmaLnd::take_link(Pair& pair, PeerLink* link) {
  if (keep_link(pair.link, link)) break_pair(pair, Errc::kShutdown);
}

void RdmaLnd::end_inbound(Pair& pair) {
  drop_link(pair.link);
  const Errc cause = pair.cause;
  for (Inbound& inbound : pair.inbound) {
    const Inbound::State was = inbound.state;
    inbound.state = Inbound::State::kFree;
    const RxHandle rx = handle_of(pair, inbound);
    switch (was) {
      case Inbound::State::kFree:
      case Inbound::State::kQueued:
      case Inbound::State::kMustSay: break;
      case Inbound::State::kParked:
        --receiving_;
        core_.on_parked_gone(rx, cause);
        break;
      case Inbound::State::kDecided:
        if (inbound.decision.verdict != RxVerdict::kReceive) {
          --receiving_;
          break;
        }
        [[fallthrough]];
      default: tell_received(pair, inbound, std::unexpected(cause), health_of(cause));
    }
  }
}

}  // namespace plnet::sim
