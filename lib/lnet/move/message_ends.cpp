// SPDX-License-Identifier: BSD-3-Clause
#include "lib/lnet/move/message_ends.hpp"

#include <utility>

#include "lib/base/check.hpp"
#include "lib/lnet/move/receiver.hpp"
#include "lib/lnet/move/sender.hpp"

namespace plnet::lnet {

void MessageEnds::to_originator(Message& message) {
  PLNET_DEBUG_CHECK(!message.has_peer_credit && !message.has_ni_credit,
                    "a message that goes home has returned its credits");
  PLNET_DEBUG_CHECK(message.origin < core_.shared.shards, "a message is from a shard of this node");
  if (message.origin == core_.id) return end(message);
  sender_.send_back(message, message.origin, ParcelStep::kEnded);
}

void MessageEnds::end(Message& message) {
  PLNET_DEBUG_CHECK(message.origin == core_.id, "a message ends where it was made");
  PLNET_CHECK(!message.has_peer_credit && !message.has_ni_credit && message.booked() == 0,
              "a message that ends has returned its credits");
  count(message);
  if (message.result.again && !is_given_up(message)) [[unlikely]]
    return send_again(message);
  if (message.result.quarantined) return quarantine(message);
  if (!message.is_request()) return end_answer(message);
  end_request(message);
  release(message);
}

// The user has unlinked the MD and waits for the end of the message.
bool MessageEnds::is_given_up(const Message& message) const {
  return message.is_request() && core_.match.aborted(message.grant);
}

void MessageEnds::release(Message& message) {
  PLNET_DEBUG_CHECK(!message.linked(), "a message that ends is in no queue");
  if (message.ni != nullptr) {
    PLNET_CHECK(core_.ni_users[message.ni->number] > 0, "a message with a path uses its NI");
    --core_.ni_users[message.ni->number];
  }
  if (message.is_request()) core_.message_ends();
  message.enter(SendState::kFree);
  core_.messages.give(&message);
  sender_.originator.answer_waiting();
  core_.forwarder.hops.on_record_free();
}

// Path selection avoids interfaces that have just lost health, if there are others. lustre-release
// lnet/lnet/lib-msg.c: lnet_attempt_msg_resend(); lnet/lnet/lib-move.c:
// lnet_resend_pending_msgs_locked()
void MessageEnds::send_again(Message& message) {
  PLNET_CHECK(message.ni != nullptr && !message.result.quarantined,
              "a message that is sent again had a path, and no peer writes to its memory");
  if (!message.result.other_path) {
    core_.statistics.add(Statistic::kResendCount);
    PLNET_CHECK(message.retries < kRetriesMax, "the number of retries is bounded");
    ++message.retries;
  }
  PLNET_CHECK(core_.ni_users[message.ni->number] > 0, "a message with a path uses its NI");
  --core_.ni_users[message.ni->number];
  if (message.routed) Forwarder::bring_source(message);
  message.enter(SendState::kMade);
  message.result = {};
  message.ni = nullptr;
  message.hop = nullptr;
  message.next_hop = nullptr;
  message.next_hop_is_router = false;
  message.since.set(core_.now);
  message.deadline = Instant::max();
  sender_.launcher.add(message);
}

inline void MessageEnds::end_answer(Message& message) {
  PLNET_DEBUG_CHECK(message.answers != nullptr,
                    "a response or forwarded message answers a message");
  Receive& receive = *message.answers;
  const Result<void> status = message.result.status;
  release(message);
  receiver_->on_answered(receive, status);
}

inline void MessageEnds::end_request(Message& message) {
  PLNET_DEBUG_CHECK(!message.routed, "a request is of this node");
  const bool placed = message.result.reply_placed && message.result.status.has_value();
  MatchResult reply;
  if (placed) reply = core_.match.reply_placed(message.grant, message.result.reply_length);
  (void)core_.match.finish(message.grant, SentMessage{message.header, message.target},
                           message.result.status);
  if (reply.matched()) {
    finish_placed_reply(message, reply.grant);
  } else if (placed) {
    core_.drop(reply.cause == MatchCause::kTooLong ? Cause::kDroppedReplyTooLong
                                                   : Cause::kDroppedReplyNoMd,
               message.result.reply_length);
  }
}

// The LND has done the work of a REPLY. The event gets the header that the REPLY would have had,
// with the length of the request's descriptor, as in the kernel (lustre-release
// lnet/lnet/lib-move.c: lnet_create_reply_msg(), lnet_set_reply_msg_len()).
void MessageEnds::finish_placed_reply(const Message& message, const Grant& grant) {
  PLNET_CHECK(message.header.type == MessageType::kGet, "an LND places the reply to a GET");
  MessageHeader header = message.header;
  std::swap(header.source, header.destination);
  std::swap(header.source_pid, header.destination_pid);
  header.type = MessageType::kReply;
  header.payload_length = message.header.area<GetArea>().sink_length;
  // The peer NI is looked up, because without its credit the message no longer keeps it.
  const PeerNi* const from = core_.shared.directory->find(header.source);
  const Nid initiator =
      from == nullptr ? header.source : from->peer.load(std::memory_order_acquire)->seen().primary;
  core_.statistics.add(Statistic::kReceiveCount);
  core_.statistics.add(Statistic::kReceiveLength, message.result.reply_length);
  (void)core_.match.finish(grant, ReceivedMessage{header, initiator, header.source}, {});
}

// The user of a request gets its event now; memory and message stay until the peer can no longer
// write to them. A response ends after the quarantine.
void MessageEnds::quarantine(Message& message) {
  PLNET_CHECK(message.result.quarantined, "the LND asks for the quarantine");
  if (message.is_request()) {
    core_.match.quarantine(message.grant, SentMessage{message.header, message.target},
                           message.result.status ? Errc::kIo : message.result.status.error());
  }
  core_.waits.begin(message, SendState::kQuarantine);
  quarantined_.push_back(message);
}

void MessageEnds::on_quarantine_over(Message& message) {
  const ShardId origin = message.origin;  // read first: the originator may free the message next
  PLNET_CHECK(origin < core_.shared.shards, "a message is from a shard of this node");
  PLNET_CHECK(!message.quarantine_over.load(std::memory_order_relaxed), "a quarantine ends once");
  message.quarantine_over.store(true, std::memory_order_release);
  if (origin != core_.id) core_.shared.doorbells[origin]->ring();
}

unsigned MessageEnds::end_quarantines() {
  unsigned ended = 0;
  quarantined_.for_each([&](Message& message) {
    if (!message.quarantine_over.load(std::memory_order_acquire)) return;
    PLNET_DEBUG_CHECK(message.state.get() == SendState::kQuarantine,
                      "only quarantined messages wait for the end of their quarantine");
    core_.waits.end(message);
    message.unlink();
    ++ended;
    if (!message.is_request()) return end_answer(message);
    core_.match.end_quarantine(message.grant);
    release(message);
  });
  return ended;
}

// Failures count by class where health is judged: not without a path, not on loopback, not past the
// deadline (lustre-release lnet/lnet/lib-msg.c: lnet_is_health_check(), lnet_health_check()).
inline void MessageEnds::count(const Message& message) {
  if (!message.result.status) {
    const bool matters = message.hop != nullptr && core_.now <= message.deadline;
    if (matters && message.result.health != Health::kOk) {
      core_.statistics.add(statistic_of(message.result.health));
    }
    return;
  }
  if (message.routed) {
    core_.statistics.add(Statistic::kRouteCount);
    core_.statistics.add(Statistic::kRouteLength, message.header.payload_length);
    return;
  }
  core_.statistics.add(Statistic::kSendCount);
  if (message.retries > 0) core_.statistics.add(Statistic::kSuccessfulResends);
  const bool carries =
      message.header.type == MessageType::kPut || message.header.type == MessageType::kReply;
  if (carries) core_.statistics.add(Statistic::kSendLength, message.header.payload_length);
}

}  // namespace plnet::lnet
