// SPDX-License-Identifier: BSD-3-Clause
#include "lib/lnet/match/event.hpp"

#include "lib/base/check.hpp"

namespace plnet::lnet {

namespace {

MessageType type_of(EventKind kind) {
  switch (kind) {
    case EventKind::kPut: return MessageType::kPut;
    case EventKind::kGet: return MessageType::kGet;
    case EventKind::kReply: return MessageType::kReply;
    default: PLNET_CHECK(kind == EventKind::kAck, "no message comes in with such an event");
  }
  return MessageType::kAck;
}

}  // namespace

void describe(const ReceivedMessage& message, EventKind kind, Event& event) {
  const MessageHeader& header = message.header;
  event.kind = kind;
  event.message_type = type_of(kind);
  // Assigned member by member: an aggregate would be built elsewhere and copied.
  event.target.nid = header.destination;
  event.target.pid = header.destination_pid;
  event.initiator.nid = message.initiator;
  event.initiator.pid = header.source_pid;
  event.source.nid = header.source;
  event.source.pid = header.source_pid;
  event.sender = message.last_hop;
  event.requested_length = header.payload_length;
  if (kind == EventKind::kPut) {
    const auto put = header.area<PutArea>();
    event.portal = put.portal;
    event.match_bits = put.match_bits;
    event.header_data = put.header_data;
  } else if (kind == EventKind::kGet) {
    const auto get = header.area<GetArea>();
    event.portal = get.portal;
    event.match_bits = get.match_bits;
  } else if (kind == EventKind::kAck) {
    const auto ack = header.area<AckArea>();
    event.match_bits = ack.match_bits;
    event.accepted_length = ack.accepted_length;
  }
}

void describe(const SentMessage& message, std::uint32_t own_pid, Event& event) {
  const MessageHeader& header = message.header;
  event.kind = EventKind::kSend;
  event.message_type = header.type;
  event.target = message.target;
  event.initiator.pid = own_pid;
  event.source.pid = own_pid;
  event.source.nid = header.source;
  event.sender = header.destination;
  if (header.type == MessageType::kPut) {
    const auto put = header.area<PutArea>();
    event.portal = put.portal;
    event.match_bits = put.match_bits;
    event.header_data = put.header_data;
    event.offset = put.offset;
    event.requested_length = event.accepted_length = header.payload_length;
    return;
  }
  PLNET_CHECK(header.type == MessageType::kGet, "only PUT and GET are begun by an MD");
  const auto get = header.area<GetArea>();
  event.portal = get.portal;
  event.match_bits = get.match_bits;
  event.offset = get.source_offset;
  event.requested_length = event.accepted_length = get.sink_length;
}

}  // namespace plnet::lnet
