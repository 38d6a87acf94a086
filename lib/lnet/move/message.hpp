// SPDX-License-Identifier: BSD-3-Clause
// A message on its way out of this node, from the call, the response or the arrival that made it
// until its end.
#pragma once

#include <atomic>
#include <cstdint>

#include "lib/base/cache_line.hpp"
#include "lib/base/check.hpp"
#include "lib/lnet/api/lnd.hpp"
#include "lib/lnet/flow/message_states.hpp"
#include "lib/lnet/flow/parcel.hpp"
#include "lib/lnet/match/grant.hpp"
#include "lib/lnet/peers/peer.hpp"

namespace plnet::lnet {

struct Receive;

// An upper bound for retry_count.
inline constexpr std::uint32_t kRetriesMax = UINT8_MAX;
static_assert(kShardsMax < UINT16_MAX, "lane and shard of a booking share a word");

// A Completion without its Transmit.
struct Ending {
  Ending() = default;
  Ending(const Completion& completion)
      : status(completion.status),
        health(completion.health),
        reply_placed(completion.reply_placed),
        quarantined(completion.quarantined),
        unsent(completion.unsent),
        reply_length(completion.reply_length) {}

  Result<void> status{};
  Health health = Health::kOk;
  bool reply_placed = false;
  bool quarantined = false;
  bool unsent = false;      // failed before any of it had left
  bool again = false;       // failed and may be sent again, by the judgement where it failed
  bool other_path = false;  // not sent: its gateway was lost while it waited
  std::uint32_t reply_length = 0;
};

// Aligned so that two messages in the hands of two shards share no lines.
struct alignas(kNoSharing) Message : Parcel, Transmit {
  Message() : Parcel(ParcelKind::kMessage) {}

  // The path that was chosen.
  Ni* ni = nullptr;
  PeerNi* hop = nullptr;                       // next hop
  Relaxed<SendState> state{SendState::kFree};  // written by the shard that has the message
  bool has_peer_credit : 1 = false;
  bool has_ni_credit : 1 = false;
  bool borrows_ni : 1 = false;  // the credit is one more than the NI has

  bool recovery = false;
  // Set by the shard that posted the message, which may be on its way through other shards.
  std::atomic<bool> quarantine_over{false};
  Ending result;  // how it ended
  // The time at which it was made, began its last wait or went to its LND. Other shards only read
  // it.
  Relaxed<Instant> since;

  // Other shards do not read from here on, except the target of a message without a known peer. The
  // request of the caller:
  alignas(kCacheLine) ProcessId target;  // as the caller named it
  Nid from = Nid::any();                 // the source that it must use
  Nid router = Nid::any();               // responses: the gateway that brought the request
  Grant grant;                           // requests: the grant of their descriptor
  Receive* answers =
      nullptr;  // the received message that this answers or forwards; null: a request of this node

  // A record from the pool becomes a new message of the shard `on`.
  void start(MessageType type, ShardId on, std::uint32_t pid, Instant now) {
    PLNET_CHECK(!linked(), "a free record is in no list");
    PLNET_DEBUG_CHECK(!has_peer_credit && !has_ni_credit && booked() == 0,
                      "a free record holds no credit and no lane");
    enter(SendState::kMade);
    origin = on;
    outcome = {};
    since.set(now);
    header.type = type;
    header.source_pid = pid;
    header.payload_length = 0;
    next_hop = nullptr;
    lane = 0;
    routed = next_hop_is_router = kept = lost = false;
    source = {};
    sink = {};
    deadline = Instant::max();
    from = Nid::any();
    router = Nid::any();
    answers = nullptr;
    recovery = false;
    retries = 0;
    detours = 0;
    ni = nullptr;
    hop = nullptr;
    core_state = 0;
    has_peer_credit = has_ni_credit = borrows_ni = false;
    quarantine_over.store(false, std::memory_order_relaxed);
  }
  void enter(SendState next) {
    PLNET_CHECK(kSendTransitions.allow(state.get(), next), "the transition is allowed");
    state.set(next);
  }

  // A PUT or GET of this node; it has a grant.
  [[nodiscard]] bool is_request() const { return answers == nullptr; }
  // An ACK or REPLY of this node.
  [[nodiscard]] bool is_response() const { return answers != nullptr && !routed; }
  // The bytes of the message count as under way by this lane, in the LaneSet of that shard; lane 0:
  // in none.
  void book(LaneId by, ShardId at) {
    PLNET_DEBUG_CHECK(by <= kShardsMax && at < kShardsMax,
                      "a lane is booked from a shard of this node");
    core_state = static_cast<std::uint32_t>(at) << 16U | by;
  }
  [[nodiscard]] LaneId booked() const { return static_cast<LaneId>(core_state); }
  [[nodiscard]] ShardId booked_at() const { return static_cast<ShardId>(core_state >> 16U); }
  // The bytes that LNet's reports count as queued.
  [[nodiscard]] std::uint32_t queue_bytes() const { return header.payload_length + 72; }
};

static_assert(sizeof(Message) == kParcelBytesShared + 2 * kCacheLine);

}  // namespace plnet::lnet
