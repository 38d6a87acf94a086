// SPDX-License-Identifier: BSD-3-Clause
// What an event says of the message behind it: lustre-release lnet/lnet/lib-msg.c:
// lnet_build_msg_event(). The MD's own fields are added by the MatchTable.
#pragma once

#include <cstdint>

#include "lib/lnet/api/memory_descriptor.hpp"
#include "lib/lnet/wire/header.hpp"

namespace plnet::lnet {

// Of a message that has come in: the header as it came, and what the receiving shard knew.
struct ReceivedMessage {
  const MessageHeader& header;
  const Nid& initiator;  // the primary NID of header.source
  const Nid& last_hop;
};

// Of a PUT or GET of ours. `target` is whom the user named: path selection may have put another NID
// of that peer into the header.
struct SentMessage {
  const MessageHeader& header;
  const ProcessId& target;
};

// kPut, kGet, kAck, kReply. Leaves `offset` alone, and for all but kAck `accepted_length`. For kGet
// the requested length is the header's payload, 0, as the kernel has it.
void describe(const ReceivedMessage& message, EventKind kind, Event& event);
// kSend.
void describe(const SentMessage& message, std::uint32_t own_pid, Event& event);

}  // namespace plnet::lnet
