// SPDX-License-Identifier: BSD-3-Clause
// A message that is being received: the conversation that decides what becomes of it, from its
// header to the end of its payload and of the answer to it.
#pragma once

#include <cstdint>

#include "lib/base/cache_line.hpp"
#include "lib/base/relaxed.hpp"
#include "lib/lnet/api/lnd.hpp"
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

// Of a message that is not for us: where it is to go, and what it has of the means to get there.
// The shard's on which it arrived.
struct Forwarding {
  PeerPort* client = nullptr;  // who sent it here; null once that one's port has gone
  bool has_credit = false;     // of the client's, or waits for one
  bool waits_for_credit = false;
  bool waits_for_buffer = false;
  bool has_buffer = false;
  bool has_promise = false;  // of the message with which it leaves
  bool is_handed = false;    // it has that, and waits for its next hop alone
  bool via_router = false;   // see `next_hop`
  // The lowest bits of ShardCore::hops_lost_seen when the path was chosen: nothing is under way
  // while so many are lost that it would seem to be new, and with one byte more this would reach
  // into another cache line.
  std::uint8_t chosen_at = 0;
  BufferRef buffer;

  // The path that was chosen when its header came, or when that was lost.
  Ni* ni = nullptr;
  PeerNi* next_hop = nullptr;  // null: none is, or not any more
  PeerPort* hop = nullptr;     // of that one: whose share of the buffers this is
  Nid destination;
  PayloadKeeper* keeper = nullptr;  // the LND that it came by, until all is in the buffer or gone
};
static_assert(sizeof(Forwarding) == 80);

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
  bool matched = false;
  bool told = false;               // an ACK whose event its owner has told: nothing is granted
  bool passed_on = false;          // or will tell, without an answer (ack_note.hpp)
  bool delayed = false;            // waits on a lazy portal
  bool was_held = false;           // by a delay rule: none holds it again
  bool wants_destination = false;  // with the coordinator: a peer NI not of its sender, but of whom
                                   // it goes to
  std::uint32_t attach_epoch = 0;  // of its portal's home, when the turn began
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
  RxDecision decision;           // until the LND is told
  bool parked = false;           // the LND waits for a decision
  bool waits_for_share = false;  // its peer has all that it may have
  Relaxed<bool> gone;  // was parked when its connection went; the home of a lazy portal looks too
  Forwarding forwarding;

  // Its port, and with it who keeps the payload, is there as long as this is.
  [[nodiscard]] KeptPayload kept() const { return {forwarding.keeper, rx}; }
};

}  // namespace plnet::lnet
