// SPDX-License-Identifier: BSD-3-Clause
#include "lib/lnet/move/hop_credits.hpp"

#include <algorithm>

#include "lib/base/check.hpp"
#include "lib/lnet/move/sender.hpp"

namespace plnet::lnet {

namespace {
// The LND has written the reply to its place: no message arrived, but one counts as received.
constexpr auto kPlacedReply = LnetTraffic::Id::kReceivedReply;

// A borrowing peer NI has at most a quarter of the free credits of the NI under way.
constexpr std::int32_t kBorrowedPart = 4;
// Borrowing lets one send carry several messages; a larger payload fills a send by itself.
constexpr std::uint32_t kBorrowerBytes = std::uint32_t{16} * 1024;
// A peer that takes a message within this time has room for more. A poller's turn is shorter.
constexpr Duration kPromptly = std::chrono::milliseconds(1);
}  // namespace

void HopCredits::to_home(Message& message) {
  PLNET_DEBUG_CHECK(message.ni != nullptr, "a message on its way home has a path");
  if (message.hop == nullptr) return sender_.lanes.at_lane(message);  // loopback has no home
  const ShardId home = message.hop->home;
  PLNET_DEBUG_CHECK(home < core_.shared.shards, "the home of a peer NI is a shard of this node");
  if (home == core_.id) return at_home(message);
  core_.causes.add(Cause::kCrossedHome);
  message.enter(SendState::kToHome);
  sender_.cross(message, home, ParcelStep::kToHome);
}

// lustre-release lnet/lnet/lib-move.c: lnet_post_send_locked()
void HopCredits::at_home(Message& message) {
  PLNET_CHECK(message.hop->home == core_.id, "the home gives out the credits of a peer NI");
  PLNET_DEBUG_CHECK(message.ni != nullptr && message.ni->net == message.hop->net,
                    "a next hop is on the network of the NI");
  PLNET_DEBUG_CHECK(!message.has_peer_credit && !message.has_ni_credit,
                    "a message has no credit yet");
  PeerPort* const peer = core_.peers.get(*message.hop);
  if (peer == nullptr) return sender_.lanes.fail(message, Errc::kNoMemory, Health::kLocalDropped);
  if (peer->releasing) return sender_.lanes.fail_released(message);
  if (!sender_.verdicts.still_wanted(message)) return sender_.ends.to_originator(message);
  peer->follow_credits();
  take_credit(*peer, message);
  const std::int32_t credits = peer->tx_credits();
  peer->tx_credits_min = std::min(peer->tx_credits_min, credits);
  publish(*peer);
  if (credits >= 0 || (peer->waiting_count == 0 && may_borrow(*peer, message, peer->under_way())))
    return sender_.lanes.to_lane(*peer, message);
  wait(*peer, message);
}

void HopCredits::wait(PeerPort& peer, Message& message) {
  core_.waits.begin(message, SendState::kHopCreditWait);
  peer.waiting.push_back(message);
  ++peer.waiting_count;
  PLNET_DEBUG_CHECK(peer.waiting_count <= peer.outstanding,
                    "a message that waits for a credit is counted");
  if (!peer.linked()) queued_.push_back(peer);
  core_.sweep_wanted = true;
}

inline void HopCredits::take_credit(PeerPort& peer, Message& message) {
  PLNET_DEBUG_CHECK(!message.has_peer_credit, "a message takes one peer credit");
  message.has_peer_credit = true;
  ++peer.outstanding;
  peer.queued_bytes += message.queue_bytes();
}

inline void HopCredits::return_credit(PeerPort& peer, Message& message) {
  PLNET_CHECK(message.has_peer_credit && peer.outstanding > peer.waiting_count,
              "a returned credit was taken, and its message does not wait");
  PLNET_DEBUG_CHECK(peer.queued_bytes >= message.queue_bytes(),
                    "queued bytes are those of messages");
  message.has_peer_credit = false;
  --peer.outstanding;
  peer.queued_bytes -= message.queue_bytes();
}

// Beyond its credits a peer NI borrows spare credits of the NI, if the NI lends and while the peer
// takes messages at once. `under_way` includes this message.
bool HopCredits::may_borrow(const PeerPort& peer, const Message& message,
                            std::uint32_t under_way) const {
  const Ni& ni = *message.ni;
  if (!ni.tunables.lends_credits || !peer.prompt) return false;
  if (message.header.payload_length > kBorrowerBytes || !ni.shards[core_.id]) return false;
  const NiPort* const port = core_.ports[ni.number];
  if (port == nullptr) return false;
  return static_cast<std::int32_t>(under_way) <= port->tx_credits() / kBorrowedPart;
}

bool HopCredits::may_start(const PeerPort& peer) const {
  if (peer.waiting_count == 0) return false;
  PLNET_CHECK(!peer.waiting.empty(), "the count of waiting messages is that of the queue");
  const std::uint32_t under_way = peer.under_way() + 1;
  return static_cast<std::int32_t>(under_way) <= peer.tx_credits_max ||
         may_borrow(peer, *peer.waiting.front(), under_way);
}

void HopCredits::end_at_home(Message& message, PeerPort* peer) {
  PLNET_DEBUG_CHECK(!message.has_ni_credit, "the NI credit returns before the peer credit");
  PLNET_DEBUG_CHECK(peer != nullptr || !message.has_peer_credit,
                    "the port of a peer NI stays until its credits are back");
  if (peer != nullptr) {
    PLNET_DEBUG_CHECK(peer == nullptr || peer->peer_ni == message.hop,
                      "a credit returns to its peer NI");
    if (message.result.status) {
      peer->traffic.add(traffic_id(TrafficWay::kSent, message.header.type));
      if (message.result.reply_placed) peer->traffic.add(kPlacedReply);
    }
    if (message.has_peer_credit) {
      peer->prompt =
          message.result.status.has_value() && core_.now - message.since.get() <= kPromptly;
      return_credit(*peer, message);
      start_waiting(*peer);
    }
  }
  sender_.ends.to_originator(message);
}

// A message may fail on the way to its lane; its end returns its credit and calls this again. Only
// the outermost call serves the queue.
inline void HopCredits::start_waiting(PeerPort& peer) {
  peer.follow_credits();
  if (!peer.starting) {
    peer.starting = true;
    while (may_start(peer)) {
      Message& next = *peer.waiting.pop_front();
      PLNET_CHECK(next.state.get() == SendState::kHopCreditWait,
                  "messages of the queue wait for a credit");
      --peer.waiting_count;
      core_.waits.end(next);
      if (sender_.verdicts.still_wanted(next)) {
        sender_.lanes.to_lane(peer, next);
      } else {
        return_credit(peer, next);
        sender_.ends.to_originator(next);
      }
    }
    peer.starting = false;
    PLNET_DEBUG_CHECK((peer.waiting_count == 0) == peer.waiting.empty(),
                      "the count of waiting messages is that of the queue");
  }
  publish(peer);
}

inline void HopCredits::publish(PeerPort& peer) {
  peer.peer_ni->tx_credits.set(peer.tx_credits());
  peer.peer_ni->queued_bytes.set(peer.queued_bytes);
}

// The message has its result.
void HopCredits::remove(PeerPort& peer, Message& message) {
  PLNET_CHECK(message.state.get() == SendState::kHopCreditWait, "the message waits for a credit");
  message.unlink();
  core_.waits.end(message);
  PLNET_CHECK(peer.waiting_count > 0, "a message that waits for a credit is counted");
  --peer.waiting_count;
  return_credit(peer, message);
  sender_.ends.to_originator(message);
}

// A queue is in order of deadlines, except for messages of networks with different timeouts: a head
// that stays protects later messages until it leaves.
void HopCredits::expire(Instant now) {
  queued_.for_each([&](PeerPort& peer) {
    while (Message* const head = peer.waiting.front()) {
      if (head->deadline >= now) break;
      sender_.verdicts.end_late(*head);
      remove(peer, *head);
    }
    start_waiting(peer);  // a change of the configuration may have added credits
    if (peer.waiting.empty()) {
      PLNET_CHECK(!peer.waiting.empty() || peer.waiting_count == 0,
                  "the count of waiting messages is that of the queue");
      peer.unlink();
    } else {
      core_.sweep_wanted = true;
    }
  });
}

void HopCredits::fail_waiting(PeerPort& peer, Errc cause) {
  while (Message* const head = peer.waiting.front()) {
    sender_.verdicts.end_released(*head, cause);
    remove(peer, *head);
  }
  PLNET_CHECK(peer.waiting_count == 0, "no message waits for a peer NI that is removed");
  publish(peer);
}

void HopCredits::fail_waiting(const Ni& ni, Errc cause) {
  queued_.for_each([&](PeerPort& peer) {
    peer.waiting.for_each([&](Message& message) {
      if (message.ni != &ni) return;
      sender_.verdicts.end_released(message, cause);
      remove(peer, message);
    });
    publish(peer);
  });
}

void HopCredits::end_down() {
  queued_.for_each([&](PeerPort& peer) {
    peer.waiting.for_each([&](Message& message) {
      if (sender_.verdicts.turn_back(message)) remove(peer, message);
    });
    publish(peer);
  });
}

}  // namespace plnet::lnet
