// SPDX-License-Identifier: BSD-3-Clause
// The conversation between a shard that has a message and the shard that owns the MD it is for:
// question, answer, and the permission to use the memory. Plain values, so that they may cross.
#pragma once

#include <cstdint>
#include <type_traits>

#include "lib/lnet/api/memory_descriptor.hpp"
#include "lib/lnet/api/payload.hpp"
#include "lib/lnet/wire/header.hpp"

namespace plnet::lnet {

// A PUT or GET that looks for an ME.
struct MatchRequest {
  MessageType type = MessageType::kPut;
  PortalId portal = 0;  // as on the wire: may be anything
  std::uint64_t match_bits = 0;
  std::uint32_t requested_length = 0;  // PUT: the payload. GET: the sink
  std::uint32_t offset = 0;            // used by MDs that are managed remotely
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
  kNoMatch,  // PUT, GET: not here; another shard may have it, or the portal is lazy
  kDrop,     // it is for us and will not be had: ask nobody else
};

// Why not.
enum class MatchCause : std::uint8_t {
  kNone,
  kNoEntry,           // nothing here matches
  kTooLong,           // does not fit and the MD does not truncate
  kBadPortal,         // no such portal
  kOtherIncarnation,  // the handle is not this run's
  kGone,              // the handle's MD is unlinked, or there never was one
  kAttached,          // the handle's MD belongs to an ME: no ACK or REPLY is for it
  kExhausted,         // the handle's MD has had all that it waited for
};

// Leave to use some bytes of an MD. It counts as one operation under way: the MD and its memory
// stay until the owner's MatchTable is told that it ended.
struct Grant {
  Payload window;
  MdHandle md;
  std::uint32_t offset = 0;           // in the MD, for its event
  std::uint32_t accepted_length = 0;  // what window.length was when it was granted
  std::uint32_t options = 0;          // MdOption
  EventKind kind = EventKind::kPut;   // of the event that ends it
  bool ack_allowed = false;  // PUT: if the sender wants one and finish() says that all is well
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
