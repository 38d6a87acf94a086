// SPDX-License-Identifier: BSD-3-Clause
// A message on its way out, with its buffer: one of ours, or the answer to one of the peer's.
// lustre-release v2_17_0 lnet/klnds/o2iblnd/o2iblnd.h: struct kib_tx, whose flags queued, sending
// and waiting are states here.
#pragma once

#include <cstdint>
#include <string_view>

#include "lib/base/clock.hpp"
#include "lib/base/intrusive_list.hpp"
#include "lib/lnet/api/lnd.hpp"
#include "lib/o2iblnd/queue_pair.hpp"
#include "lib/o2iblnd/wire.hpp"

namespace plnet::o2iblnd {

struct Connection;
struct Inbound;
struct Peer;

// X(id, name, health if it is late in this state, health if its connection ends otherwise).
// The cause of a deadline: it never left a queue, it was posted and not completed, it was completed
// and not answered. A message that was posted may have been executed by the peer even if its send
// fails, so no other end of its connection has it sent again; the kernel's REMOTE_DROPPED does.
#define PLNET_O2IBLND_TX_STATES(X)                                      \
  X(kFree, "FREE", kOk, kOk)                                            \
  X(kWaiting, "WAITING_FOR_CONNECTION", kNetworkTimeout, kLocalAborted) \
  X(kQueued, "QUEUED", kLocalTimeout, kLocalError)                      \
  X(kSending, "SENDING", kNetworkTimeout, kRemoteError)                 \
  X(kAsking, "ASKING", kNetworkTimeout, kRemoteError)                   \
  X(kAsked, "ASKED", kRemoteTimeout, kOk)                               \
  X(kAnswered, "ANSWERED", kNetworkTimeout, kRemoteError)               \
  X(kGranted, "GRANTED", kLocalTimeout, kLocalError)                    \
  X(kWriting, "WRITING", kNetworkTimeout, kRemoteError)                 \
  X(kFlushing, "FLUSHING", kNetworkTimeout, kRemoteError)               \
  X(kQuarantined, "QUARANTINED", kOk, kOk)                              \
  X(kDraining, "DRAINING", kOk, kOk)

enum class TxState : std::uint8_t {
#define PLNET_X(id, name, late, closed) id,
  PLNET_O2IBLND_TX_STATES(PLNET_X)
#undef PLNET_X
};
inline constexpr std::size_t kTxStates = 12;
static_assert(static_cast<std::size_t>(TxState::kDraining) + 1 == kTxStates);
[[nodiscard]] std::string_view name_of(TxState state);
[[nodiscard]] Health health_when_late(TxState state);
[[nodiscard]] Health health_when_closed(TxState state);

#define PLNET_O2IBLND_TX_EVENTS(X) \
  X(kPosted)                       \
  X(kSent)                         \
  X(kAnswer)                       \
  X(kGrant)                        \
  X(kGiveUp)                       \
  X(kClose)                        \
  X(kDrain)

enum class TxEvent : std::uint8_t {
#define PLNET_X(id) id,
  PLNET_O2IBLND_TX_EVENTS(PLNET_X)
#undef PLNET_X
};
inline constexpr std::size_t kTxEvents = 7;
static_assert(static_cast<std::size_t>(TxEvent::kDrain) + 1 == kTxEvents);

struct Tx : ListNode<> {
  using State = TxState;

  State state = State::kFree;
  Kind kind = Kind::kNoop;
  std::uint8_t sending = 0;  // sends posted and not completed: 2 if PUT_DONE overtakes PUT_REQ's
  bool reply = false;        // the share of the pool that it is taken from
  bool sink_open = false;    // the peer may write to memory that this message names
  bool answered = false;     // the peer has received the message, since it has answered
  bool reserved = false;     // a receive for the answer is put aside
  bool gathered = false;     // kImmediate: its payload is not in the buffer
  std::uint16_t head_bytes = 0;
  std::uint32_t generation = 0;
  std::int32_t code = 0;          // of kPutNak, kPutDone, kGetDone: bytes, or an errno below 0
  std::uint64_t cookie = 0;       // names it to the peer
  std::uint64_t peer_cookie = 0;  // of the message of the peer that it answers
  Connection* connection = nullptr;
  Peer* peer = nullptr;
  lnet::Transmit* transmit = nullptr;  // a message of the core
  Inbound* inbound = nullptr;  // the message of the peer that this answers, and that ends with it
  Instant deadline = Instant::max();
  Result<void> status{};
  Health health = Health::kOk;

  std::uint32_t mapping = kNoMapping;  // of the sink that is laid open

  Fragment piece;           // gathered
  lnet::Payload source;     // kPutDone, kGetDone: the bytes to write
  RemoteBuffer sink;        // the destination of the bytes; lies in the buffer
  std::uint32_t bytes = 0;  // of payload: sent, to write, or placed

  [[nodiscard]] bool asks() const {
    return kind == Kind::kPutRequest || kind == Kind::kGetRequest || kind == Kind::kPutAck;
  }
  // The first failure stays; a failure is not made good by a later success.
  void fail(Errc cause, Health how) {
    if (!status) return;
    status = std::unexpected(cause);
    health = how;
  }
};

}  // namespace plnet::o2iblnd
