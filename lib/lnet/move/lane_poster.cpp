// SPDX-License-Identifier: BSD-3-Clause
#include "lib/lnet/move/lane_poster.hpp"

#include <memory>

#include "lib/base/check.hpp"
#include "lib/base/pipeline.hpp"
#include "lib/base/prefetch.hpp"
#include "lib/lnet/move/sender.hpp"

namespace plnet::lnet {

namespace {
// The LND has written the reply to its place: no message arrived, but one counts as received.
constexpr auto kReplyInPlace = LnetTraffic::Id::kReceivedReply;

constexpr std::size_t kEndedDistance = 4;  // completions between two steps of one

// The bytes that the LND moves for a message. For a GET: those that the peer writes to its sink.
std::uint32_t bytes_by_lane(const NiPort& port, const Message& message) {
  const bool placed = message.header.type == MessageType::kGet && !message.routed &&
                      !message.next_hop_is_router && port.lnd().traits().places_replies;
  return placed ? message.sink.length : message.header.payload_length;
}

}  // namespace

void LanePoster::to_lane(PeerPort& peer, Message& message) {
  PLNET_DEBUG_CHECK(static_cast<bool>(message.has_peer_credit),
                    "a message has its peer credit before it goes to a lane");
  const ShardSet& shards = message.ni->shards;
  PLNET_DEBUG_CHECK(message.hop->home == core_.id && shards.any(),
                    "the home chooses a lane among the shards of the NI");
  if (shards[core_.id]) return at_lane(message, &peer);
  const ShardId lane = lane_shard(shards, core_.id, message.hop->number, core_.shared.shards);
  core_.causes.add(Cause::kCrossedLane);
  send_to_lane(message, lane);
}

void LanePoster::send_to_lane(Message& message, ShardId lane) {
  PLNET_DEBUG_CHECK(lane < core_.shared.shards, "a lane lies on a shard of this node");
  message.enter(SendState::kToLane);
  sender_.cross(message, lane, ParcelStep::kToLane);
}

// A peer NI that takes nothing may hold all NI credits. Where an NI lends, a peer NI with no other
// message under way does not wait for them.
bool LanePoster::is_only_one(const PeerPort* peer, const Message& message) const {
  if (peer == nullptr || message.hop->home != core_.id) return false;
  return message.ni->tunables.lends_credits && peer->under_way() == 1;
}

// Null `peer`: loopback, or all ports are in use.
void LanePoster::at_lane(Message& message, PeerPort* peer) {
  PLNET_DEBUG_CHECK(!message.has_ni_credit, "a message takes its NI credit once");
  PLNET_DEBUG_CHECK(message.ni->shards[core_.id],
                    "the NI of a message has an LND on the shard of its lane");
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

void LanePoster::on_bulk_lane(PeerLink& link, LaneId lane, bool up) {
  PLNET_CHECK(lane != 0 && lane <= core_.shared.shards,
              "lane 0 is always there, others have shards");
  const auto shard = static_cast<ShardId>(lane - 1U);
  if (!core_.peers.set_lane(core_.peers.of(link), shard, up)) core_.causes.add(Cause::kLanesFull);
}

// The shard of lane 0 chooses the lane of a large message, and its completion returns here.
inline bool LanePoster::goes_by_other_lane(const LndLink& link, NiPort& port, Message& message) {
  if (message.lane != 0) return false;
  if (bytes_by_lane(port, message) < port.lnd().traits().bulk_bytes_min) return false;
  LaneSet& lanes = core_.peers.lanes(link);
  const auto shard = lanes.choose();
  if (!shard) return false;
  PLNET_CHECK(message.booked() == 0, "a message is booked on one lane");
  lanes.book(*shard, message.queue_bytes());
  message.book(lane_of_shard(*shard), core_.id);
  if (*shard == core_.id) return false;
  message.lane = message.booked();
  core_.causes.add(Cause::kCrossedLane);
  send_to_lane(message, *shard);
  return true;
}

inline void LanePoster::hand_over(NiPort& port, Message& message) {
  PLNET_DEBUG_CHECK(message.next_hop != nullptr, "a message goes to an LND with a link");
  PLNET_DEBUG_CHECK(message.ni == &port.ni(), "a message goes to the LND of its NI");
  message.since.set(core_.now);
  if (message.kept && !port.lnd().traits().takes_kept) Forwarder::bring_source(message);
  if (message.lost) [[unlikely]]
    return end_lost(port, message);
  const bool held = core_.faults.rules() != nullptr && is_held_back(message);
  if (!held) [[likely]]
    port.hand_over(message);
}

// The NIs of its path are not to blame.
void LanePoster::end_lost(NiPort& port, Message& message) {
  PLNET_CHECK(message.routed, "only the payload of a forwarded message is kept");
  message.enter(SendState::kWithLnd);
  on_sent(port,
          {.transmit = &message, .status = std::unexpected(Errc::kIo), .health = Health::kOk});
}

// No rule holds messages to a peer NI that is being removed, since its home waits for them, nor
// loopback messages. lustre-release lnet/lnet/lib-move.c: lnet_post_send_locked(), lib-msg.c:
// lnet_send_error_simulation()
bool LanePoster::is_held_back(Message& message) {
  if (message.hop == nullptr) return false;
  if (core_.shared.directory->find(message.hop->nid) != message.hop) return false;
  const bool held =
      core_.faults.delays(message, core_.now) || core_.faults.fails(message, core_.now);
  if (held) core_.waits.begin(message, SendState::kRuleWait);
  return held;
}

void LanePoster::delay_over(Message& message, Health health, bool dropped) {
  PLNET_CHECK(message.state.get() == SendState::kRuleWait, "a fault rule has held the message");
  PLNET_CHECK(core_.ports[message.ni->number] != nullptr,
              "a held message keeps the port of its NI");
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
  message.since.set(core_.now);  // the time of the next hop does not include that of the rule
  if (!fails) return port.hand_over(message);
  core_.waits.begin(message, SendState::kRuleWait);
}

// The end of a forwarded message returns the credit of its client, which was looked at long ago.
void LanePoster::fetch_ended(std::span<const Completion> burst) const {
  if (burst.size() == 1) return;
  pipeline<2, kEndedDistance>(
      burst.size(),
      [&](std::size_t i, auto step) {
        const auto& message = static_cast<const Message&>(*burst[i].transmit);
        if (!message.routed || message.origin != core_.id) return;
        const Forwarding& forwarding = message.answers->forwarding;
        if constexpr (step == 0) {
          prefetch(&forwarding);
        } else if (forwarding.client != nullptr) {
          prefetch_to_write(&forwarding.client->client);
        }
      },
      [](std::size_t) {});
}

// The port of the next hop, by the link that the message was posted with, which is in the cache. An
// NI that is removed takes its links even from messages that a rule holds back.
inline PeerPort* LanePoster::posted_to(const Message& message) {
  PeerPort* const peer = PeerPorts::of(*message.next_hop).port;
  const bool linked = peer != nullptr && peer->peer_ni == message.hop;
  return linked ? peer : core_.peers.find(*message.hop);
}

void LanePoster::on_sent(NiPort& port, const Completion& completion) {
  PLNET_DEBUG_CHECK(completion.transmit != nullptr, "a completion names its message");
  auto& message = static_cast<Message&>(*completion.transmit);
  PLNET_CHECK(message.ni == &port.ni(), "a message ends at the NI that it was handed to");
  PLNET_DEBUG_CHECK(
      message.state.get() == SendState::kWithLnd || message.state.get() == SendState::kResumed,
      "only a message that left its wait ends at its LND");
  PLNET_DEBUG_CHECK(!completion.unsent || !completion.status,
                    "a message that was sent is not reported as unsent");
  PLNET_DEBUG_CHECK(
      !completion.reply_placed || (message.header.type == MessageType::kGet && !message.routed),
      "only the reply to a GET of this node is placed");
  std::construct_at(&message.result, completion);  // an assignment would compare first
  settle_ni(port, message);
  if (message.hop == nullptr) return sender_.ends.to_originator(message);
  core_.load.sent(message.hop->nid, message.header.payload_length, message.since.get(), core_.now);
  if (message.booked() != 0) return leave_lane(message);
  if (message.hop->home != core_.id)
    return sender_.send_back(message, message.hop->home, ParcelStep::kSent);
  sender_.hops.end_at_home(message, posted_to(message));
}

inline void LanePoster::settle_ni(NiPort& port, Message& message) {
  const bool sent = message.result.status.has_value();
  if (sent) port.traffic.add(traffic_id(TrafficWay::kSent, message.header.type));
  if (sent && message.result.reply_placed) port.traffic.add(kReplyInPlace);
  core_.judge_sent(port.ni(), message);
  for (Message* next = port.return_credit(message); next != nullptr;) {
    core_.waits.end(*next);
    if (sender_.verdicts.still_wanted(*next)) return hand_over(port, *next);
    Message& unwanted = *next;
    next = port.return_credit(unwanted);
    leave_lane(unwanted);
  }
}

inline void LanePoster::leave_lane(Message& message) {
  PLNET_DEBUG_CHECK(!message.has_ni_credit, "the NI credit stays on the lane");
  if (message.booked() != 0 && message.booked_at() != core_.id) {
    return sender_.send_back(message, message.booked_at(), ParcelStep::kSent);
  }
  back_from_lane(message);
}

// The link of the lane may be gone, if its NI is being removed.
void LanePoster::back_from_lane(Message& message) {
  if (message.booked() != 0) {
    PLNET_DEBUG_CHECK(message.booked() <= core_.shared.shards,
                      "a lane that was booked is one of this node");
    PLNET_CHECK(message.booked_at() == core_.id, "the shard that booked a lane settles it");
    LndLink* const link = core_.peers.find_link(*message.hop, message.ni->number);
    if (link != nullptr) {
      core_.peers.unbook(*link, static_cast<ShardId>(message.booked() - 1U), message.queue_bytes());
    }
    message.book(0, 0);
    message.lane = 0;
  }
  if (message.hop == nullptr || message.hop->home == core_.id)
    return sender_.hops.end_at_home(message);
  sender_.send_back(message, message.hop->home, ParcelStep::kSent);
}

void LanePoster::fail(Message& message, Errc code, Health health) {
  SendVerdicts::end_with(message, code, health);
  leave_lane(message);
}

void LanePoster::fail_released(Message& message) {
  sender_.verdicts.end_released(message, Errc::kShutdown);
  leave_lane(message);
}

void LanePoster::fail_waiting(NiPort& port, Errc cause) {
  PLNET_CHECK(port.closing(), "only a port that closes gives up its messages");
  while (Message* const message = port.take_back()) {
    if (message->state.get() == SendState::kNiCreditWait) core_.waits.end(*message);
    sender_.verdicts.end_released(*message, cause);
    leave_lane(*message);
  }
}

void LanePoster::end_down() {
  for (NiPort* const port : core_.ports) {
    if (port != nullptr) end_down(*port);
  }
}

void LanePoster::end_down(NiPort& port) {
  port.for_each_waiting([&](Message& message) {
    if (!sender_.verdicts.turn_back(message)) return;
    port.leave(message);
    core_.waits.end(message);
    leave_lane(message);
  });
}

}  // namespace plnet::lnet
