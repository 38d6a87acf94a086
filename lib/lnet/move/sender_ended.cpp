// SPDX-License-Identifier: BSD-3-Clause
// The end of a message on the shard that made it: all that it had is home.
#include <utility>

#include "lib/lnet/move/receiver.hpp"
#include "lib/lnet/move/sender.hpp"

namespace plnet::lnet {

void Sender::ended(Message& message) {
  count_end(message);
  if (message.result.again && !is_given_up(message)) [[unlikely]]
    return send_again(message);
  if (message.result.quarantined) return quarantine(message);
  if (!message.is_request()) return answered(message);
  request_ended(message);
  give_back(message);
}

// Its user waits for it to be over.
bool Sender::is_given_up(const Message& message) const {
  return message.is_request() && core_.match.aborted(message.grant);
}

void Sender::give_back(Message& message) {
  if (message.ni != nullptr) --core_.ni_users[message.ni->number];
  if (message.is_request()) core_.message_ends();
  message.enter(SendState::kFree);
  core_.messages.give(&message);
  if (!answers_.empty()) answer_waiting();
  core_.forwarder.record_came_home();
}

// Selection avoids the interfaces that have just lost health, if there are others. lustre-release
// lnet/lnet/lib-msg.c: lnet_attempt_msg_resend(); lnet/lnet/lib-move.c:
// lnet_resend_pending_msgs_locked()
void Sender::send_again(Message& message) {
  if (!message.result.other_way) {
    core_.statistics.add(Statistic::kResendCount);
    ++message.retries;
  }
  --core_.ni_users[message.ni->number];
  if (message.routed) bring_source(message);
  message.enter(SendState::kMade);
  message.result = {};
  message.ni = nullptr;
  message.hop = nullptr;
  message.next_hop = nullptr;
  message.next_hop_is_router = false;
  message.since.set(core_.now);
  message.deadline = Instant::max();
  made_.push_back(message);
}

inline void Sender::answered(Message& message) {
  Receive& receive = *message.answers;
  const Result<void> status = message.result.status;
  give_back(message);
  receiver_->on_answered(receive, status);
}

inline void Sender::request_ended(Message& message) {
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

// The network has done the work of a REPLY; its header is the one that would have come. Only how
// much was asked for is its descriptor's, as in the kernel (lustre-release lnet/lnet/lib-move.c:
// lnet_create_reply_msg(), lnet_set_reply_msg_len()).
void Sender::finish_placed_reply(const Message& message, const Grant& grant) {
  MessageHeader header = message.header;
  std::swap(header.source, header.destination);
  std::swap(header.source_pid, header.destination_pid);
  header.type = MessageType::kReply;
  header.payload_length = message.header.area<GetArea>().sink_length;
  // Its credit has gone home, so that nothing keeps the hop any more.
  const PeerNi* const from = core_.shared.directory->find(header.source);
  const Nid initiator =
      from == nullptr ? header.source : from->peer.load(std::memory_order_acquire)->seen().primary;
  core_.statistics.add(Statistic::kReceiveCount);
  core_.statistics.add(Statistic::kReceiveLength, message.result.reply_length);
  (void)core_.match.finish(grant, ReceivedMessage{header, initiator, header.source}, {});
}

// A request's user is told at once; its memory and the message stay until nobody can write there
// any more. An answer ends when it is over.
void Sender::quarantine(Message& message) {
  if (message.is_request()) {
    core_.match.quarantine(message.grant, SentMessage{message.header, message.target},
                           message.result.status ? Errc::kIo : message.result.status.error());
  }
  core_.waits.begin(message, SendState::kQuarantine);
  quarantined_.push_back(message);
}

// Comes on the shard that posted it, while the message may be on its way home.
void Sender::on_quarantine_over(Message& message) {
  const ShardId origin = message.origin;  // which may take it home from now on
  message.quarantine_over.store(true, std::memory_order_release);
  if (origin != core_.id) core_.shared.doorbells[origin]->ring();
}

unsigned Sender::end_quarantines() {
  unsigned ended_now = 0;
  quarantined_.for_each([&](Message& message) {
    if (!message.quarantine_over.load(std::memory_order_acquire)) return;
    core_.waits.end(message);
    message.unlink();
    ++ended_now;
    if (!message.is_request()) return answered(message);
    core_.match.end_quarantine(message.grant);
    give_back(message);
  });
  return ended_now;
}

// Failures count by class where health is looked at: not without a path, not by loopback, not past
// the deadline (lustre-release lnet/lnet/lib-msg.c: lnet_is_health_check(), lnet_health_check()).
inline void Sender::count_end(const Message& message) {
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
