// SPDX-License-Identifier: BSD-3-Clause
#include "apps/lnet-sim/stream_lnd.hpp"

#include <algorithm>
#include <cstring>

namespace plnet::sim {

using namespace lnet;
using socklnd::SocketAddress;
using socklnd::StreamId;

namespace {

constexpr std::uintptr_t kCancelled = 1;
constexpr unsigned kBacklog = 1024;

SocketAddress address_of(const Nid& nid, std::uint16_t port) {
  SocketAddress address{.port = port};
  address.ip[10] = address.ip[11] = 0xff;
  std::copy_n(nid.address_be.begin(), 4, address.ip.begin() + 12);
  return address;
}

std::uint32_t payload_bytes(const Transmit& transmit) {
  return transmit.header.payload_length;
}

}  // namespace

StreamLnd::StreamLnd(const StreamLndConfig& config, LndUpcalls& core)
    : config_(config),
      traits_{.name = "simtcp", .net_type = NetType::kTcp, .lnd_timeout = config.lnd_timeout},
      core_(core),
      peers_(config.peers_max),
      incoming_(config.incoming_max) {
  decided_.reserve(config.incoming_max);
}

StreamLnd::~StreamLnd() = default;

void StreamLnd::attach(socklnd::StreamDriver& driver) {
  driver_ = &driver;
  const auto listening = driver.listen(address_of(config_.nid, config_.port), kBacklog, {});
  PLNET_CHECK(listening.has_value(), "the host has the address of its NID");
}

// --- Peers ---

StreamLnd::Peer* StreamLnd::peer_of(PeerLink& link) {
  if (link.lnd_peer != nullptr) return static_cast<Peer*>(link.lnd_peer);
  Peer* const peer = peers_.take();
  if (peer == nullptr) return nullptr;
  *peer = Peer{};
  peer->link = &link;
  link.lnd_peer = peer;
  quiet_.push_back(*peer);
  return peer;
}

void StreamLnd::make_dirty(Peer& peer) {
  peer.unlink();
  dirty_.push_back(peer);
}

void StreamLnd::enqueue(Peer& peer, Transmit& transmit) {
  transmit.lnd_next = nullptr;
  transmit.lnd_state = 0;
  (peer.first == nullptr ? peer.first : peer.last->lnd_next) = &transmit;
  peer.last = &transmit;
  next_check_ = std::min(next_check_, transmit.deadline);
}

std::size_t StreamLnd::send(std::span<Transmit* const> burst) {
  if (shutting_down_) return 0;
  for (Transmit* const transmit : burst) {
    ++messages_;
    Peer* const peer = peer_of(*transmit->next_hop);
    if (peer == nullptr) {
      transmit->lnd_next = orphans_;
      orphans_ = transmit;
      continue;
    }
    const bool first = peer->first == nullptr;
    enqueue(*peer, *transmit);
    if (first) make_dirty(*peer);
  }
  return burst.size();
}

void StreamLnd::connect(Peer& peer) {
  socklnd::ConnectRequest request;
  request.addresses.local = address_of(config_.nid, 0);
  request.addresses.remote = address_of(peer.link->nid, config_.port);
  request.privileged_port = false;
  counters_.add(Id::kConnects);
  const auto stream = driver_->connect(request);
  if (!stream) {
    counters_.add(Id::kConnectFailures);
    return fail_unsent(peer, stream.error(), Health::kLocalError);
  }
  peer.stream = *stream;
  peer.state = Peer::State::kConnecting;
  peer.hello_left = kFrameBytes;
  peer.head_sent = 0;
  peer.blocked = false;
  remember(*stream, peers_.index_of(&peer));
}

void StreamLnd::encode(const MessageHeader& header, Frame& out) const {
  const std::array<std::uint32_t, 2> words{kMagic, header.payload_length};
  std::memcpy(out.data(), words.data(), sizeof words);
  encode_header_nid16(header, std::span(out).subspan<8, kHeaderNid16Bytes>());
}

void StreamLnd::pump(Peer& peer) {
  while (peer.state == Peer::State::kOpen && !peer.blocked &&
         (peer.first != nullptr || peer.hello_left > 0)) {
    if (!write_some(peer)) break;
  }
}

// One write of as many messages as fit. False: the stream is full.
bool StreamLnd::write_some(Peer& peer) {
  std::array<std::span<const std::byte>, kPiecesPerWrite> pieces;
  std::size_t count = 0;
  std::size_t frames = 0;
  std::size_t offered = 0;
  const auto add = [&](std::span<const std::byte> piece) {
    pieces[count++] = piece;
    offered += piece.size();
  };
  if (peer.hello_left > 0) {
    MessageHeader hello{.destination = peer.link->nid, .source = config_.nid};
    hello.type = MessageType::kHello;
    encode(hello, frames_[frames]);
    add(std::span(frames_[frames++]).last(peer.hello_left));
  }
  std::uint32_t skip = peer.head_sent;
  for (const Transmit* at = peer.first;
       at != nullptr && frames < kFramesPerWrite && count < kPiecesPerWrite; at = at->lnd_next) {
    encode(at->header, frames_[frames]);
    if (skip < kFrameBytes) add(std::span(frames_[frames]).subspan(skip));
    ++frames;
    const std::uint32_t behind =
        skip > kFrameBytes ? static_cast<std::uint32_t>(skip - kFrameBytes) : 0U;
    skip = 0;
    if (payload_bytes(*at) == behind) continue;
    PayloadCursor cursor(at->source, payload_bytes(*at));
    cursor.advance(behind);
    while (cursor.left() > 0 && count < kPiecesPerWrite) {
      add(config_.arenas->bytes(cursor.piece()));
      cursor.advance(cursor.piece().length);
    }
    if (cursor.left() > 0) break;
  }
  std::size_t taken = driver_->write(peer.stream, std::span(pieces).first(count));
  const bool all = taken == offered;
  const auto greeting = std::min<std::size_t>(taken, peer.hello_left);
  peer.hello_left -= static_cast<std::uint32_t>(greeting);
  taken = taken - greeting + peer.head_sent;
  while (peer.first != nullptr && taken >= kFrameBytes + payload_bytes(*peer.first)) {
    Transmit& done = *peer.first;
    taken -= kFrameBytes + payload_bytes(done);
    peer.first = done.lnd_next;
    counters_.add(Id::kSent);
    complete(done, {}, Health::kOk);
  }
  peer.head_sent = static_cast<std::uint32_t>(taken);
  peer.blocked = !all;
  return all;
}

void StreamLnd::complete(Transmit& transmit, Result<void> status, Health health) {
  if (!status) counters_.add(Id::kFailed);
  ended_[ended_count_++] = {.transmit = &transmit, .status = status, .health = health};
  --messages_;
  if (ended_count_ == ended_.size()) report();
}

void StreamLnd::report() {
  const std::size_t count = ended_count_;
  ended_count_ = 0;
  if (count > 0) core_.on_sent(std::span(ended_).first(count));
}

void StreamLnd::fail_unsent(Peer& peer, Errc cause, Health health) {
  while (Transmit* const transmit = peer.first) {
    peer.first = transmit->lnd_next;
    complete(*transmit, std::unexpected(cause), health);
  }
  peer.head_sent = 0;
}

// Those that were cancelled or are late; one that has begun ends with its connection.
void StreamLnd::drop_marked(Peer& peer, Instant now) {
  if (peer.head_sent > 0 && peer.first->deadline <= now && peer.state == Peer::State::kOpen) {
    peer.state = Peer::State::kClosing;
    counters_.add(Id::kExpired);
    driver_->close(peer.stream, Errc::kTimedOut);
  }
  Transmit* keep = peer.head_sent > 0 ? peer.first : nullptr;
  Transmit* at = keep != nullptr ? keep->lnd_next : peer.first;
  if (keep == nullptr) peer.first = nullptr;
  while (at != nullptr) {
    Transmit& transmit = *at;
    at = transmit.lnd_next;
    if ((transmit.lnd_state & kCancelled) != 0) {
      complete(transmit, std::unexpected(Errc::kCancelled), Health::kOk);
    } else if (transmit.deadline <= now) {
      counters_.add(Id::kExpired);
      complete(transmit, std::unexpected(Errc::kTimedOut),
               peer.state == Peer::State::kOpen ? Health::kNetworkTimeout : Health::kLocalTimeout);
    } else {
      transmit.lnd_next = nullptr;
      (keep == nullptr ? peer.first : keep->lnd_next) = &transmit;
      keep = &transmit;
    }
  }
  if (keep != nullptr) keep->lnd_next = nullptr;
  peer.last = keep;
}

unsigned StreamLnd::flush(Instant now) {
  now_ = now;
  unsigned work = 0;
  while (Transmit* const orphan = orphans_) {
    orphans_ = orphan->lnd_next;
    complete(*orphan, std::unexpected(Errc::kNoMemory), Health::kLocalDropped);
    ++work;
  }
  for (std::size_t i = 0; i < decided_.size(); ++i, ++work) {
    Incoming& connection = incoming_.at(decided_[i]);
    if (connection.state == Incoming::State::kDecided) {
      driver_->resume_reading(connection.stream);
      carry_out(connection);
    }
  }
  decided_.clear();
  if (now >= next_check_ || cancel_wanted_) check_deadlines(now);
  while (Peer* const peer = dirty_.pop_front()) {
    ++work;
    quiet_.push_back(*peer);
    if (peer->releasing || shutting_down_) {
      if (peer->head_sent == 0) fail_unsent(*peer, Errc::kShutdown, Health::kLocalAborted);
    } else if (peer->state == Peer::State::kIdle && peer->first != nullptr) {
      connect(*peer);
    } else {
      pump(*peer);
    }
  }
  report();
  if (releases_ > 0) finish_releases();
  return work;
}

void StreamLnd::check_deadlines(Instant now) {
  cancel_wanted_ = false;
  next_check_ = Instant::max();
  while (Peer* const peer = dirty_.pop_front())
    quiet_.push_back(*peer);
  IntrusiveList<Peer> again;
  again.splice_back(quiet_);
  while (Peer* const peer = again.pop_front()) {
    drop_marked(*peer, now);
    for (const Transmit* at = peer->first; at != nullptr; at = at->lnd_next) {
      const bool closing = peer->state == Peer::State::kClosing;
      if (!(closing && at == peer->first)) next_check_ = std::min(next_check_, at->deadline);
    }
    (peer->first != nullptr ? dirty_ : quiet_).push_back(*peer);
  }
  if (receiving_ == 0) return;
  for (std::uint32_t i = 0; i < incoming_.capacity(); ++i) {
    Incoming& connection = incoming_.at(i);
    if (!connection.in_use || connection.state != Incoming::State::kPayload) continue;
    const Instant end = connection.progress + config_.lnd_timeout;
    if (now >= end) {
      counters_.add(Id::kStalled);
      protocol_error(connection, Errc::kTimedOut);
    } else {
      next_check_ = std::min(next_check_, end);
    }
  }
}

void StreamLnd::cancel(Transmit& transmit) {
  transmit.lnd_state |= kCancelled;
  cancel_wanted_ = true;
  next_check_ = Instant::min();
}

// --- Connections of ours ---

void StreamLnd::on_connected(StreamId stream, const socklnd::StreamAddresses& /*addresses*/) {
  Peer* const peer = outgoing(stream);
  if (peer == nullptr || peer->state != Peer::State::kConnecting) return;
  peer->state = Peer::State::kOpen;
  core_.on_peer(peer->link->nid, PeerNotice::kAlive, now_);
  pump(*peer);
  report();
}

void StreamLnd::on_writable(StreamId stream) {
  Peer* const peer = outgoing(stream);
  if (peer == nullptr) return;
  peer->blocked = false;
  pump(*peer);
  report();
}

// What was begun is lost. What was not goes with the next connection, unless there was none.
void StreamLnd::out_closed(Peer& peer, Errc cause) {
  const bool was_open = peer.state != Peer::State::kConnecting;
  const bool ours = peer.releasing || shutting_down_;
  peer.state = Peer::State::kIdle;
  peer.stream = {};
  if (ours) {
    fail_unsent(peer, Errc::kShutdown, Health::kLocalAborted);
  } else if (!was_open) {
    counters_.add(Id::kConnectFailures);
    core_.on_peer(peer.link->nid, PeerNotice::kDown, now_);
    fail_unsent(peer, cause, health_of(cause));
  } else {
    counters_.add(Id::kLost);
    if (peer.head_sent > 0) {
      Transmit& broken = *peer.first;
      peer.first = broken.lnd_next;
      complete(broken, std::unexpected(cause), health_of(cause));
    }
    peer.head_sent = 0;
    if (peer.first != nullptr) make_dirty(peer);
  }
  report();
}

void StreamLnd::on_closed(StreamId stream, Errc cause, std::uint64_t /*unacknowledged*/) {
  Peer* const peer = outgoing(stream);
  Incoming* const connection = incoming(stream);
  remember(stream, kNone);
  if (peer != nullptr) out_closed(*peer, cause);
  if (connection != nullptr) in_closed(*connection, cause);
}

void StreamLnd::release_peer(PeerLink& link) {
  if (link.lnd_peer == nullptr) return core_.on_peer_released(link);
  Peer& peer = *static_cast<Peer*>(link.lnd_peer);
  if (peer.releasing) return;
  peer.releasing = true;
  ++releases_;
  make_dirty(peer);
  if (peer.state != Peer::State::kIdle && peer.state != Peer::State::kClosing) {
    driver_->close(peer.stream, Errc::kShutdown);
    peer.state = Peer::State::kClosing;
  }
  for (std::uint32_t i = 0; i < incoming_.capacity() && peer.incoming > 0; ++i) {
    Incoming& connection = incoming_.at(i);
    if (connection.in_use && connection.link == &link) {
      driver_->close(connection.stream, Errc::kShutdown);
    }
  }
}

void StreamLnd::finish_releases() {
  IntrusiveList<Peer> again;
  again.splice_back(quiet_);
  while (Peer* const peer = again.pop_front()) {
    if (peer->releasing && peer->state == Peer::State::kIdle && peer->first == nullptr &&
        peer->incoming == 0) {
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

void StreamLnd::shut_down() {
  if (shutting_down_) return;
  shutting_down_ = true;
  driver_->stop_listening(address_of(config_.nid, config_.port));
  for (std::uint32_t i = 0; i < peers_.capacity(); ++i) {
    if (!peers_.is_lent(i)) continue;
    Peer& peer = peers_.at(i);
    make_dirty(peer);
    if (peer.state == Peer::State::kIdle || peer.state == Peer::State::kClosing) continue;
    driver_->close(peer.stream, Errc::kShutdown);
    peer.state = Peer::State::kClosing;
  }
  for (std::uint32_t i = 0; i < incoming_.capacity(); ++i) {
    if (incoming_.at(i).in_use) driver_->close(incoming_.at(i).stream, Errc::kShutdown);
  }
}

bool StreamLnd::idle() const {
  if (messages_ > 0 || receiving_ > 0 || releases_ > 0 || ended_count_ > 0) return false;
  if (!shutting_down_) return true;
  if (incoming_.free_count() < incoming_.capacity()) return false;
  for (std::uint32_t i = 0; i < peers_.capacity(); ++i) {
    if (peers_.is_lent(i) && peers_.at(i).state != Peer::State::kIdle) return false;
  }
  return true;
}

}  // namespace plnet::sim
