// SPDX-License-Identifier: BSD-3-Clause
// Processing of received frames.
#include "drivers/net/cassini/soft/link/link_layer.hpp"
#include "drivers/net/cassini/soft/link/session_offer.hpp"
#include "lib/base/check.hpp"

namespace plnet::cassini::soft::link {

namespace {

// After the start of a session, frames of the previous one may still arrive: no reason for a new
// one.
constexpr std::uint64_t kSettlingNs = 10'000'000;

}  // namespace

void LinkLayer::receive(std::span<const std::byte> bytes, std::uint64_t now_ns,
                        WireEvents& events) {
  look_at_clock(now_ns);
  const auto received = decode_frame(bytes);
  if (!received) return count_fault(received.error());
  const Frame& frame = received->frame;
  if (!is_for_us(frame)) return;
  stats_.add(LinkCount::kFramesIn);
  switch (frame.type) {
    case FrameType::kAnnounce:
    case FrameType::kAnswer:
      // Announcements create no records; sending to a peer does.
      if (Peer* peer = find(frame.source); peer != nullptr) learn_mac(*peer, frame.source_mac);
      return;
    case FrameType::kAsk: return on_ask(frame);
    case FrameType::kHello: return on_hello(*received, now_ns);
    case FrameType::kWelcome: return on_welcome(*received, now_ns);
    case FrameType::kData:
    case FrameType::kAck:
    case FrameType::kProbe: return on_session_frame(*received, now_ns, events);
  }
}

void LinkLayer::count_fault(FrameFault fault) {
  switch (fault) {
    case FrameFault::kForeign: return stats_.add(LinkCount::kForeign);
    case FrameFault::kVersion: return stats_.add(LinkCount::kBadVersion);
    case FrameFault::kMalformed: return stats_.add(LinkCount::kMalformed);
    case FrameFault::kChecksum: return stats_.add(LinkCount::kBadChecksum);
  }
}

bool LinkLayer::is_for_us(const Frame& frame) {
  if (frame.source_mac == mac_) {  // our own frame, reflected
    stats_.add(LinkCount::kForeign);
    return false;
  }
  if (frame.source == own_) {
    stats_.add(LinkCount::kClashes);
    clashing_ = frame.source_mac;
    return false;
  }
  const bool is_to_all = frame.type == FrameType::kAnnounce && frame.destination == kEverybody;
  if (!is_to_all && frame.destination != own_) {
    stats_.add(LinkCount::kForeign);
    return false;
  }
  return true;
}

void LinkLayer::learn_mac(Peer& peer, Mac mac) {
  if (peer.has_mac && peer.mac == mac) return;
  if (peer.has_mac) stats_.add(LinkCount::kPeersMoved);
  if (!peer.has_mac && peer.state == Peer::State::kOpening) {
    peer.retry_at_ns = now_ns_;  // its place is known now: send hello
    peer.retry_ns = options_.rto_initial_ns;
  }
  peer.mac = mac;
  peer.has_mac = true;
  mark_ready(peer);
}

void LinkLayer::on_ask(const Frame& frame) {
  asker_ = Asker{.address = frame.source, .mac = frame.source_mac};
  if (Peer* peer = find(frame.source); peer != nullptr) learn_mac(*peer, frame.source_mac);
}

void LinkLayer::on_hello(const ReceivedFrame& received, std::uint64_t now_ns) {
  const Frame& frame = received.frame;
  if (frame.source_epoch == 0 || !is_offer(received.payload))
    return stats_.add(LinkCount::kMalformed);
  Peer* peer = find(frame.source);
  if (peer == nullptr) peer = new_stranger(frame.source, now_ns);
  if (peer == nullptr) return;
  const bool is_of_session =
      peer->state == Peer::State::kOpen && peer->peer_epoch == frame.source_epoch;
  if (peer->is_proven && !is_of_session) return consider(*peer, received);
  learn_mac(*peer, frame.source_mac);
  peer->heard_at_ns = now_ns;
  if (!is_of_session) {
    // A new session of the peer begins a new one of ours, too: past and late acknowledgements of
    // the peer must not count any more.
    if (peer->state == Peer::State::kOpen) {
      stats_.add(LinkCount::kPeersRestarted);
      peer->own_epoch = new_epoch();
    }
    open_session(*peer, frame.source_epoch, decode_offer(received.payload), frame.sequence, now_ns);
  }
  peer->owes_welcome = true;
  mark_ready(*peer);
}

// A greeting within a working session: the peer restarted, or this is an old one, repeated. It is
// answered, and the session continues until a frame proves that the answer arrived.
void LinkLayer::consider(Peer& peer, const ReceivedFrame& received) {
  const Frame& frame = received.frame;
  Peer::Candidate& candidate = peer.candidate;
  // A repeated greeting of the same sender gets the same offer, as long as it is valid.
  if (candidate.own_epoch == 0 || candidate.peer_epoch != frame.source_epoch ||
      candidate.send_first != peer.send.first()) {
    candidate = {.own_epoch = new_epoch(),
                 .peer_epoch = frame.source_epoch,
                 .receive_first = frame.sequence,
                 .send_first = peer.send.first()};
  }
  candidate.mac = frame.source_mac;
  candidate.offer = decode_offer(received.payload);
  candidate.owes_welcome = true;
  mark_ready(peer);
}

// False: the frame belongs to no offered session.
bool LinkLayer::adopt_candidate(Peer& peer, const Frame& frame, std::uint64_t now_ns) {
  const Peer::Candidate candidate = peer.candidate;
  if (candidate.own_epoch == 0 || frame.destination_epoch != candidate.own_epoch ||
      frame.source_epoch != candidate.peer_epoch)
    return false;
  // An acknowledgement of the old session arrived meanwhile: the new session would wait for packets
  // that are gone.
  if (peer.send.first() != candidate.send_first) {
    peer.candidate = {};
    return false;
  }
  stats_.add(LinkCount::kPeersRestarted);
  peer.own_epoch = candidate.own_epoch;
  peer.owes_welcome = peer.owes_probe = false;
  open_session(peer, candidate.peer_epoch, candidate.offer, candidate.receive_first, now_ns);
  return true;
}

void LinkLayer::on_welcome(const ReceivedFrame& received, std::uint64_t now_ns) {
  const Frame& frame = received.frame;
  if (frame.source_epoch == 0 || !is_offer(received.payload))
    return stats_.add(LinkCount::kMalformed);
  Peer* peer = find(frame.source);
  if (peer == nullptr) return stats_.add(LinkCount::kStale);
  // The frame answers ours, so its sender is alive now. A frame of a past session, or an answer to
  // a greeting that another sender forged in our name, proves nothing.
  if (frame.destination_epoch != peer->own_epoch) return stats_.add(LinkCount::kStale);
  const bool is_of_session =
      peer->state == Peer::State::kOpen && frame.source_epoch == peer->peer_epoch;
  if (peer->is_proven && !is_of_session) return stats_.add(LinkCount::kStale);
  learn_mac(*peer, frame.source_mac);
  peer->heard_at_ns = now_ns;
  if (!is_of_session) {
    open_session(*peer, frame.source_epoch, decode_offer(received.payload), frame.sequence, now_ns);
  }
  // The sender of the answer waits for proof that it arrived.
  peer->is_proven = peer->owes_ack_now = true;
  mark_ready(*peer);
}

// A frame of a session other than the open one: a late frame, or the two sides disagree about the
// session. The peer is probed in the open one; without an answer, a new session resolves it.
void LinkLayer::on_mismatch(Peer& peer, const Frame& frame, std::uint64_t now_ns) {
  stats_.add(LinkCount::kStale);
  if (peer.state != Peer::State::kOpen || frame.type == FrameType::kAck) return;
  if (!peer.is_doubted) {
    peer.is_doubted = true;
    peer.doubted_at_ns = now_ns;
    peer.doubt_probed_at_ns = 0;
  }
  if (now_ns - peer.doubt_probed_at_ns >= options_.rto_min_ns) {
    peer.doubt_probed_at_ns = now_ns;
    peer.owes_probe = true;
    mark_ready(peer);
  }
  if (now_ns - peer.opened_at_ns < kSettlingNs || now_ns - peer.doubted_at_ns < kSettlingNs) return;
  stats_.add(LinkCount::kPeersRestarted);
  reopen(peer, now_ns);
}

void LinkLayer::on_session_frame(const ReceivedFrame& received, std::uint64_t now_ns,
                                 WireEvents& events) {
  const Frame& frame = received.frame;
  Peer* peer = find(frame.source);
  if (peer == nullptr) {
    stats_.add(LinkCount::kStale);
    // The sender uses a session with our earlier incarnation: say hello to inform it.
    if (frame.type != FrameType::kData) return;
    peer = new_stranger(frame.source, now_ns);
    if (peer != nullptr) learn_mac(*peer, frame.source_mac);
    return;
  }
  const bool is_of_session = peer->state == Peer::State::kOpen &&
                             frame.destination_epoch == peer->own_epoch &&
                             frame.source_epoch == peer->peer_epoch;
  if (!is_of_session && !adopt_candidate(*peer, frame, now_ns))
    return on_mismatch(*peer, frame, now_ns);
  peer->is_proven = true;
  peer->is_doubted = false;
  learn_mac(*peer, frame.source_mac);
  peer->heard_at_ns = now_ns;
  on_acknowledgement(*peer, received, now_ns);
  if (frame.type == FrameType::kData) on_data(*peer, received, now_ns, events);
  if (frame.type == FrameType::kProbe) {
    peer->echo = frame.sent_at;
    peer->has_echo = peer->owes_ack_now = true;
    mark_ready(*peer);
  }
  update_deadline(*peer);
}

void LinkLayer::on_acknowledgement(Peer& peer, const ReceivedFrame& received,
                                   std::uint64_t now_ns) {
  const Frame& frame = received.frame;
  if ((frame.flags & kEchoes) != 0) {
    const std::uint32_t rtt_ns = static_cast<std::uint32_t>(now_ns) - frame.echo;
    if (rtt_ns < UINT32_MAX / 2) peer.send.on_round_trip(rtt_ns);
  }
  const bool has_bits = frame.type == FrameType::kAck;
  const auto outcome = peer.send.on_ack(
      frame.ack, has_bits ? received.payload : std::span<const std::byte>{}, now_ns, send_store_);
  if (!outcome.is_valid) stats_.add(LinkCount::kMalformed);
  if (outcome.lost > 0) stats_.add(LinkCount::kLost, outcome.lost);
  if (outcome.backed_off) stats_.add(LinkCount::kBackoffs);
  if (outcome.arrived > 0 || outcome.lost > 0) mark_ready(peer);
}

void LinkLayer::on_data(Peer& peer, const ReceivedFrame& received, std::uint64_t now_ns,
                        WireEvents& events) {
  const Frame& frame = received.frame;
  const bool is_void = (frame.flags & kVoid) != 0;
  peer.used_at_ns = now_ns;
  if (!peer.has_echo) {
    peer.echo = frame.sent_at;
    peer.has_echo = true;
  }
  const bool had_gap = peer.receive.has_gap();
  switch (peer.receive.accept(frame.sequence, is_void, received.payload, receive_store_)) {
    case ReceiveWindow::Verdict::kInTurn:
      hand_up(peer, is_void, received.payload, events);
      while (peer.receive.has_next()) {
        const auto kept = peer.receive.take_next();
        if (kept.slot == kNoSlot) continue;
        hand_up(peer, false, receive_store_.at(kept.slot).first(kept.length), events);
        receive_store_.give(kept.slot);
      }
      peer.owes_ack_now |= had_gap;
      break;
    case ReceiveWindow::Verdict::kKept:
      stats_.add(LinkCount::kOutOfOrder);
      peer.owes_ack_now = true;
      break;
    case ReceiveWindow::Verdict::kDuplicate:
      stats_.add(LinkCount::kDuplicates);
      peer.owes_ack_now = true;
      break;
    case ReceiveWindow::Verdict::kNoRoom: stats_.add(LinkCount::kStoreFull); return;
    case ReceiveWindow::Verdict::kOutside: stats_.add(LinkCount::kMalformed); return;
  }
  if (++peer.acks_owed == 1) peer.ack_at_ns = now_ns + options_.ack_delay_ns;
  if (peer.acks_owed >= options_.ack_every || peer.owes_ack_now) mark_ready(peer);
}

void LinkLayer::hand_up(Peer& peer, bool is_void, std::span<const std::byte> packet,
                        WireEvents& events) {
  if (is_void) return;
  stats_.add(LinkCount::kPacketsIn);
  stats_.add(LinkCount::kBytesIn, packet.size());
  PLNET_DEBUG_CHECK(current_ == nullptr, "one packet at a time is handed up");
  current_ = &peer;
  events.on_packet(peer.address, packet);
  current_ = nullptr;
}

}  // namespace plnet::cassini::soft::link
