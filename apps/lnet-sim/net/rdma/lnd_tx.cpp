// SPDX-License-Identifier: BSD-3-Clause
// Messages on their way out: requests, the writes that they end in, and what is posted for both.
#include <algorithm>
#include <cstring>

#include "apps/lnet-sim/net/rdma/cookie.hpp"
#include "apps/lnet-sim/net/rdma/lnd.hpp"
#include "lib/lnet/api/payload_cursor.hpp"

namespace plnet::sim {

using namespace lnet;
using o2iblnd::WorkKind;
using o2iblnd::WorkRequest;

namespace {

constexpr std::size_t kChainMax = 2 * kRdmaPiecesMax + 1;

}  // namespace

void RdmaLnd::pump(Pair& pair) {
  if (pair.state != Pair::State::kOpen) return;
  Peer& peer = *pair.peer;
  while (peer.first != nullptr && pair.credits > 0 && pair.used < kDepth &&
         pair.free_slots > kDepth) {
    Transmit& transmit = *peer.first;
    Transmit* const next = transmit.lnd_next;
    if (!begin(pair, transmit)) return try_again(pair);
    peer.first = next;
  }
}

bool RdmaLnd::begin(Pair& pair, Transmit& transmit) {
  const auto free = std::ranges::find(pair.requests, Request::State::kFree, &Request::state);
  PLNET_CHECK(free != pair.requests.end(), "used counts the requests");
  Request& request = *free;
  const auto number = static_cast<std::uint32_t>(free - pair.requests.begin());
  const std::uint32_t bytes = transmit.header.payload_length;
  RdmaFrame frame{.request = number, .generation = request.generation + 1, .length = bytes};
  encode_header_nid16(transmit.header, frame.header);
  const bool get = transmit.header.type == MessageType::kGet && !transmit.routed &&
                   !transmit.next_hop_is_router && transmit.sink.length > config_.inline_bytes_max;
  const bool large = bytes > config_.inline_bytes_max;
  frame.kind = get ? RdmaKind::kGetRequest : large ? RdmaKind::kPutRequest : RdmaKind::kImmediate;
  if (get) lay_open(transmit.sink, transmit.sink.length, frame);
  const bool asks = get || large;
  if (!post(pair, frame, asks ? 0 : bytes, asks ? nullptr : &transmit,
            cookie_of(asks ? CookieKind::kFrame : CookieKind::kImmediate, number, 0))) {
    return false;
  }
  ++request.generation;
  request.transmit = &transmit;
  request.state = asks ? Request::State::kAsking : Request::State::kSending;
  request.open_sink = get;
  ++pair.used;
  --pair.credits;
  counters_.add(get ? Id::kGetRequests : large ? Id::kPutRequests : Id::kImmediates);
  return true;
}

void RdmaLnd::lay_open(const Payload& window, std::uint32_t length, RdmaFrame& frame) const {
  PayloadCursor cursor(window, length);
  while (cursor.left() > 0) {
    PLNET_CHECK(frame.piece_count < kRdmaPiecesMax, "the simulator's MDs have few fragments");
    const Fragment piece = cursor.piece();
    const o2iblnd::RemoteKey key = driver_->remote_key(piece);
    frame.pieces[frame.piece_count++] = {key.address, piece.length, key.key};
    cursor.advance(piece.length);
  }
}

bool RdmaLnd::post(Pair& pair, const RdmaFrame& frame, std::uint32_t payload,
                   const Transmit* inline_source, std::uint64_t cookie) {
  if (pair.state != Pair::State::kOpen || pair.free_slots == 0) return false;
  const std::uint8_t slot = pair.slots[pair.free_slots - 1U];
  Fragment memory = slot_memory(pair, slot, false);
  const std::span<std::byte> bytes = config_.arenas->bytes(memory);
  std::memcpy(bytes.data(), &frame, sizeof frame);
  memory.length = static_cast<std::uint32_t>(sizeof frame) + payload;
  std::byte* to = bytes.data() + sizeof frame;
  if (payload > 0) {
    for_each_piece(inline_source->source, [&](const Fragment& piece) {
      drivers::copy_memory(config_.lazy, to, config_.arenas->bytes(piece));
      to += piece.length;
    });
  }
  WorkRequest work{.kind = WorkKind::kSend, .piece_count = 1, .cookie = cookie | slot};
  work.pieces[0] = memory;
  if (!driver_->post_chain(pair.id, {&work, 1})) {
    counters_.add(Id::kPostsRefused);
    return false;
  }
  --pair.free_slots;
  return true;
}

bool RdmaLnd::post_writes(Pair& pair, const Payload& source, std::uint32_t length,
                          std::span<const RdmaPiece> sink, const RdmaFrame& last,
                          std::uint64_t cookie) {
  if (pair.state != Pair::State::kOpen || pair.free_slots == 0) return false;
  const std::uint8_t slot = pair.slots[pair.free_slots - 1U];
  std::array<WorkRequest, kChainMax> chain;
  std::size_t count = 0;
  PayloadCursor cursor(source, length);
  std::uint32_t done = 0;  // of the front of the sink
  while (cursor.left() > 0) {
    PLNET_CHECK(!sink.empty() && count + 1 < kChainMax, "a sink that is too small was laid open");
    Fragment piece = cursor.piece();
    piece.length = std::min(piece.length, sink.front().length - done);
    WorkRequest& work = chain[count++];
    work = {.kind = WorkKind::kWrite, .piece_count = 1};
    work.pieces[0] = piece;
    work.remote_address = sink.front().address + done;
    work.remote_key = sink.front().key;
    work.cookie = cookie | slot;
    cursor.advance(piece.length);
    done += piece.length;
    if (done == sink.front().length) {
      sink = sink.subspan(1);
      done = 0;
    }
  }
  Fragment memory = slot_memory(pair, slot, false);
  memory.length = sizeof last;
  std::memcpy(config_.arenas->bytes(memory).data(), &last, sizeof last);
  chain[count] = {.kind = WorkKind::kSend, .piece_count = 1, .cookie = cookie | slot};
  chain[count++].pieces[0] = memory;
  if (!driver_->post_chain(pair.id, std::span(chain).first(count))) {
    counters_.add(Id::kPostsRefused);
    return false;
  }
  --pair.free_slots;
  return true;
}

// What could not be posted before.
void RdmaLnd::go_on(Pair& pair) {
  if (pair.state != Pair::State::kOpen) return;
  bool all = true;
  if (pair.active) {
    for (std::uint32_t i = 0; i < kDepth; ++i) {
      Request& request = pair.requests[i];
      if (request.state != Request::State::kMustWrite) continue;
      const RdmaFrame done{.kind = RdmaKind::kPutDone, .answer = request.answer};
      if (post_writes(pair, request.transmit->source, request.length,
                      std::span(request.pieces).first(request.piece_count), done,
                      cookie_of(CookieKind::kWrites, i, 0))) {
        request.state = Request::State::kWriting;
      } else {
        all = false;
      }
    }
    if (all) pump(pair);
  } else {
    for (Inbound& inbound : pair.inbound)
      all = advance(pair, inbound) && all;
    return_credits(pair);
  }
  if (!all) try_again(pair);
}

void RdmaLnd::sent(Pair& pair, std::uint64_t cookie) {
  pair.slots[pair.free_slots++] = slot_of(cookie);
  const std::uint32_t number = record_of(cookie);
  switch (kind_of(cookie)) {
    case CookieKind::kImmediate:
    case CookieKind::kWrites: end_request(pair, pair.requests[number], {}, Health::kOk); break;
    case CookieKind::kReply: {
      Inbound& inbound = pair.inbound[number];
      tell_received(pair, inbound, {}, Health::kOk);
      release(pair, inbound);
      break;
    }
    case CookieKind::kFrame:
    case CookieKind::kReceive: break;
  }
}

void RdmaLnd::end_request(Pair& pair, Request& request, Result<void> status, Health health,
                          std::uint32_t placed) {
  request.state = Request::State::kFree;
  --pair.used;
  const bool reply = request.open_sink && status.has_value();
  complete({.transmit = request.transmit,
            .status = status,
            .health = health,
            .reply_placed = reply,
            .reply_length = reply ? placed : 0});
}

}  // namespace plnet::sim
