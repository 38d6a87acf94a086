// SPDX-License-Identifier: BSD-3-Clause
// One queue pair to a peer, its receives, and messages of the peer's that are being received.
#pragma once

#include <cstdint>

#include "lib/base/clock.hpp"
#include "lib/base/intrusive_list.hpp"
#include "lib/lnet/api/lnd.hpp"
#include "lib/o2iblnd/credits.hpp"
#include "lib/o2iblnd/lane.hpp"
#include "lib/o2iblnd/negotiation.hpp"
#include "lib/o2iblnd/queue_pair.hpp"
#include "lib/o2iblnd/tx.hpp"

namespace plnet::o2iblnd {

struct OfPeer;      // the list of the connections of its peer
struct ForService;  // the list of connections that the next flush serves
struct ForRoom;     // the list of connections that wait for a descriptor

// A receive buffer: posted, or in one of the lists of its connection.
struct Rx : ListNode<> {
  Connection* connection = nullptr;
  std::uint32_t length = 0;
  ReceiveUse use = ReceiveUse::kNone;  // the message that it is for when it is posted again
  bool posted = false;
};

// A message of the peer from its offer to the core until its end.
struct Inbound : ListNode<> {
  enum class State : std::uint8_t {
    kFree,
    kOffered,
    kParked,
    kDecided,
    kAnswering,  // until its answer is sent, or answered
  };

  State state = State::kFree;
  Kind kind = Kind::kImmediate;
  bool wanted = false;  // on_received() is owed
  std::uint32_t generation = 0;
  Connection* connection = nullptr;
  Rx* rx = nullptr;  // the buffer that it holds
  std::uint64_t cookie = 0;
  std::uint32_t length = 0;  // of the payload that it has, or may have
  RemoteBuffer sink;         // kGetRequest; lies in the buffer
  lnet::MessageHeader header;
  lnet::RxDecision decision;

  [[nodiscard]] lnet::Payload wanted_payload() const {
    return {decision.target.fragments, decision.target.offset, decision.length};
  }
};

struct Connection : ListNode<OfPeer>, ListNode<ForService>, ListNode<ForRoom> {
  enum class State : std::uint8_t {
    kFree,
    kConnecting,  // we have asked
    kAccepting,   // we have answered
    kEstablished,
    kClosing,  // until it has drained
  };

  QueuePairId id;
  State state = State::kFree;
  bool active = false;       // we have asked
  bool established = false;  // now or earlier
  bool disconnected = false;
  Errc cause = Errc::kClosed;  // of the end
  Retry retry;                 // a rejection of ours, and its consequence
  Peer* peer = nullptr;
  Lane* lane = nullptr;  // set if it lies on another shard than its peer's home
  bool away = false;     // at the peer's home, the stand-in for a lane: no queue pair here

  Offer offer;                    // the requested, then the granted one
  std::uint64_t incarnation = 0;  // the peer's
  Credits credits;
  Instant begun{};  // the time of the attempt
  Instant last_send{};

  IntrusiveList<Rx> early;     // received before it was established
  IntrusiveList<Rx> arrived;   // requests to be offered, in order
  IntrusiveList<Rx> unposted;  // to be posted again
  unsigned held = 0;           // messages of the peer that have not returned their credit
  Inbound* parked = nullptr;   // nothing behind it is offered
  IntrusiveList<Inbound> inbound;

  IntrusiveList<Tx> for_answer;  // requests that need a receive for their answer
  IntrusiveList<Tx> messages;    // each costs a credit
  IntrusiveList<Tx> free_of_cost;
  IntrusiveList<Tx> noops;  // of version 1, which cost a credit
  IntrusiveList<Tx> posted;

  // The connection on the other shard, not its stand-in.
  [[nodiscard]] bool is_lane() const { return lane != nullptr && !away; }
  [[nodiscard]] bool is_open() const { return state == State::kEstablished; }
  [[nodiscard]] bool has_queued() const {
    return !for_answer.empty() || !messages.empty() || !free_of_cost.empty() || !noops.empty();
  }
};

}  // namespace plnet::o2iblnd
