// SPDX-License-Identifier: BSD-3-Clause
// A message that is being received: the conversation that decides what becomes of it, from its
// header to the end of its payload and of the answer to it.
#pragma once

#include <cstdint>

#include "lib/base/cache_line.hpp"
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
  // The lowest bits of ShardCore::hops_lost_seen when the path was chosen: nothing is under way
  // for so many losses that these bits wrap around.
  std::uint8_t chosen_at = 0;
  BufferRef buffer;

  // The path that was chosen when its header came, or when that was lost.
  Ni* ni = nullptr;
  PeerNi* next_hop = nullptr;  // null: none is, or not any more
  PeerPort* hop = nullptr;     // of that one: whose share of the buffers this is
  Nid destination;
  PayloadKeeper* keeper = nullptr;  // the LND that it came by, until all is in the buffer or gone
};
static_assert(sizeof(Forwarding) <= 80);

// The result of the search for a message's descriptor.
enum class Match : std::uint8_t {
  kNone,
  kGranted,
  kEnded,     // an ACK: the descriptor's owner has ended it, nothing is granted
  kPassedOn,  // an ACK: the owner ends it and does not answer (ack_note.hpp)
};

// Two of them may be with two shards.
struct alignas(kNoSharing) Receive : Parcel {
  Receive() : Parcel(ParcelKind::kReceive) {}

  // What arrived; constant.
  MessageHeader header;
  Nid from;       // last hop
  Nid initiator;  // primary NID of who made it
  bool reply_by_lnd = false;
  bool forwarded = false;  // not for us

  // The conversation. Whoever is asked answers to `asker`: where the message arrived, or the home
  // of the lazy portal on which it waits.
  ShardId asker = 0;
  ShardId first_asked = 0;  // the turn among the shards began there
  ShardId owner = 0;        // of the descriptor that was granted
  Match match = Match::kNone;
  bool was_held = false;                    // a delay rule held it: no rule does again
  std::uint32_t attach_epoch = 0;           // epoch of its portal's home at the turn's begin
  Instant waits_since{};                    // start of its last wait
  Cause cause = Cause::kDroppedPutNoMatch;  // not matched: why
  Grant grant;
  Result<void> status;  // of the payload, or of the answer

  // The shard's on which it arrived; nobody else looks here.
  RxHandle rx;
  NiPort* port = nullptr;
  PeerPort* peer = nullptr;  // of `from`; null: loopback
  LndLink* link = nullptr;
  PeerPort* charged = nullptr;  // whose share of the records this is
  Receive* next_in_port = nullptr;
  RxDecision decision;                               // kept until the LND gets it
  Relaxed<ReceiveState> state{ReceiveState::kFree};  // other shards only read it
  Relaxed<bool> gone;  // was parked when its connection went; the home of a lazy portal looks too
  Forwarding forwarding;

  void enter(ReceiveState next) {
    PLNET_CHECK(kReceiveTransitions.allow(state.get(), next), "the transition is allowed");
    state.set(next);
  }
  [[nodiscard]] bool is(ReceiveState which) const { return state.get() == which; }
  [[nodiscard]] bool matched() const { return match != Match::kNone; }
  // An ACK that the descriptor's owner ends by itself, without a notice.
  [[nodiscard]] bool ended_by_owner() const { return match >= Match::kEnded; }

  // Its port, and with it who keeps the payload, is there as long as this is.
  [[nodiscard]] KeptPayload kept() const { return {forwarding.keeper, rx}; }
};

}  // namespace plnet::lnet
