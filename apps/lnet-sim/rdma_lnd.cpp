// SPDX-License-Identifier: BSD-3-Clause
// The side that asks: peers, queue pairs of ours, messages on their way out.
#include "apps/lnet-sim/rdma_lnd.hpp"

#include <algorithm>
#include <cstring>

#include "apps/lnet-sim/payload_cursor.hpp"
#include "apps/lnet-sim/rdma_cookie.hpp"

namespace plnet::sim {

using namespace lnet;
using o2iblnd::Ipv4Endpoint;
using o2iblnd::QueuePairId;
using o2iblnd::WorkKind;
using o2iblnd::WorkRequest;

namespace {

constexpr std::uintptr_t kCancelled = 1;
// A refused chain is tried again so soon if no completion says when.
constexpr Duration kPostAgain = std::chrono::microseconds(20);

}  // namespace

RdmaLnd::RdmaLnd(const RdmaLndConfig& config, LndUpcalls& core)
    : config_(config),
      traits_{.name = "simib",
              .net_type = NetType::kO2ib,
              .places_replies = true,
              .reports_timeouts = true,
              .inline_bytes_max = config.inline_bytes_max,
              .lnd_timeout = config.lnd_timeout},
      slot_bytes_(static_cast<std::uint32_t>(sizeof(RdmaFrame)) + config.inline_bytes_max),
      core_(core),
      peers_(config.peers_max),
      pairs_(config.pairs_max) {
  decided_.reserve(config.pairs_max * kDepth);
}

RdmaLnd::~RdmaLnd() = default;

std::uint64_t RdmaLnd::memory_bytes(const RdmaLndConfig& config) {
  return config.pairs_max * 2 * kSlots * (sizeof(RdmaFrame) + config.inline_bytes_max);
}

void RdmaLnd::attach(o2iblnd::VerbsDriver& driver) {
  driver_ = &driver;
  for (unsigned port = 0; port < kPorts; ++port) {
    if (port % config_.shards != config_.shard) continue;
    const auto listening =
        driver.listen({config_.nid.address32(), static_cast<std::uint16_t>(config_.port + port)});
    PLNET_CHECK(listening.has_value(), "the host has the address of its NID");
  }
}

// --- Peers and queue pairs ---

RdmaLnd::Peer* RdmaLnd::peer_of(PeerLink& link) {
  if (link.lnd_peer != nullptr) return static_cast<Peer*>(link.lnd_peer);
  Peer* const peer = peers_.take();
  if (peer == nullptr) return nullptr;
  *peer = Peer{};
  peer->link = &link;
  link.lnd_peer = peer;
  quiet_.push_back(*peer);
  return peer;
}

RdmaLnd::Pair* RdmaLnd::pair_of(QueuePairId id) {
  if (id.index >= owners_.size() || owners_[id.index] == ~0U) return nullptr;
  Pair& pair = pairs_.at(owners_[id.index]);
  return pair.id == id ? &pair : nullptr;
}

RdmaLnd::Pair* RdmaLnd::open_pair(QueuePairId id, bool active) {
  Pair* const pair = pairs_.take();
  if (pair == nullptr) return nullptr;
  pair->id = id;
  pair->state = Pair::State::kOpening;
  pair->active = active;
  pair->was_open = pair->parked = false;
  pair->cause = Errc::kReset;
  pair->peer = nullptr;
  pair->link = nullptr;
  pair->credits = active ? kDepth : 0;
  pair->owed = 0;
  pair->used = 0;
  pair->order_head = pair->order_count = 0;
  pair->free_slots = kSlots;
  for (std::size_t i = 0; i < kSlots; ++i)
    pair->slots[i] = static_cast<std::uint8_t>(i);
  if (id.index >= owners_.size()) owners_.resize(id.index + 1, ~0U);
  owners_[id.index] = pairs_.index_of(pair);
  return pair;
}

Fragment RdmaLnd::slot_memory(const Pair& pair, std::size_t slot, bool receive) const {
  const std::size_t number = pairs_.index_of(&pair) * 2 * kSlots + (receive ? kSlots : 0) + slot;
  return {{config_.memory.arena, config_.memory.offset + number * slot_bytes_}, slot_bytes_};
}

void RdmaLnd::post_receive(const Pair& pair, std::size_t slot) {
  const o2iblnd::ReceiveRequest request{.buffer = slot_memory(pair, slot, true),
                                        .cookie = cookie_of(CookieKind::kReceive, 0, slot)};
  (void)driver_->post_receives(pair.id, {&request, 1});
}

void RdmaLnd::connect(Peer& peer) {
  RdmaHello hello{.nid = config_.nid};
  std::array<std::byte, sizeof hello> data;
  std::memcpy(data.data(), &hello, sizeof hello);
  const auto port = static_cast<std::uint16_t>(
      config_.port + (config_.nid.address32() * 7 + config_.shard) % kPorts);
  counters_.add(Id::kConnects);
  const auto id =
      pairs_.free_count() == 0
          ? Result<QueuePairId>(std::unexpected(Errc::kNoMemory))
          : driver_->connect({config_.nid.address32(), 0}, {peer.link->nid.address32(), port},
                             {4 * kSlots, kSlots}, {.rnr_retry_count = 7}, data);
  if (!id) {
    counters_.add(Id::kConnectFailures);
    return fail_queue(peer, id.error(), Health::kLocalError);
  }
  Pair* const pair = open_pair(*id, true);
  pair->peer = &peer;
  peer.pair = pair;
  for (std::size_t slot = 0; slot < kSlots; ++slot)
    post_receive(*pair, slot);
}

void RdmaLnd::on_established(QueuePairId id, std::span<const std::byte> /*data*/) {
  Pair* const pair = pair_of(id);
  if (pair == nullptr || pair->state != Pair::State::kOpening) return;
  pair->state = Pair::State::kOpen;
  pair->was_open = true;
  if (pair->active) {
    core_.on_peer(pair->peer->link->nid, PeerNotice::kAlive, now_);
    pump(*pair->peer);
  } else {
    go_on(*pair);
  }
  report();
}

void RdmaLnd::on_rejected(QueuePairId id, o2iblnd::RejectKind /*kind*/,
                          std::span<const std::byte> /*data*/) {
  if (Pair* const pair = pair_of(id)) {
    pair->cause = Errc::kRefused;
    pair->state = Pair::State::kError;
  }
}

void RdmaLnd::on_disconnected(QueuePairId id, Errc cause) {
  Pair* const pair = pair_of(id);
  if (pair == nullptr) return;
  if (pair->state != Pair::State::kError) {
    pair->state = Pair::State::kError;
    pair->cause = cause;
    counters_.add(Id::kLost);
  }
  quarantine_open_sinks(*pair);
  report();
}

void RdmaLnd::on_device(bool usable, Errc cause) {
  core_.on_interface(usable ? InterfaceState::kUp : InterfaceState::kFatal, cause);
}

void RdmaLnd::break_pair(Pair& pair, Errc cause) {
  if (pair.state == Pair::State::kError) return;
  pair.state = Pair::State::kError;
  pair.cause = cause;
  driver_->to_error(pair.id);
}

// Told now; their memory is free when the queue pair has drained.
void RdmaLnd::quarantine_open_sinks(Pair& pair) {
  for (Request& request : pair.requests) {
    if (request.state != Request::State::kAsking || !request.open_sink) continue;
    request.state = Request::State::kQuarantined;
    counters_.add(Id::kQuarantined);
    complete(
        {.transmit = request.transmit,
         .status = std::unexpected(pair.cause),
         .health = pair.cause == Errc::kTimedOut ? Health::kRemoteTimeout : health_of(pair.cause),
         .quarantined = true});
  }
}

// Nobody reaches our memory through it any more.
void RdmaLnd::on_drained(QueuePairId id) {
  Pair* const pair = pair_of(id);
  if (pair == nullptr) return;
  pair->state = Pair::State::kError;
  if (pair->linked()) pair->unlink();
  if (pair->active) {
    quarantine_open_sinks(*pair);
    report();
    for (Request& request : pair->requests) {
      if (request.state == Request::State::kFree) continue;
      if (request.state == Request::State::kQuarantined) {
        request.state = Request::State::kFree;
        --messages_;
        core_.on_quarantine_over(*request.transmit);
        continue;
      }
      const bool late = pair->cause == Errc::kTimedOut;
      end_request(*pair, request, std::unexpected(pair->cause),
                  late ? Health::kNetworkTimeout : health_of(pair->cause));
    }
    Peer& peer = *pair->peer;
    peer.pair = nullptr;
    if (!pair->was_open && !peer.releasing && !shutting_down_) {
      counters_.add(Id::kConnectFailures);
      core_.on_peer(peer.link->nid, PeerNotice::kDown, now_);
      fail_queue(peer, pair->cause, health_of(pair->cause));
    }
    peer.unlink();
    dirty_.push_back(peer);
  } else {
    end_inbound(*pair);
  }
  owners_[id.index] = ~0U;
  pairs_.give(pair);
  report();
}

// --- Messages out ---

std::size_t RdmaLnd::send(std::span<Transmit* const> burst) {
  if (shutting_down_) return 0;
  for (Transmit* const transmit : burst) {
    ++messages_;
    transmit->lnd_next = nullptr;
    transmit->lnd_state = 0;
    Peer* const peer = peer_of(*transmit->next_hop);
    if (peer == nullptr) {
      transmit->lnd_next = orphans_;
      orphans_ = transmit;
      continue;
    }
    (peer->first == nullptr ? peer->first : peer->last->lnd_next) = transmit;
    peer->last = transmit;
    next_check_ = std::min(next_check_, transmit->deadline);
    peer->unlink();
    dirty_.push_back(*peer);
  }
  return burst.size();
}

void RdmaLnd::pump(Peer& peer) {
  Pair* const pair = peer.pair;
  if (pair == nullptr || pair->state != Pair::State::kOpen) return;
  while (peer.first != nullptr && pair->credits > 0 && pair->used < kDepth &&
         pair->free_slots > kDepth) {
    Transmit& transmit = *peer.first;
    Transmit* const next = transmit.lnd_next;
    if (!begin(peer, *pair, transmit)) {
      if (!pair->linked()) again_.push_back(*pair);
      next_check_ = std::min(next_check_, now_ + kPostAgain);
      return;
    }
    peer.first = next;
  }
}

bool RdmaLnd::begin(Peer& /*peer*/, Pair& pair, Transmit& transmit) {
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
    if (all) pump(*pair.peer);
  } else {
    for (Inbound& inbound : pair.inbound)
      all = advance(pair, inbound) && all;
    return_credits(pair);
  }
  if (all) return;
  if (!pair.linked()) again_.push_back(pair);
  next_check_ = std::min(next_check_, now_ + kPostAgain);
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

void RdmaLnd::complete(const Completion& completion) {
  if (!completion.status) counters_.add(Id::kFailed);
  ended_[ended_count_++] = completion;
  if (!completion.quarantined) --messages_;
  if (ended_count_ == ended_.size()) report();
}

void RdmaLnd::report() {
  const std::size_t count = ended_count_;
  ended_count_ = 0;
  if (count > 0) core_.on_sent(std::span(ended_).first(count));
}

void RdmaLnd::fail_queue(Peer& peer, Errc cause, Health health) {
  while (Transmit* const transmit = peer.first) {
    peer.first = transmit->lnd_next;
    complete({.transmit = transmit, .status = std::unexpected(cause), .health = health});
  }
}

unsigned RdmaLnd::flush(Instant now) {
  now_ = now;
  unsigned work = 0;
  while (Transmit* const orphan = orphans_) {
    orphans_ = orphan->lnd_next;
    complete({.transmit = orphan,
              .status = std::unexpected(Errc::kNoMemory),
              .health = Health::kLocalDropped});
    ++work;
  }
  for (std::size_t i = 0; i < decided_.size(); ++i, ++work) {
    Pair& pair = pairs_.at(static_cast<std::uint32_t>(decided_[i] / kDepth));
    Inbound& inbound = pair.inbound[decided_[i] % kDepth];
    if (inbound.state != Inbound::State::kDecided || pair.state == Pair::State::kError) continue;
    pair.parked = false;
    carry_out(pair, inbound);
    offer_queued(pair);
    go_on(pair);
  }
  decided_.clear();
  if (now >= next_check_ || cancel_wanted_) check_deadlines(now);
  while (Peer* const peer = dirty_.pop_front()) {
    ++work;
    quiet_.push_back(*peer);
    if (peer->releasing || shutting_down_) {
      fail_queue(*peer, Errc::kShutdown, Health::kLocalAborted);
    } else if (peer->pair == nullptr) {
      if (peer->first != nullptr) connect(*peer);
    } else {
      pump(*peer);
    }
  }
  report();
  if (releases_ > 0) finish_releases();
  return work;
}

void RdmaLnd::drop_marked(Peer& peer, Instant now) {
  Transmit* keep = nullptr;
  Transmit* at = peer.first;
  peer.first = nullptr;
  while (at != nullptr) {
    Transmit& transmit = *at;
    at = transmit.lnd_next;
    if ((transmit.lnd_state & kCancelled) != 0) {
      complete({.transmit = &transmit, .status = std::unexpected(Errc::kCancelled)});
    } else if (transmit.deadline <= now) {
      counters_.add(Id::kExpired);
      complete({.transmit = &transmit,
                .status = std::unexpected(Errc::kTimedOut),
                .health = Health::kLocalTimeout});
    } else {
      transmit.lnd_next = nullptr;
      (keep == nullptr ? peer.first : keep->lnd_next) = &transmit;
      keep = &transmit;
      next_check_ = std::min(next_check_, transmit.deadline);
    }
  }
  peer.last = keep;
}

void RdmaLnd::check_deadlines(Instant now) {
  cancel_wanted_ = false;
  next_check_ = Instant::max();
  for (std::uint32_t i = 0; i < peers_.capacity(); ++i) {
    if (peers_.is_lent(i)) drop_marked(peers_.at(i), now);
  }
  for (std::uint32_t i = 0; i < pairs_.capacity(); ++i) {
    if (!pairs_.is_lent(i)) continue;
    Pair& pair = pairs_.at(i);
    if (pair.state == Pair::State::kError) continue;
    Instant end = Instant::max();
    for (const Request& request : pair.requests) {
      if (request.state == Request::State::kFree) continue;
      end = std::min(end, request.transmit->deadline);
    }
    for (const Inbound& inbound : pair.inbound) {
      if (inbound.state == Inbound::State::kWaiting) {
        end = std::min(end, inbound.progress + config_.lnd_timeout);
      }
    }
    if (end > now) {
      next_check_ = std::min(next_check_, end);
      continue;
    }
    counters_.add(pair.active ? Id::kExpired : Id::kStalled);
    break_pair(pair, Errc::kTimedOut);
    quarantine_open_sinks(pair);
  }
  IntrusiveList<Pair> again;
  again.splice_back(again_);
  while (Pair* const pair = again.pop_front())
    go_on(*pair);
}

void RdmaLnd::cancel(Transmit& transmit) {
  transmit.lnd_state |= kCancelled;
  cancel_wanted_ = true;
  next_check_ = Instant::min();
}

void RdmaLnd::release_peer(PeerLink& link) {
  if (link.lnd_peer == nullptr) return core_.on_peer_released(link);
  Peer& peer = *static_cast<Peer*>(link.lnd_peer);
  if (peer.releasing) return;
  peer.releasing = true;
  ++releases_;
  peer.unlink();
  dirty_.push_back(peer);
  for (std::uint32_t i = 0; i < pairs_.capacity(); ++i) {
    if (!pairs_.is_lent(i)) continue;
    Pair& pair = pairs_.at(i);
    if (pair.peer == &peer || pair.link == &link) break_pair(pair, Errc::kShutdown);
  }
}

void RdmaLnd::finish_releases() {
  IntrusiveList<Peer> again;
  again.splice_back(quiet_);
  while (Peer* const peer = again.pop_front()) {
    if (peer->releasing && peer->pair == nullptr && peer->first == nullptr && peer->incoming == 0) {
      PeerLink& link = *peer->link;
      link.lnd_peer = nullptr;
      --releases_;
      peers_.give(peer);
      core_.on_peer_released(link);
    } else {
      quiet_.push_back(*peer);
    }
  }
}

void RdmaLnd::shut_down() {
  if (shutting_down_) return;
  shutting_down_ = true;
  for (unsigned port = 0; port < kPorts; ++port)
    driver_->stop_listening(
        {config_.nid.address32(), static_cast<std::uint16_t>(config_.port + port)});
  for (std::uint32_t i = 0; i < peers_.capacity(); ++i) {
    if (!peers_.is_lent(i)) continue;
    peers_.at(i).unlink();
    dirty_.push_back(peers_.at(i));
  }
  for (std::uint32_t i = 0; i < pairs_.capacity(); ++i) {
    if (pairs_.is_lent(i)) break_pair(pairs_.at(i), Errc::kShutdown);
  }
}

bool RdmaLnd::idle() const {
  if (messages_ > 0 || receiving_ > 0 || releases_ > 0 || ended_count_ > 0) return false;
  return !shutting_down_ || pairs_.free_count() == pairs_.capacity();
}

}  // namespace plnet::sim
