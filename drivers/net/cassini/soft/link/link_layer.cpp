// SPDX-License-Identifier: BSD-3-Clause
// Setup, sending of packets, records of peers.
#include "drivers/net/cassini/soft/link/link_layer.hpp"

#include <algorithm>
#include <cstring>

#include "drivers/net/cassini/soft/link/session_offer.hpp"
#include "lib/base/check.hpp"

namespace plnet::cassini::soft::link {

LinkLayer::LinkLayer(const LinkOptions& options, NicAddress own, Mac mac)
    : options_(options),
      own_(own),
      mac_(mac),
      packet_bytes_max_(options.packet_bytes),
      random_(options.seed),
      send_store_(options.send_packets, options.packet_bytes),
      receive_store_(options.store_packets, options.packet_bytes),
      peers_(std::make_unique<Peer[]>(options.peers)),
      deadlines_(options.peers, kNever),
      addresses_(options.peers) {
  PLNET_CHECK(own < kEverybody, "an address has 20 bits and is not everybody's");
  PLNET_CHECK(options.packet_bytes <= kPayloadMax, "the length of a packet has 16 bits");
  free_.reserve(options.peers);
  for (std::uint32_t i = options.peers; i > 0; --i) {
    peers_[i - 1].send.set_up(options_);
    peers_[i - 1].receive.set_up(options_);
    free_.push_back(i - 1);
  }
}

bool LinkLayer::send(NicAddress to, std::span<const std::byte> header,
                     std::span<const std::byte> payload) {
  const std::size_t length = header.size() + payload.size();
  if (length > packet_bytes_max_) {
    stats_.add(LinkCount::kTooLong);
    return true;
  }
  Peer* peer = peer_of(to);
  if (peer == nullptr) {
    stats_.add(LinkCount::kUnreachable);
    return true;
  }
  // While its record exists, a peer may come back and receive the waiting packets: nothing more is
  // dropped. When it is declared dead, or was never found, all are dropped at once.
  const Slot slot = peer->send.full() ? kNoSlot : send_store_.take();
  if (slot == kNoSlot) {
    stats_.add(LinkCount::kBackPressure);
    return false;
  }
  const std::span<std::byte> place = send_store_.at(slot);
  if (!header.empty()) std::memcpy(place.data(), header.data(), header.size());
  if (!payload.empty()) std::memcpy(place.data() + header.size(), payload.data(), payload.size());
  peer->send.push(slot, static_cast<std::uint32_t>(length), payload_checksum(place.first(length)));
  peer->used_at_ns = now_ns_;
  mark_ready(*peer);
  stats_.add(LinkCount::kPacketsOut);
  stats_.add(LinkCount::kBytesOut, length);
  return true;
}

void LinkLayer::set_link(bool up, std::uint64_t now_ns) {
  now_ns_ = now_ns;
  if (up == is_up_) return;
  is_up_ = up;
  stats_.add(LinkCount::kLinkChanges);
  if (!up) return;
  owes_announcement_ = true;
  forgive_all(now_ns);
}

void LinkLayer::set_address(NicAddress own) {
  PLNET_CHECK(own < kEverybody, "an address has 20 bits and is not everybody's");
  if (own == own_) return;
  for (std::size_t i = 0; i < used_end_; ++i) {
    if (peers_[i].state != Peer::State::kFree)
      stats_.add(LinkCount::kPacketsDropped, release(peers_[i]));
  }
  own_ = own;
  clashing_.reset();
  asker_.reset();
  owes_announcement_ = true;
}

void LinkLayer::set_packet_bytes_max(std::size_t bytes) {
  bytes = std::min(bytes, options_.packet_bytes);
  if (bytes == packet_bytes_max_) return;
  packet_bytes_max_ = bytes;
  for (std::size_t i = 0; i < used_end_; ++i) {
    if (peers_[i].state != Peer::State::kFree) reopen(peers_[i], now_ns_);
  }
}

std::size_t LinkLayer::packet_bytes_max_to(NicAddress to) const {
  const Peer* const peer = find_peer(to);
  return std::min(packet_bytes_max_, peer == nullptr ? kPacketBytesFloor : peer->packet_bytes_max);
}

const Peer* LinkLayer::find_peer(NicAddress address) const {
  const std::uint32_t index = addresses_.find(address);
  return index == AddressTable::kNone ? nullptr : &peers_[index];
}

Peer* LinkLayer::find(NicAddress address) {
  const std::uint32_t index = addresses_.find(address);
  return index == AddressTable::kNone ? nullptr : &peers_[index];
}

std::size_t LinkLayer::index_of(const Peer& peer) const {
  return static_cast<std::size_t>(&peer - peers_.get());
}

Peer* LinkLayer::peer_of(NicAddress address) {
  if (Peer* known = find(address); known != nullptr) return known;
  if (address >= kEverybody || address == own_) return nullptr;
  return new_peer(address, now_ns_);
}

Peer* LinkLayer::new_peer(NicAddress address, std::uint64_t now_ns) {
  if (free_.empty() && !evict_one(now_ns)) {
    stats_.add(LinkCount::kPeersExhausted);
    return nullptr;
  }
  const std::uint32_t index = free_.back();
  free_.pop_back();
  used_end_ = std::max<std::size_t>(used_end_, index + 1);
  addresses_.add(address, index);
  stats_.add(LinkCount::kPeers);
  Peer& peer = peers_[index];
  PLNET_CHECK(peer.state == Peer::State::kFree && !peer.linked(), "a free peer is in no list");
  peer.address = address;
  peer.has_mac = false;
  peer.packet_bytes_max = kPacketBytesFloor;
  peer.send.reset();
  peer.heard_at_ns = peer.used_at_ns = now_ns;
  reopen(peer, now_ns);
  return &peer;
}

// Every greeting gets a record, but the number of records without proof that the peer hears us is
// bounded: a new one replaces the oldest.
Peer* LinkLayer::new_stranger(NicAddress address, std::uint64_t now_ns) {
  const unsigned strangers_max = std::max(options_.peers / 2, 1U);
  unsigned strangers = 0;
  Peer* oldest = nullptr;
  for (std::size_t i = 0; i < used_end_; ++i) {
    Peer& peer = peers_[i];
    if (!is_stranger(peer)) continue;
    ++strangers;
    if (oldest == nullptr || peer.used_at_ns < oldest->used_at_ns) oldest = &peer;
  }
  if (oldest != nullptr && (strangers >= strangers_max || free_.empty())) {
    stats_.add(LinkCount::kStrangersDropped);
    (void)release(*oldest);  // nothing waits for a stranger
  }
  return new_peer(address, now_ns);
}

// The record exists only because of a greeting.
bool LinkLayer::is_stranger(const Peer& peer) const {
  return peer.state != Peer::State::kFree && !peer.is_proven && peer.send.empty() &&
         &peer != current_;
}

// Evicts the least recently used record without waiting packets, strangers first.
bool LinkLayer::evict_one(std::uint64_t now_ns) {
  Peer* oldest = nullptr;
  for (std::size_t i = 0; i < used_end_; ++i) {
    Peer& peer = peers_[i];
    if (is_stranger(peer)) {
      stats_.add(LinkCount::kStrangersDropped);
      (void)release(peer);
      return true;
    }
    if (peer.state != Peer::State::kOpen || &peer == current_ || !peer.send.empty() ||
        peer.receive.has_gap() || now_ns - peer.used_at_ns < options_.probe_ns)
      continue;
    if (oldest == nullptr || peer.used_at_ns < oldest->used_at_ns) oldest = &peer;
  }
  if (oldest != nullptr) (void)release(*oldest);
  return oldest != nullptr;
}

unsigned LinkLayer::release(Peer& peer) {
  PLNET_CHECK(peer.state != Peer::State::kFree, "released twice");
  PLNET_CHECK(&peer != current_, "a peer stays while its packet is handed up");
  if (peer.linked()) peer.unlink();
  const unsigned dropped = peer.send.drop_all(send_store_);
  peer.receive.begin_session(0, receive_store_);
  peer.state = Peer::State::kFree;
  addresses_.remove(peer.address);
  stats_.subtract(LinkCount::kPeers);
  const std::size_t index = index_of(peer);
  deadlines_[index] = kNever;
  free_.push_back(static_cast<std::uint32_t>(index));
  return dropped;
}

void LinkLayer::give_up(Peer& peer) {
  const bool open = peer.state == Peer::State::kOpen;
  if (open) stats_.add(LinkCount::kPeersDead);
  const unsigned dropped = release(peer);
  stats_.add(open ? LinkCount::kPacketsDropped : LinkCount::kUnreachable, dropped);
}

// Our side of a session begins with each hello, the peer's with its answer.
void LinkLayer::reopen(Peer& peer, std::uint64_t now_ns) {
  peer.state = Peer::State::kOpening;
  peer.own_epoch = new_epoch();
  peer.peer_epoch = 0;
  peer.owes_welcome = peer.owes_probe = peer.is_proven = peer.is_doubted = false;
  peer.candidate = {};
  acknowledged(peer);
  peer.send.begin_session();
  peer.receive.begin_session(0, receive_store_);
  peer.retry_at_ns = now_ns;
  peer.retry_ns = peer.has_mac ? options_.rto_initial_ns : options_.ask_ns;
  mark_ready(peer);
  update_deadline(peer);
}

void LinkLayer::open_session(Peer& peer, std::uint32_t epoch, const SessionOffer& offer,
                             Sequence receive_first, std::uint64_t now_ns) {
  PLNET_CHECK(epoch != 0, "a session has an epoch of the peer");
  peer.state = Peer::State::kOpen;
  peer.is_proven = peer.is_doubted = false;
  peer.candidate = {};
  peer.peer_epoch = epoch;
  peer.packet_bytes_max = offer.packet_bytes_max;
  peer.send.set_limit(offer.window);
  peer.send.begin_session();
  peer.receive.begin_session(receive_first, receive_store_);
  acknowledged(peer);
  peer.opened_at_ns = now_ns;
  peer.check_at_ns = now_ns + options_.probe_ns;
  mark_ready(peer);
  update_deadline(peer);
}

std::uint32_t LinkLayer::new_epoch() {
  return static_cast<std::uint32_t>(random_.between(1, UINT32_MAX));
}

void LinkLayer::mark_ready(Peer& peer) {
  if (!peer.linked()) ready_.push_back(peer);
}

void LinkLayer::update_deadline(Peer& peer) {
  std::uint64_t& deadline = deadlines_[index_of(peer)];
  if (peer.state == Peer::State::kOpening) {
    deadline = std::min(peer.retry_at_ns, peer.heard_at_ns + options_.dead_ns);
  } else {
    deadline = std::min({peer.send.deadline_ns(), peer.ack_at_ns, peer.check_at_ns});
  }
}

}  // namespace plnet::cassini::soft::link
