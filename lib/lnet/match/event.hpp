// SPDX-License-Identifier: BSD-3-Clause
// The fields of an event that come from the message: lustre-release lnet/lnet/lib-msg.c:
// lnet_build_msg_event(). The MatchTable adds the fields of the MD.
#pragma once

#include <cstdint>

#include "lib/lnet/api/memory_descriptor.hpp"
#include "lib/lnet/wire/header.hpp"

namespace plnet::lnet {

// A message that has arrived: its header, and the facts of the receiving shard.
struct ReceivedMessage {
  const MessageHeader& header;
  const Nid& initiator;  // the primary NID of header.source
  const Nid& last_hop;
};

// A PUT or GET of this node. `target` is the NID that the user named: path selection may have put
// another NID of that peer into the header.
struct SentMessage {
  const MessageHeader& header;
  const ProcessId& target;
};

// For kPut, kGet, kAck, kReply. Does not set `offset`, and `accepted_length` only for kAck. For
// kGet the requested length is the header's payload, 0, as in the kernel.
void describe(const ReceivedMessage& message, EventKind kind, Event& event);
// For kSend.
void describe(const SentMessage& message, std::uint32_t own_pid, Event& event);

}  // namespace plnet::lnet
