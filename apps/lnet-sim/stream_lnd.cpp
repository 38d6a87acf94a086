// SPDX-License-Identifier: BSD-3-Clause
#include "apps/lnet-sim/stream_lnd.hpp"

#include <algorithm>
#include <cstring>

namespace plnet::sim {

using namespace lnet;
using socklnd::SocketAddress;
using socklnd::StreamId;

namespace {

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
    : SimLnd({.name = "simtcp", .net_type = NetType::kTcp, .lnd_timeout = config.lnd_timeout},
             config.peers_max, config.incoming_max, core),
      config_(config),
      incoming_(config.incoming_max) {
  owners_.reserve(config.peers_max + config.incoming_max);
}

StreamLnd::~StreamLnd() = default;

void StreamLnd::attach(socklnd::StreamDriver& driver) {
  driver_ = &driver;
  const auto listening = driver.listen(address_of(config_.nid, config_.port), kBacklog, {});
  PLNET_CHECK(listening.has_value(), "the host has the address of its NID");
}

// --- Messages out ---

void StreamLnd::serve(Peer& peer) {
  if (peer.state == Peer::State::kIdle && peer.first != nullptr) return connect(peer);
  pump(peer);
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
    return fail_waiting(peer, stream.error(), Health::kLocalError);
  }
  peer.stream = *stream;
  peer.state = Peer::State::kConnecting;
  peer.hello_left = kFrameBytes;
  peer.head_sent = 0;
  peer.blocked = false;
  remember(*stream, peers().index_of(&peer));
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
    complete({.transmit = &done});
  }
  peer.head_sent = static_cast<std::uint32_t>(taken);
  peer.blocked = !all;
  return all;
}

void StreamLnd::on_late_head(Peer& peer) {
  if (peer.state != Peer::State::kOpen) return;
  peer.state = Peer::State::kClosing;
  counters_.add(Id::kExpired);
  driver_->close(peer.stream, Errc::kTimedOut);
}

Health StreamLnd::late_health(const Peer& peer) const {
  return peer.state == Peer::State::kOpen ? Health::kNetworkTimeout : Health::kLocalTimeout;
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
  const bool ours = peer.releasing || shutting_down();
  peer.state = Peer::State::kIdle;
  peer.stream = {};
  if (was_open && !ours && peer.head_sent > 0) {
    Transmit& broken = *peer.first;
    peer.first = broken.lnd_next;
    // Its head may have taken a descriptor there, so it is none of those that are sent again.
    complete({.transmit = &broken,
              .status = std::unexpected(cause),
              .health = cause == Errc::kTimedOut ? Health::kNetworkTimeout : Health::kRemoteError});
  }
  peer.head_sent = 0;
  if (ours) {
    fail_waiting(peer, Errc::kShutdown, Health::kLocalAborted);
  } else if (was_open) {
    counters_.add(Id::kLost);
    core_.on_peer(peer.link->nid, PeerNotice::kLost, now_);
    if (peer.first != nullptr) wake(peer);
  } else {
    counters_.add(Id::kConnectFailures);
    core_.on_peer(peer.link->nid, PeerNotice::kDown, now_);
    fail_waiting(peer, cause, health_of(cause));
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

void StreamLnd::close_ours(Peer& peer) {
  if (peer.state == Peer::State::kIdle || peer.state == Peer::State::kClosing) return;
  driver_->close(peer.stream, Errc::kShutdown);
  peer.state = Peer::State::kClosing;
}

void StreamLnd::close_connections(Peer& peer) {
  close_ours(peer);
  for (std::uint32_t i = 0; i < incoming_.capacity() && peer.incoming > 0; ++i) {
    if (!incoming_.is_lent(i) || incoming_.at(i).link != peer.link) continue;
    driver_->close(incoming_.at(i).stream, Errc::kShutdown);
  }
}

void StreamLnd::close_all() {
  driver_->stop_listening(address_of(config_.nid, config_.port));
  for (std::uint32_t i = 0; i < peers().capacity(); ++i) {
    if (peers().is_lent(i)) close_ours(peers().at(i));
  }
  for (std::uint32_t i = 0; i < incoming_.capacity(); ++i) {
    if (incoming_.is_lent(i)) driver_->close(incoming_.at(i).stream, Errc::kShutdown);
  }
}

bool StreamLnd::all_closed() const {
  if (incoming_.free_count() < incoming_.capacity()) return false;
  for (std::uint32_t i = 0; i < peers().capacity(); ++i) {
    if (peers().is_lent(i) && !disconnected(peers().at(i))) return false;
  }
  return true;
}

}  // namespace plnet::sim
