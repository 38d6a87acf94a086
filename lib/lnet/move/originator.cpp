// SPDX-License-Identifier: BSD-3-Clause
#include "lib/lnet/move/originator.hpp"

#include "lib/base/check.hpp"
#include "lib/lnet/move/sender.hpp"

namespace plnet::lnet {

inline Message* Originator::make(MessageType type) {
  if (!has_spare()) return nullptr;
  Message* const message = core_.messages.take();
  message->start(type, core_.id, core_.shared.pid, core_.now);
  return message;
}

inline Result<void> Originator::begin(Message& message, MdHandle md, bool ack) {
  core_.message_begins();
  const Parameters& parameters = core_.shared.parameters;
  const auto started = core_.match.start(
      md,
      {.type = message.header.type,
       .ack = ack,
       .tracking = static_cast<ResponseTracking>(parameters.response_tracking.get()),
       .response_deadline = core_.now + parameters.transaction_timeout()},
      message.grant);
  if (!started) sender_.ends.release(message);
  return started;
}

// lustre-release lnet/lnet/lib-move.c: LNetPut(), LNetGet()
inline bool Originator::is_failed_by_rule(const Nid& target) const {
  const FaultView* const rules = core_.faults.rules();
  if (rules == nullptr || !rules->fails(target)) [[likely]]
    return false;
  core_.causes.add(Cause::kTxFailNid);
  return true;
}

Result<void> Originator::put(MdHandle md, const PutSpec& put) {
  if (put.portal >= kPortalsMax) return std::unexpected(Errc::kInvalid);
  if (is_failed_by_rule(put.target.nid)) return std::unexpected(Errc::kIo);
  Message* const message = make(MessageType::kPut);
  if (message == nullptr) return std::unexpected(Errc::kNoMemory);
  if (const auto begun = begin(*message, md, put.ack); !begun) return begun;
  PLNET_DEBUG_CHECK(message->grant.window.length <= kPayloadBytesMax,
                    "a bound descriptor is no longer than a message");
  message->target = put.target;
  message->from = put.from;
  message->recovery = put.recovery;
  message->header.destination_pid = put.target.pid;
  message->header.payload_length = message->grant.window.length;
  message->header.set_area(
      PutArea{.ack_handle = put.ack ? core_.match.wire_handle(md) : WireHandle{},
              .match_bits = put.match_bits,
              .header_data = put.header_data,
              .portal = put.portal,
              .offset = put.offset});
  sender_.launcher.add(*message);
  return {};
}

Result<void> Originator::get(MdHandle md, const GetSpec& get) {
  if (get.portal >= kPortalsMax) return std::unexpected(Errc::kInvalid);
  if (is_failed_by_rule(get.target.nid)) return std::unexpected(Errc::kIo);
  Message* const message = make(MessageType::kGet);
  if (message == nullptr) return std::unexpected(Errc::kNoMemory);
  if (const auto begun = begin(*message, md, false); !begun) return begun;
  PLNET_DEBUG_CHECK(message->grant.window.length <= kPayloadBytesMax,
                    "a bound descriptor is no longer than a message");
  message->target = get.target;
  message->from = get.from;
  message->recovery = get.recovery;
  message->header.destination_pid = get.target.pid;
  message->header.set_area(GetArea{.return_handle = core_.match.wire_handle(md),
                                   .match_bits = get.match_bits,
                                   .portal = get.portal,
                                   .source_offset = get.offset,
                                   .sink_length = message->grant.window.length});
  sender_.launcher.add(*message);
  return {};
}

// A response goes from the NI that received the request to the NID that sent it (lustre-release
// lnet/lnet/lib-move.c: lnet_parse_get(), lib-msg.c: lnet_complete_msg_locked()).
void Originator::answer(Receive& receive) {
  PLNET_CHECK(!receive.forwarded && receive.origin == core_.id,
              "the shard that received a request answers it");
  const bool is_put = receive.header.type == MessageType::kPut;
  PLNET_CHECK(is_put || receive.header.type == MessageType::kGet, "PUT and GET have responses");
  Message* const message = make(is_put ? MessageType::kAck : MessageType::kReply);
  if (message == nullptr) {
    core_.causes.add(Cause::kAnswersWaited);
    core_.waits.begin(receive, ReceiveState::kMessageWait);
    answers_.push_back(receive);
    return;
  }
  receive.enter(ReceiveState::kLeaving);
  fill_answer(*message, receive);
  sender_.launcher.add(*message);
}

void Originator::fill_answer(Message& message, Receive& receive) {
  PLNET_DEBUG_CHECK(receive.from.net() == receive.port->ni().net,
                    "a message came from the network of its NI");
  message.answers = &receive;
  message.target = {receive.header.source, receive.header.source_pid};
  message.from = receive.header.destination;
  if (receive.from.net() != receive.header.source.net()) message.router = receive.from;
  message.header.destination_pid = receive.header.source_pid;
  if (message.header.type == MessageType::kAck) {
    PLNET_DEBUG_CHECK(receive.grant.ack_allowed, "an ACK answers a PUT whose descriptor allows it");
    const auto put = receive.header.area<PutArea>();
    message.header.set_area(AckArea{.destination = put.ack_handle,
                                    .match_bits = put.match_bits,
                                    .accepted_length = receive.grant.accepted_length});
    return;
  }
  PLNET_DEBUG_CHECK(receive.grant.kind == EventKind::kGet, "a REPLY answers a GET");
  message.source = receive.grant.window;
  message.header.payload_length = receive.grant.window.length;
  message.header.set_area(ReplyArea{.destination = receive.header.area<GetArea>().return_handle});
}

void Originator::make_waiting() {
  while (may_answer()) {
    Receive& receive = *answers_.pop_front();
    PLNET_CHECK(receive.is(ReceiveState::kMessageWait),
                "responses of the queue wait for a message");
    core_.waits.end(receive);
    answer(receive);
  }
}

}  // namespace plnet::lnet
