// SPDX-License-Identifier: BSD-3-Clause
// The second half of a message's way out: credits, the LND, and the way back.
#include <algorithm>
#include <memory>

#include "lib/lnet/move/sender.hpp"

namespace plnet::lnet {

namespace {
// The LND has written it where it belongs: no message came, but it was received.
constexpr auto kPlacedReply = LnetTraffic::Id::kReceivedReply;

// A peer has no more under way, borrowed or not, than one in so many of the credits that its
// interface has left.
constexpr std::int32_t kBorrowedPart = 4;
// More in one send is what borrowing is good for, and large payloads fill one by themselves.
constexpr std::uint32_t kBorrowerBytes = std::uint32_t{16} * 1024;
// Who takes no longer than this for what it is given has room for more. A poller's turn is shorter.
constexpr Duration kPromptly = std::chrono::milliseconds(1);

// The bytes that the LND moves for a message. For a GET: those that the peer writes to its sink.
std::uint32_t bytes_by_lane(const NiPort& port, const Message& message) {
  const bool placed = message.header.type == MessageType::kGet && !message.routed &&
                      !message.next_hop_is_router && port.lnd().traits().places_replies;
  return placed ? message.sink.length : message.header.payload_length;
}

}  // namespace

void Sender::to_home(Message& message) {
  if (message.hop == nullptr) return at_lane(message);  // loopback: no credits, no home
  const ShardId home = message.hop->home;
  if (home == core_.id) return at_home(message);
  core_.causes.add(Cause::kCrossedHome);
  message.enter(SendState::kToHome);
  send_away(message, home, ParcelStep::kToHome);
}

// lustre-release lnet/lnet/lib-move.c: lnet_post_send_locked()
void Sender::at_home(Message& message) {
  PeerPort* const peer = core_.peers.get(*message.hop);
  if (peer == nullptr) return fail(message, Errc::kNoMemory, Health::kLocalDropped);
  if (peer->releasing) return fail_released(message);
  if (!still_wanted(message)) return home_to_originator(message);
  peer->follow_credits();
  message.has_peer_credit = true;
  ++peer->outstanding;
  peer->queued_bytes += message.queue_bytes();
  const std::int32_t credits = peer->tx_credits();
  peer->tx_credits_min = std::min(peer->tx_credits_min, credits);
  publish(*peer);
  if (credits >= 0 || (peer->waiting_count == 0 && may_borrow(*peer, message, peer->under_way())))
    return to_lane(*peer, message);
  core_.waits.begin(message, SendState::kHopCreditWait);
  peer->waiting.push_back(message);
  ++peer->waiting_count;
  if (!peer->linked()) queued_.push_back(*peer);
  core_.sweep_wanted = true;
}

// Beyond its credits a peer borrows what its interface has to spare, where that lends and while it
// takes at once what it is given. `under_way`: with this message.
bool Sender::may_borrow(const PeerPort& peer, const Message& message,
                        std::uint32_t under_way) const {
  const Ni& ni = *message.ni;
  if (!ni.tunables.lends_credits || !peer.prompt) return false;
  if (message.header.payload_length > kBorrowerBytes || !ni.shards[core_.id]) return false;
  const NiPort* const port = core_.ports[ni.number];
  if (port == nullptr) return false;
  return static_cast<std::int32_t>(under_way) <= port->tx_credits() / kBorrowedPart;
}

bool Sender::may_start(const PeerPort& peer) const {
  if (peer.waiting_count == 0) return false;
  const std::uint32_t under_way = peer.under_way() + 1;
  return static_cast<std::int32_t>(under_way) <= peer.tx_credits_max ||
         may_borrow(peer, *peer.waiting.front(), under_way);
}

// False: it has ended, with the reason in its result.
inline bool Sender::still_wanted(Message& message) {
  if (core_.now > message.deadline) {
    drop_late(message);
    return false;
  }
  if (is_routed_down(message)) {
    lose_hop(message);
    return false;
  }
  if (message.origin == core_.id && message.is_request() && core_.match.aborted(message.grant)) {
    core_.tap_drop(message, Cause::kTxMdAborted);
    core_.causes.add(Cause::kTxMdAborted);
    end_with(message, Errc::kCancelled, Health::kOk);
    return false;
  }
  return true;
}

// A drop like those of messages that arrive (lustre-release lnet/lnet/lib-move.c:
// lnet_post_send_locked()).
void Sender::drop_late(Message& message) {
  count_drop(message, Cause::kTxDeadline);
  end_with(message, Errc::kTimedOut, Health::kNetworkTimeout);
}

void Sender::count_drop(const Message& message, Cause cause) {
  core_.tap_drop(message, cause);
  core_.drop(cause, message.header.payload_length);
  const LnetTraffic::Id dropped = traffic_id(TrafficWay::kDropped, message.header.type);
  if (NiPort* const port = core_.ports[message.ni->number]) port->traffic.add(dropped);
  if (PeerPort* const peer = core_.peers.find(*message.hop)) peer->traffic.add(dropped);
}

// The home posts it itself if it serves the NI, else another shard that does.
inline void Sender::to_lane(PeerPort& peer, Message& message) {
  const ShardSet& shards = message.ni->shards;
  if (shards[core_.id]) return at_lane(message, &peer);
  const ShardId lane = lane_shard(shards, core_.id, message.hop->number, core_.shared.shards);
  core_.causes.add(Cause::kCrossedLane);
  send_to_lane(message, lane);
}

void Sender::send_to_lane(Message& message, ShardId lane) {
  message.enter(SendState::kToLane);
  send_away(message, lane, ParcelStep::kToLane);
}

void Sender::at_lane(Message& message) {
  at_lane(message, message.hop == nullptr ? nullptr : core_.peers.get(*message.hop));
}

// Its hop has nothing else under way: hops that take nothing hold the credits of the interface, and
// one that does would wait for them. Where an interface lends, such a message goes all the same.
bool Sender::is_only_one(const PeerPort* peer, const Message& message) const {
  if (peer == nullptr || message.hop->home != core_.id) return false;
  return message.ni->tunables.lends_credits && peer->under_way() == 1;
}

// Null `peer`: loopback, or no port is left for it.
inline void Sender::at_lane(Message& message, PeerPort* peer) {
  NiPort* const port = core_.ports[message.ni->number];
  if (port == nullptr && !message.ni->plugged.get()) {
    return send_to_lane(message, core_.id);  // a new NI gets its port soon
  }
  if (port == nullptr || port->closing()) return fail_released(message);
  if (message.hop == nullptr) {
    message.next_hop = &core_.loopback;
  } else {
    LndLink* const link = peer == nullptr ? nullptr : core_.peers.link(*peer, port->ni().number);
    if (link == nullptr) return fail(message, Errc::kNoMemory, Health::kLocalDropped);
    if (link->lanes != 0 && goes_by_other_lane(*link, *port, message)) return;
    message.next_hop = link;
  }
  if (port->take_credit(message, is_only_one(peer, message))) return hand_over(*port, message);
  core_.waits.begin(message, SendState::kNiCreditWait);
  core_.causes.add(Cause::kHeldNiCredit);
}

void Sender::on_bulk_lane(PeerLink& link, LaneId lane, bool up) {
  PLNET_CHECK(lane != 0 && lane <= core_.shared.shards,
              "lane 0 is always there, others have shards");
  const auto shard = static_cast<ShardId>(lane - 1U);
  if (!core_.peers.set_lane(core_.peers.of(link), shard, up)) core_.causes.add(Cause::kLanesFull);
}

// Where the peer's lane 0 is: a large message may go by another lane, which comes back here.
inline bool Sender::goes_by_other_lane(const LndLink& link, NiPort& port, Message& message) {
  if (message.lane != 0) return false;
  if (bytes_by_lane(port, message) < port.lnd().traits().bulk_bytes_min) return false;
  LaneSet& lanes = core_.peers.lanes(link);
  const auto shard = lanes.choose();
  if (!shard) return false;
  lanes.book(*shard, message.queue_bytes());
  message.book(lane_of_shard(*shard), core_.id);
  if (*shard == core_.id) return false;
  message.lane = message.booked();
  core_.causes.add(Cause::kCrossedLane);
  send_to_lane(message, *shard);
  return true;
}

inline void Sender::hand_over(NiPort& port, Message& message) {
  message.since.set(core_.now);
  if (message.kept && !port.lnd().traits().takes_kept) bring_source(message);
  const bool held = core_.faults.rules() != nullptr && is_held_back(message);
  if (!held) [[likely]]
    port.hand_over(message);
}

// Nothing is held back for a peer NI on its way out: its home waits for all that is under way.
// Loopback is spared, as in the kernel. lustre-release lnet/lnet/lib-move.c:
// lnet_post_send_locked(), lib-msg.c: lnet_send_error_simulation()
bool Sender::is_held_back(Message& message) {
  if (message.hop == nullptr) return false;
  if (core_.shared.directory->find(message.hop->nid) != message.hop) return false;
  const bool held =
      core_.faults.delays(message, core_.now) || core_.faults.fails(message, core_.now);
  if (held) core_.waits.begin(message, SendState::kRuleWait);
  return held;
}

void Sender::delay_over(Message& message, Health health, bool dropped) {
  NiPort& port = *core_.ports[message.ni->number];
  core_.waits.end(message);
  if (dropped || port.closing()) {
    core_.tap_drop(message, Cause::kTxReleased);
    core_.causes.add(Cause::kTxReleased);
    return on_sent(port, {.transmit = &message,
                          .status = std::unexpected(Errc::kShutdown),
                          .health = Health::kLocalAborted});
  }
  if (health != Health::kOk) {
    core_.tap_drop(message, Cause::kTxFaultRule);
    return on_sent(
        port, {.transmit = &message, .status = std::unexpected(Errc::kInvalid), .health = health});
  }
  const bool fails = core_.faults.rules() != nullptr && core_.faults.fails(message, core_.now);
  message.since.set(core_.now);  // the time in a rule is not the next hop's
  if (!fails) return port.hand_over(message);
  core_.waits.begin(message, SendState::kRuleWait);
}

// By the link that it was posted with, which was just looked at. An interface that goes takes its
// links even from messages that a rule holds back.
inline PeerPort* Sender::posted_to(const Message& message) {
  PeerPort* const peer = PeerPorts::of(*message.next_hop).port;
  const bool linked = peer != nullptr && peer->peer_ni == message.hop;
  return linked ? peer : core_.peers.find(*message.hop);
}

void Sender::on_sent(NiPort& port, const Completion& completion) {
  auto& message = static_cast<Message&>(*completion.transmit);
  std::construct_at(&message.result, completion);  // to assign would compare first
  settle_ni(port, message);
  if (message.hop == nullptr) return home_to_originator(message);
  core_.load.sent(message.hop->nid, message.header.payload_length, message.since.get(), core_.now);
  if (message.booked() != 0) return leave_lane(message);
  if (message.hop->home != core_.id)
    return send_back(message, message.hop->home, ParcelStep::kSent);
  end_at_home(message, posted_to(message));
}

inline void Sender::settle_ni(NiPort& port, Message& message) {
  const bool sent = message.result.status.has_value();
  if (sent) port.traffic.add(traffic_id(TrafficWay::kSent, message.header.type));
  if (sent && message.result.reply_placed) port.traffic.add(kPlacedReply);
  core_.judge_sent(port.ni(), message);
  for (Message* next = port.return_credit(message); next != nullptr;) {
    core_.waits.end(*next);
    if (still_wanted(*next)) return hand_over(port, *next);
    Message& late = *next;
    next = port.return_credit(late);
    leave_lane(late);
  }
}

inline void Sender::leave_lane(Message& message) {
  if (message.booked() != 0 && message.booked_at() != core_.id) {
    return send_back(message, message.booked_at(), ParcelStep::kSent);
  }
  back_from_lane(message);
}

inline void Sender::send_back(Message& message, ShardId to, ParcelStep step) {
  message.enter(SendState::kComesBack);
  core_.post(message, to, step);
}

// The link may have been released meanwhile, if its NI goes.
void Sender::back_from_lane(Message& message) {
  if (message.booked() != 0) {
    LndLink* const link = core_.peers.find_link(*message.hop, message.ni->number);
    if (link != nullptr) {
      core_.peers.unbook(*link, static_cast<ShardId>(message.booked() - 1U), message.queue_bytes());
    }
    message.book(0, 0);
    message.lane = 0;
  }
  if (message.hop == nullptr || message.hop->home == core_.id) return end_at_home(message);
  send_back(message, message.hop->home, ParcelStep::kSent);
}

void Sender::end_at_home(Message& message) {
  end_at_home(message, message.hop == nullptr ? nullptr : core_.peers.find(*message.hop));
}

inline void Sender::end_at_home(Message& message, PeerPort* peer) {
  if (peer != nullptr) {
    if (message.result.status) {
      peer->traffic.add(traffic_id(TrafficWay::kSent, message.header.type));
      if (message.result.reply_placed) peer->traffic.add(kPlacedReply);
    }
    if (message.has_peer_credit) {
      peer->prompt =
          message.result.status.has_value() && core_.now - message.since.get() <= kPromptly;
      take_back_credit(*peer, message);
      start_waiting(*peer);
    }
  }
  home_to_originator(message);
}

inline void Sender::take_back_credit(PeerPort& peer, Message& message) {
  message.has_peer_credit = false;
  --peer.outstanding;
  peer.queued_bytes -= message.queue_bytes();
}

// A message may fail on its way from here, which brings its credit back and us here again: only the
// outermost call works through the queue.
inline void Sender::start_waiting(PeerPort& peer) {
  peer.follow_credits();
  if (!peer.starting) {
    peer.starting = true;
    while (may_start(peer)) {
      Message& next = *peer.waiting.pop_front();
      --peer.waiting_count;
      core_.waits.end(next);
      if (still_wanted(next)) {
        to_lane(peer, next);
      } else {
        take_back_credit(peer, next);
        home_to_originator(next);
      }
    }
    peer.starting = false;
  }
  publish(peer);
}

void Sender::publish(PeerPort& peer) {
  peer.peer_ni->tx_credits.set(peer.tx_credits());
  peer.peer_ni->queued_bytes.set(peer.queued_bytes);
}

void Sender::end_with(Message& message, Errc code, Health health) {
  message.result = Completion{.status = std::unexpected(code), .health = health};
}

void Sender::fail(Message& message, Errc code, Health health) {
  end_with(message, code, health);
  leave_lane(message);
}

// The interface that it was to go to or from is taken away. A gateway may have others, and so may
// we if it is ours.
void Sender::end_released(Message& message, Errc cause) {
  const bool hop_stays = message.hop != nullptr && !message.hop->leaving.get();
  if ((message.next_hop_is_router || hop_stays) && may_turn_back(message))
    return end_for_other_way(message);
  core_.tap_drop(message, Cause::kTxReleased);
  core_.causes.add(Cause::kTxReleased);
  end_with(message, cause, Health::kLocalAborted);
}

void Sender::fail_released(Message& message) {
  end_released(message, Errc::kShutdown);
  leave_lane(message);
}

inline void Sender::home_to_originator(Message& message) {
  if (message.origin == core_.id) return ended(message);
  send_back(message, message.origin, ParcelStep::kEnded);
}

void Sender::remove(PeerPort& peer, Message& message) {
  message.unlink();
  core_.waits.end(message);
  --peer.waiting_count;
  take_back_credit(peer, message);
  home_to_originator(message);
}

// Queues are in order of deadline, but for messages of different networks' timeouts: a head that
// may stay shields what is behind it until it goes.
void Sender::expire(Instant now) {
  queued_.for_each([&](PeerPort& peer) {
    while (Message* const head = peer.waiting.front()) {
      if (head->deadline >= now) break;
      drop_late(*head);
      remove(peer, *head);
    }
    start_waiting(peer);  // there may be more credits than there were
    if (peer.waiting.empty()) {
      peer.unlink();
    } else {
      core_.sweep_wanted = true;
    }
  });
}

void Sender::fail_waiting(PeerPort& peer, Errc cause) {
  while (Message* const head = peer.waiting.front()) {
    end_released(*head, cause);
    remove(peer, *head);
  }
  publish(peer);
}

void Sender::fail_waiting(const Ni& ni, Errc cause) {
  queued_.for_each([&](PeerPort& peer) {
    peer.waiting.for_each([&](Message& message) {
      if (message.ni != &ni) return;
      end_released(message, cause);
      remove(peer, message);
    });
    publish(peer);
  });
}

void Sender::fail_waiting(NiPort& port, Errc cause) {
  while (Message* const message = port.take_back()) {
    if (message->state.get() == SendState::kNiCreditWait) core_.waits.end(*message);
    end_released(*message, cause);
    leave_lane(*message);
  }
}

void Sender::end_down(NiPort& port) {
  port.for_each_waiting([&](Message& message) {
    if (!turn_back(message)) return;
    port.leave(message);
    core_.waits.end(message);
    leave_lane(message);
  });
}

}  // namespace plnet::lnet
