// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/net/null/device.hpp"

#include <algorithm>

#include "lib/base/check.hpp"

namespace plnet::drivers {

using Id = NullTable::Id;
using lnet::Completion;
using lnet::MessageHeader;
using lnet::MessageType;
using lnet::PeerLink;
using lnet::Transmit;

NullLnd::NullLnd(const NullConfig& config, lnet::LndUpcalls& core, Random& random)
    : config_(config),
      traits_{.name = "null",
              .net_type = config.net_type,
              .places_replies = config.places_replies,
              .aborts_messages = true},
      core_(core),
      memory_(config.arenas),
      peers_(config.peers_max),
      rx_(core, peers_, stats_, memory_) {
  PLNET_CHECK(config.in_flight_max > 0 && config.tx_budget > 0, "a null device needs room");
  PLNET_CHECK((config.mode == NullMode::kSource) == config.source.has_value(),
              "source mode and its configuration come together");
  if (config.source) source_.emplace(*config.source, random, peers_, stats_);
}

std::size_t NullLnd::send(std::span<Transmit* const> burst) {
  if (shutting_down_) return 0;
  PLNET_DEBUG_CHECK(in_flight_ <= config_.in_flight_max,
                    "the device takes no more than it has room for");
  const std::size_t room = std::min(burst.size(), config_.in_flight_max - in_flight_);
  std::size_t count = 0;
  for (; count < room; ++count) {
    Transmit& transmit = *burst[count];
    PLNET_CHECK(transmit.next_hop != nullptr, "a message needs a next hop");
    NullPeer* const peer = peer_of(*transmit.next_hop);
    if (peer == nullptr) break;
    ++peer->in_flight;
    transmit.lnd_state = static_cast<std::uintptr_t>(NullTxState::kQueued);
    ready_.push(transmit);
  }
  in_flight_ += count;
  stats_.raise_to(Id::kInFlightMax, in_flight_);
  if (count < burst.size()) stats_.add(Id::kBackPressure);
  return count;
}

void NullLnd::resume(lnet::RxHandle rx, const lnet::RxDecision& decision) {
  PLNET_DEBUG_CHECK(is_sound(decision), "a decision of the core is complete");
  if (NullPeer* const peer = rx_.resume(rx, decision)) raise_event(*peer);
}

unsigned NullLnd::flush(Instant now) {
  unsigned work = handle_events();
  if (now >= waiting_deadline_) work += expire_waiting(now);
  work += transmit_burst(now);
  if (source_ && !shutting_down_) work += source_->run(rx_);
  return work;
}

void NullLnd::cancel(Transmit& transmit) {
  PLNET_DEBUG_CHECK(transmit.next_hop != nullptr && in_flight_ > 0,
                    "the core has lent this message");
  transmit.lnd_state = static_cast<std::uintptr_t>(NullTxState::kCancelled);
  waiting_deadline_ = Instant::min();  // look at the waiting messages: this one may be among them
}

void NullLnd::release_peer(PeerLink& link) {
  auto* const peer = static_cast<NullPeer*>(link.lnd_peer);
  if (peer == nullptr) return core_.on_peer_released(link);  // the LND never knew the link
  PLNET_CHECK(peer->link == &link, "peer and link name each other");
  peer->closing = true;
  waiting_deadline_ = Instant::min();
  raise_event(*peer);
}

void NullLnd::shut_down() {
  shutting_down_ = true;
  waiting_deadline_ = Instant::min();
  for (std::size_t i = 0; i < peers_.capacity(); ++i) {
    if (NullRx::blocked(peers_.at(i))) raise_event(peers_.at(i));
  }
}

Instant NullLnd::next_deadline() const {
  const bool busy = !ready_.empty() || events_ != nullptr || (source_ && !shutting_down_);
  return busy ? Instant::min() : waiting_deadline_;
}

// The record of a link, made on first use. Null: none is left until a peer is released.
inline NullPeer* NullLnd::peer_of(PeerLink& link) {
  if (link.lnd_peer != nullptr) return static_cast<NullPeer*>(link.lnd_peer);
  NullPeer* const peer = peers_.take();
  if (peer == nullptr) {
    stats_.add(Id::kPeersExhausted);
    return nullptr;
  }
  peer->nid = link.nid;
  peer->link = &link;
  link.lnd_peer = peer;
  return peer;
}

inline bool NullLnd::wants_answer(const Transmit& transmit) const {
  if (config_.mode != NullMode::kEcho) return false;
  if (transmit.header.type == MessageType::kPut) {
    return !transmit.header.area<lnet::PutArea>().ack_handle.is_none();
  }
  return transmit.header.type == MessageType::kGet;
}

unsigned NullLnd::transmit_burst(Instant now) {
  unsigned count = 0;
  while (count < config_.tx_budget && !ready_.empty()) {
    transmit_one(ready_.pop(), now);
    ++count;
  }
  done_.deliver(core_);
  return count;
}

inline void NullLnd::transmit_one(Transmit& transmit, Instant now) {
  NullPeer& peer = *static_cast<NullPeer*>(transmit.next_hop->lnd_peer);
  PLNET_DEBUG_CHECK(peer.link == transmit.next_hop, "peer and link name each other");
  if (transmit.lnd_state != static_cast<std::uintptr_t>(NullTxState::kQueued)) {
    return fail(transmit, Errc::kCancelled);
  }
  if (peer.closing || shutting_down_) return fail(transmit, Errc::kShutdown);
  if (now >= transmit.deadline) return fail(transmit, Errc::kTimedOut);
  if (!wants_answer(transmit)) return end(transmit, {.transmit = &transmit});
  if (NullRx::blocked(peer)) {
    waiting_deadline_ = std::min(waiting_deadline_, transmit.deadline);
    return peer.waiting.push(transmit);
  }
  if (places_reply(transmit)) return end(transmit, place_reply(transmit));
  // The Transmit belongs to the core once it has ended, and the answer is made from it. An answer
  // that arrives before the end of its request is normal on a network.
  answer(peer, transmit);
  end(transmit, {.transmit = &transmit});
}

inline bool NullLnd::places_reply(const Transmit& transmit) const {
  return config_.places_replies && transmit.header.type == MessageType::kGet && !transmit.routed &&
         !transmit.next_hop_is_router && !transmit.sink.empty();
}

Completion NullLnd::place_reply(Transmit& transmit) {
  const std::uint32_t length =
      std::min(transmit.header.area<lnet::GetArea>().sink_length, transmit.sink.length);
  memory_.fill(transmit.sink, length);
  stats_.add(Id::kRepliesPlaced);
  return {.transmit = &transmit, .reply_placed = true, .reply_length = length};
}

// The answer of a target (lustre-release lnet/lnet/lib-msg.c: lnet_complete_msg_locked(),
// lib-move.c: lnet_create_reply_msg()): it goes to the source in the header.
inline void NullLnd::answer(NullPeer& peer, const Transmit& transmit) {
  const MessageHeader& request = transmit.header;
  MessageHeader header{.destination = request.source,
                       .source = request.destination,
                       .destination_pid = request.source_pid,
                       .source_pid = request.destination_pid};
  peer.answers_ping = false;
  if (request.type == MessageType::kPut) {
    const auto put = request.area<lnet::PutArea>();
    header.type = MessageType::kAck;
    header.set_area(lnet::AckArea{.destination = put.ack_handle,
                                  .match_bits = put.match_bits,
                                  .accepted_length = request.payload_length});
    stats_.add(Id::kAcks);
  } else {
    const auto get = request.area<lnet::GetArea>();
    header.type = MessageType::kReply;
    header.payload_length = std::min(get.sink_length, lnet::kPayloadBytesMax);
    if (get.portal == lnet::kPingPortal && get.match_bits == lnet::kPingMatchBits) {
      header.payload_length = std::min(header.payload_length, answer_ping(peer, header.source));
    }
    header.set_area(lnet::ReplyArea{.destination = get.return_handle});
    stats_.add(Id::kReplies);
  }
  rx_.offer(peer, header);
}

// The ping buffer of a node with this one interface, which discovers and is Multi-Rail. Returns its
// length.
std::uint32_t NullLnd::answer_ping(NullPeer& peer, const lnet::Nid& asked) {
  const lnet::PingEntry self{.nid = asked};
  const auto length = lnet::build_ping({.interfaces = std::span(&self, 1)}, peer.ping);
  PLNET_CHECK(length.has_value(), "there is room for one interface");
  peer.answers_ping = true;
  return static_cast<std::uint32_t>(*length);
}

inline void NullLnd::end(Transmit& transmit, const Completion& completion) {
  NullPeer& peer = *static_cast<NullPeer*>(transmit.next_hop->lnd_peer);
  PLNET_CHECK(peer.in_flight > 0, "a message ended twice");
  if (--peer.in_flight == 0 && peer.closing) raise_event(peer);
  PLNET_DEBUG_CHECK(in_flight_ > 0, "each message under way is counted");
  --in_flight_;
  stats_.add(completion.status ? Id::kSent : Id::kFailed);
  if (done_.full()) done_.deliver(core_);
  done_.add(completion);
}

void NullLnd::fail(Transmit& transmit, Errc code) {
  const Health health = code == Errc::kTimedOut ? Health::kLocalTimeout : health_of(code);
  end(transmit, {.transmit = &transmit, .status = std::unexpected(code), .health = health});
}

// Messages that wait for a blocked peer are looked at again only when one of them has to end. Cold:
// the core has left a message parked past the deadline of another one.
unsigned NullLnd::expire_waiting(Instant now) {
  unsigned ended = 0;
  waiting_deadline_ = Instant::max();
  for (std::size_t i = 0; i < peers_.capacity(); ++i) {
    NullPeer& peer = peers_.at(i);
    TxQueue keep;
    while (!peer.waiting.empty()) {
      Transmit& transmit = peer.waiting.pop();
      if (transmit.lnd_state != static_cast<std::uintptr_t>(NullTxState::kQueued)) {
        fail(transmit, Errc::kCancelled);
      } else if (peer.closing || shutting_down_) {
        fail(transmit, Errc::kShutdown);
      } else if (now >= transmit.deadline) {
        fail(transmit, Errc::kTimedOut);
      } else {
        waiting_deadline_ = std::min(waiting_deadline_, transmit.deadline);
        keep.push(transmit);
        continue;
      }
      ++ended;
    }
    peer.waiting = keep;
  }
  done_.deliver(core_);
  return ended;
}

unsigned NullLnd::handle_events() {
  NullPeer* list = events_;
  events_ = nullptr;
  unsigned work = 0;
  while (list != nullptr) {
    NullPeer& peer = *list;
    list = peer.next_event;
    peer.event_pending = false;
    PLNET_DEBUG_CHECK(!peer.closing || peer.link != nullptr, "a peer is released once");
    if (peer.rx_state == NullRxState::kResumed && !peer.closing) {
      rx_.conclude(peer);
      ready_.prepend(peer.waiting);
    }
    if (peer.closing || shutting_down_) rx_.abandon(peer, Errc::kShutdown);
    if (peer.closing && !release_now(peer)) raise_event(peer);
    ++work;
  }
  return work;
}

// False: messages to the peer have not ended.
bool NullLnd::release_now(NullPeer& peer) {
  if (peer.in_flight > 0) return false;
  PLNET_CHECK(peer.link != nullptr && peer.waiting.empty() && !NullRx::blocked(peer),
              "a released peer has no messages");
  PeerLink& link = *peer.link;
  link.lnd_peer = nullptr;
  peer.link = nullptr;
  peer.closing = false;
  if (!peer.permanent) peers_.put(peer);
  core_.on_peer_released(link);
  return true;
}

void NullLnd::raise_event(NullPeer& peer) {
  if (peer.event_pending) return;
  peer.event_pending = true;
  peer.next_event = events_;
  events_ = &peer;
}

}  // namespace plnet::drivers
