// SPDX-License-Identifier: BSD-3-Clause
// The messages between a shard that holds a message and the shard that owns its MD: question,
// answer, and the permission to use the memory. Plain values, which may cross.
#pragma once

#include <cstdint>
#include <type_traits>

#include "lib/lnet/api/memory_descriptor.hpp"
#include "lib/lnet/api/payload.hpp"
#include "lib/lnet/wire/header.hpp"

namespace plnet::lnet {

// A PUT or GET that searches for an ME.
struct MatchRequest {
  MessageType type = MessageType::kPut;
  PortalId portal = 0;  // as on the wire, so any value
  std::uint64_t match_bits = 0;
  std::uint32_t requested_length = 0;  // PUT: the payload. GET: the sink
  std::uint32_t offset = 0;            // used by remotely managed MDs
  ProcessId sender;                    // primary NID of the peer, pid of the header
  Nid source;                          // as in the header
};

// An ACK or REPLY that names its MD.
struct RespondRequest {
  MessageType type = MessageType::kAck;
  WireHandle handle;
  std::uint32_t payload_length = 0;
};

enum class MatchVerdict : std::uint8_t {
  kMatched,  // the grant pins the MD until it is finished
  kNoMatch,  // PUT, GET: no entry here; another shard may have one, or the portal is lazy
  kDrop,     // for this node, but refused: no other shard is asked
};

// The reason why there is no match.
enum class MatchCause : std::uint8_t {
  kNone,
  kNoEntry,           // no entry matches
  kTooLong,           // does not fit and the MD does not truncate
  kBadPortal,         // no such portal
  kOtherIncarnation,  // the handle is of another run of the node
  kGone,              // the handle's MD is unlinked, or never existed
  kAttached,          // the handle's MD belongs to an ME, so it takes no ACK or REPLY
  kExhausted,         // the threshold of the handle's MD is used up
};

// The permission to use some bytes of an MD. It counts as one operation under way: the MD and its
// memory stay until the owner's MatchTable is told that the operation has ended.
struct Grant {
  Payload window;
  MdHandle md;
  std::uint32_t offset = 0;           // in the MD, for its event
  std::uint32_t accepted_length = 0;  // the length of the window when it was granted
  std::uint32_t options = 0;          // MdOption
  EventKind kind = EventKind::kPut;   // of the event at the end
  bool ack_allowed = false;  // PUT: an ACK is sent if the sender wants one and finish() succeeds
};
static_assert(std::is_trivially_copyable_v<Grant>);

struct MatchAnswer {
  MatchVerdict verdict = MatchVerdict::kNoMatch;
  MatchCause cause = MatchCause::kNone;

  [[nodiscard]] bool matched() const { return verdict == MatchVerdict::kMatched; }
};
struct MatchResult : MatchAnswer {
  Grant grant;  // kMatched only
};

}  // namespace plnet::lnet
