// SPDX-License-Identifier: BSD-3-Clause
// A message that arrives, from its header until its payload is in place and its answer has left.
#pragma once

#include <cstdint>

#include "lib/base/cache_line.hpp"
#include "lib/base/check.hpp"
#include "lib/base/clock.hpp"
#include "lib/base/relaxed.hpp"
#include "lib/lnet/api/lnd.hpp"
#include "lib/lnet/flow/message_states.hpp"
#include "lib/lnet/flow/parcel.hpp"
#include "lib/lnet/flow/router_buffers.hpp"
#include "lib/lnet/match/grant.hpp"
#include "lib/lnet/move/statistics.hpp"

namespace plnet::lnet {

class NiPort;
struct PeerPort;
struct LndLink;
struct Ni;
struct PeerNi;

// The resources and the path of a forwarded message. Owned by the shard on which it arrived.
struct Forwarding {
  PeerPort* client = nullptr;  // its sender; null once the sender's port has gone
  bool has_credit = false;     // a credit of the client; in kCreditWait: queued for one
  bool has_buffer = false;     // until kLeaving, this includes the promise of a Message
  bool via_router = false;     // see `next_hop`
  bool lost = false;           // its LND kept the payload and could not bring it
  // The lowest bits of ShardCore::hops_lost_seen when the path was chosen. No message lives through
  // so many losses that these bits wrap around.
  std::uint8_t chosen_at = 0;
  BufferRef buffer;

  // The path, chosen when the header arrived and again when it was lost.
  Ni* ni = nullptr;
  PeerNi* next_hop = nullptr;  // null: none is chosen, or the port of the hop is gone
  PeerPort* hop = nullptr;     // the port of next_hop, whose share of the buffers this uses
  Nid destination;
  PayloadKeeper* keeper =
      nullptr;  // the LND that keeps the payload, until it is in the buffer or gone
};
static_assert(sizeof(Forwarding) <= 80);

// The result of the search for a message's descriptor.
enum class Match : std::uint8_t {
  kNone,
  kGranted,
  kEnded,     // an ACK: the descriptor's owner has ended it, nothing is granted
  kPassedOn,  // an ACK: the owner ends it and does not answer (ack_note.hpp)
};

// Aligned so that two receives in the hands of two shards share no lines.
struct alignas(kNoSharing) Receive : Parcel {
  Receive() : Parcel(ParcelKind::kReceive) {}

  // The message as it arrived; constant.
  MessageHeader header;
  Nid from;       // last hop
  Nid initiator;  // primary NID of the originator
  bool reply_by_lnd = false;
  bool forwarded = false;  // the message is for another node

  // The search for a descriptor. A shard that is asked answers to `asker`: the shard on which the
  // message arrived, or the home of the lazy portal on which it waits.
  ShardId asker = 0;
  ShardId first_asked = 0;  // the shard at which the round of questions began
  ShardId owner = 0;        // of the granted descriptor
  Match match = Match::kNone;
  bool was_held = false;                    // a delay rule held it, so no rule does again
  std::uint32_t attach_epoch = 0;           // epoch of its portal's home when the round began
  Instant waits_since{};                    // start of its last wait
  Cause cause = Cause::kDroppedPutNoMatch;  // the reason why there is no match
  Grant grant;
  Result<void> status;  // of the payload, or of the answer

  // Only the shard on which the message arrived uses these.
  RxHandle rx;
  NiPort* port = nullptr;
  PeerPort* peer = nullptr;  // of `from`; null: loopback
  LndLink* link = nullptr;
  PeerPort* charged = nullptr;  // the peer NI whose share of the records this uses
  Receive* next_in_port = nullptr;
  RxDecision decision;                               // kept until the LND gets it
  Relaxed<ReceiveState> state{ReceiveState::kFree};  // other shards only read it
  Relaxed<bool>
      gone;  // its connection is lost while it is parked; the home of a lazy portal reads it too
  Forwarding forwarding;

  void enter(ReceiveState next) {
    PLNET_CHECK(kReceiveTransitions.allow(state.get(), next), "the transition is allowed");
    PLNET_DEBUG_CHECK(next != ReceiveState::kFree || !linked(),
                      "a message that ends is in no queue");
    state.set(next);
  }
  [[nodiscard]] bool is(ReceiveState which) const { return state.get() == which; }
  [[nodiscard]] bool matched() const { return match != Match::kNone; }
  // An ACK that the descriptor's owner ends by itself, without a notice.
  [[nodiscard]] bool ended_by_owner() const { return match >= Match::kEnded; }

  // The port, and with it the LND that keeps the payload, exists as long as this record.
  [[nodiscard]] KeptPayload kept() const { return {forwarding.keeper, rx, forwarding.lost}; }
};

}  // namespace plnet::lnet
