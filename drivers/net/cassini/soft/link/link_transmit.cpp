// SPDX-License-Identifier: BSD-3-Clause
// Due timers, and frames to send.
#include <algorithm>
#include <array>
#include <cstring>

#include "drivers/net/cassini/soft/link/link_layer.hpp"
#include "drivers/net/cassini/soft/link/session_offer.hpp"
#include "lib/base/check.hpp"

namespace plnet::cassini::soft::link {

namespace {

constexpr std::uint64_t kTickNs = 5'000;  // precision of deadlines
constexpr unsigned kQuantum = 16;         // frames to one peer before another peer's turn
// The session itself is broken if the peer is heard all the time but acknowledges nothing.
constexpr unsigned kTimeoutsMax = 16;

constexpr std::uint32_t low_half(std::uint64_t now_ns) {
  return static_cast<std::uint32_t>(now_ns);
}

}  // namespace

unsigned LinkLayer::transmit(std::uint64_t now_ns, FramePort& port) {
  look_at_clock(now_ns);
  if (!is_up_) return 0;
  if (now_ns >= tick_at_ns_) tick(now_ns);
  const std::uint64_t before = stats_.get(LinkCount::kFramesOut);
  if (owes_announcement_ && !send_announcement(port, now_ns)) return 0;
  if (asker_ && !send_answer(*asker_, port, now_ns)) return 0;
  while (Peer* peer = ready_.front()) {
    const Served served = serve(*peer, now_ns, port);
    if (served == Served::kPortFull) break;
    if (peer->linked()) peer->unlink();
    if (served == Served::kMore) ready_.push_back(*peer);
    if (peer->state != Peer::State::kFree) update_deadline(*peer);
    if (stats_.get(LinkCount::kFramesOut) - before >= kFramesPerTurn) break;
  }
  return static_cast<unsigned>(stats_.get(LinkCount::kFramesOut) - before);
}

// After a long gap this process was stopped, by a debugger or the scheduler: no reason to declare
// peers dead.
void LinkLayer::look_at_clock(std::uint64_t now_ns) {
  const bool was_away = now_ns > now_ns_ + options_.probe_ns;
  now_ns_ = now_ns;
  if (was_away) forgive_all(now_ns);
}

void LinkLayer::forgive_all(std::uint64_t now_ns) {
  for (std::size_t i = 0; i < used_end_; ++i) {
    Peer& peer = peers_[i];
    if (peer.state == Peer::State::kFree) continue;
    peer.heard_at_ns = now_ns;
    peer.retry_at_ns = std::min(peer.retry_at_ns, now_ns);
    peer.check_at_ns = now_ns + options_.probe_ns;
    peer.send.forgive(now_ns);
    mark_ready(peer);
    update_deadline(peer);
  }
}

void LinkLayer::tick(std::uint64_t now_ns) {
  tick_at_ns_ = now_ns + kTickNs;
  for (std::size_t i = 0; i < used_end_; ++i) {
    if (deadlines_[i] <= now_ns) on_deadline(peers_[i], now_ns);
  }
}

void LinkLayer::on_deadline(Peer& peer, std::uint64_t now_ns) {
  if (peer.state == Peer::State::kOpening && now_ns - peer.heard_at_ns >= options_.dead_ns)
    return give_up(peer);
  if (peer.state == Peer::State::kOpen) {
    if (now_ns >= peer.check_at_ns && !check_life(peer, now_ns)) return;
    const auto overdue = peer.send.on_deadline(now_ns);
    if (overdue.timed_out) stats_.add(LinkCount::kTimeouts);
    if (overdue.lost > 0) stats_.add(LinkCount::kLost, overdue.lost);
    if (overdue.backed_off) stats_.add(LinkCount::kBackoffs);
    if (overdue.timed_out && peer.send.timeouts_in_a_row() >= kTimeoutsMax &&
        now_ns - peer.heard_at_ns < options_.probe_ns)
      return reopen(peer, now_ns);
  }
  mark_ready(peer);
  update_deadline(peer);
}

// False: the record has been released.
bool LinkLayer::check_life(Peer& peer, std::uint64_t now_ns) {
  if (now_ns - peer.heard_at_ns >= options_.dead_ns) {
    give_up(peer);
    return false;
  }
  if (now_ns - peer.used_at_ns >= options_.idle_ns && peer.send.empty()) {
    (void)release(peer);
    return false;
  }
  const bool is_silent = now_ns - peer.heard_at_ns >= options_.probe_ns;
  peer.owes_probe = is_silent;
  peer.check_at_ns = (is_silent ? now_ns : peer.heard_at_ns) + options_.probe_ns;
  return true;
}

LinkLayer::Served LinkLayer::serve(Peer& peer, std::uint64_t now_ns, FramePort& port) {
  return peer.state == Peer::State::kOpen ? serve_open(peer, now_ns, port)
                                          : serve_opening(peer, now_ns, port);
}

LinkLayer::Served LinkLayer::serve_opening(Peer& peer, std::uint64_t now_ns, FramePort& port) {
  PLNET_DEBUG_CHECK(peer.state == Peer::State::kOpening, "a free peer is in no list");
  if (now_ns < peer.retry_at_ns) return Served::kDone;
  const FrameType type = peer.has_mac ? FrameType::kHello : FrameType::kAsk;
  if (!send_plain(peer, type, now_ns, port)) return Served::kPortFull;
  if (type == FrameType::kAsk) stats_.add(LinkCount::kAsks);
  peer.retry_at_ns = now_ns + peer.retry_ns;
  peer.retry_ns =
      std::min(peer.retry_ns * 2, peer.has_mac ? options_.rto_max_ns : options_.ask_max_ns);
  return Served::kDone;
}

LinkLayer::Served LinkLayer::serve_open(Peer& peer, std::uint64_t now_ns, FramePort& port) {
  if (peer.owes_welcome) {
    if (!send_plain(peer, FrameType::kWelcome, now_ns, port)) return Served::kPortFull;
    peer.owes_welcome = false;
  }
  if (peer.candidate.owes_welcome && !send_candidate_welcome(peer, now_ns, port))
    return Served::kPortFull;
  unsigned sent = 0;
  for (auto next = peer.send.next(); next && sent < kQuantum; next = peer.send.next(), ++sent) {
    if (!send_data(peer, *next, now_ns, port)) return Served::kPortFull;
  }
  const bool is_ack_due = peer.owes_ack_now || peer.acks_owed >= options_.ack_every ||
                          (peer.acks_owed > 0 && now_ns >= peer.ack_at_ns);
  if (is_ack_due && !send_ack(peer, now_ns, port)) return Served::kPortFull;
  if (peer.owes_probe) {
    if (!send_plain(peer, FrameType::kProbe, now_ns, port)) return Served::kPortFull;
    peer.owes_probe = false;
  }
  return sent == kQuantum ? Served::kMore : Served::kDone;
}

Frame LinkLayer::frame_to(const Peer& peer, FrameType type, std::uint64_t now_ns) const {
  return {.destination_mac = peer.mac,
          .source_mac = mac_,
          .type = type,
          .flags = peer.has_echo ? std::uint16_t{kEchoes} : std::uint16_t{0},
          .destination = peer.address,
          .source = own_,
          .destination_epoch = peer.peer_epoch,
          .source_epoch = peer.own_epoch,
          .ack = peer.receive.next(),
          .sent_at = low_half(now_ns),
          .echo = peer.has_echo ? peer.echo : 0};
}

void LinkLayer::acknowledged(Peer& peer) {
  peer.acks_owed = 0;
  peer.ack_at_ns = kNever;
  peer.has_echo = peer.owes_ack_now = false;
}

bool LinkLayer::send_announcement(FramePort& port, std::uint64_t now_ns) {
  const Frame frame{.destination_mac = kBroadcast,
                    .source_mac = mac_,
                    .type = FrameType::kAnnounce,
                    .destination = kEverybody,
                    .source = own_,
                    .sent_at = low_half(now_ns)};
  if (!put(frame, {}, payload_checksum({}), port)) return false;
  owes_announcement_ = false;
  return true;
}

bool LinkLayer::send_answer(const Asker& asker, FramePort& port, std::uint64_t now_ns) {
  const Frame frame{.destination_mac = asker.mac,
                    .source_mac = mac_,
                    .type = FrameType::kAnswer,
                    .destination = asker.address,
                    .source = own_,
                    .sent_at = low_half(now_ns)};
  if (!put(frame, {}, payload_checksum({}), port)) return false;
  asker_.reset();
  return true;
}

bool LinkLayer::send_plain(Peer& peer, FrameType type, std::uint64_t now_ns, FramePort& port) {
  Frame frame = frame_to(peer, type, now_ns);
  if (type == FrameType::kAsk) {
    frame.destination_mac = kBroadcast;
    frame.source_epoch = 0;
  }
  if (type != FrameType::kHello && type != FrameType::kWelcome)
    return put(frame, {}, payload_checksum({}), port);
  frame.sequence = peer.send.first();
  const auto offer = encode_offer(own_offer());
  return put(frame, offer, payload_checksum(offer), port);
}

bool LinkLayer::send_candidate_welcome(Peer& peer, std::uint64_t now_ns, FramePort& port) {
  Peer::Candidate& candidate = peer.candidate;
  const Frame frame{.destination_mac = candidate.mac,
                    .source_mac = mac_,
                    .type = FrameType::kWelcome,
                    .destination = peer.address,
                    .source = own_,
                    .destination_epoch = candidate.peer_epoch,
                    .source_epoch = candidate.own_epoch,
                    .sequence = candidate.send_first,
                    .ack = candidate.receive_first,
                    .sent_at = low_half(now_ns)};
  const auto offer = encode_offer(own_offer());
  if (!put(frame, offer, payload_checksum(offer), port)) return false;
  candidate.owes_welcome = false;
  return true;
}

SessionOffer LinkLayer::own_offer() const {
  return {.packet_bytes_max = static_cast<std::uint32_t>(packet_bytes_max_),
          .window = options_.window};
}

bool LinkLayer::send_data(Peer& peer, Sequence sequence, std::uint64_t now_ns, FramePort& port) {
  const SendWindow::Packet& packet = peer.send.at(sequence);
  Frame frame = frame_to(peer, FrameType::kData, now_ns);
  frame.sequence = sequence;
  const bool is_too_long =
      packet.length > packet_bytes_max_ || packet.length > peer.packet_bytes_max;
  bool is_put = false;
  if (is_too_long) {
    frame.flags |= kVoid;
    is_put = put(frame, {}, payload_checksum({}), port);
  } else {
    is_put = put(frame, send_store_.at(packet.slot).first(packet.length), packet.checksum, port);
  }
  if (!is_put) return false;
  if (is_too_long && packet.times_sent == 0) stats_.add(LinkCount::kTooLong);
  if (packet.times_sent > 0) stats_.add(LinkCount::kResent);
  peer.send.sent(sequence, now_ns);
  // Data acknowledges everything before a gap; packets beyond a gap need a frame of their own.
  if (!peer.receive.has_gap()) acknowledged(peer);
  return true;
}

bool LinkLayer::send_ack(Peer& peer, std::uint64_t now_ns, FramePort& port) {
  std::array<std::byte, ReceiveWindow::kBitsMax> bits{};
  const std::size_t used = peer.receive.write_bits(bits);
  const std::span<const std::byte> payload(bits.data(), used);
  if (!put(frame_to(peer, FrameType::kAck, now_ns), payload, payload_checksum(payload), port))
    return false;
  stats_.add(LinkCount::kAcksOut);
  acknowledged(peer);
  return true;
}

bool LinkLayer::put(const Frame& frame, std::span<const std::byte> payload, std::uint32_t checksum,
                    FramePort& port) {
  const std::size_t bytes = kFrameHeaderBytes + payload.size();
  const std::span<std::byte> place = port.begin_frame(bytes);
  if (place.empty()) return false;
  PLNET_CHECK(place.size() >= bytes, "memory of the requested size");
  if (!payload.empty())
    std::memcpy(place.data() + kFrameHeaderBytes, payload.data(), payload.size());
  encode_frame(frame, payload.size(), checksum, place.first<kFrameHeaderBytes>());
  port.end_frame();
  stats_.add(LinkCount::kFramesOut);
  return true;
}

}  // namespace plnet::cassini::soft::link
