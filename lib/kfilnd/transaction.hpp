// SPDX-License-Identifier: BSD-3-Clause
// One transaction: a message of ours, a HELLO, or a received message until it is over. States and
// events are the kernel's (lustre-release lnet/klnds/kfilnd/kfilnd.h: enum tn_states,
// enum tn_events), so that statistics and logs of both can be laid side by side.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "lib/base/clock.hpp"
#include "lib/base/intrusive_list.hpp"
#include "lib/base/timer_wheel.hpp"
#include "lib/kfilnd/wire.hpp"
#include "lib/lnet/api/lnd.hpp"

namespace plnet::kfilnd {

class Machine;
struct Peer;

// X(id, the kernel's number, name in its statistics)
#define PLNET_KFILND_STATES(X)                    \
  X(kInvalid, 0, "INVALID")                       \
  X(kIdle, 1, "IDLE")                             \
  X(kWaitTagComp, 2, "WAIT_TAG_COMP")             \
  X(kImmSend, 3, "IMM_SEND")                      \
  X(kTaggedRecvPosted, 4, "TAGGED_RECV_POSTED")   \
  X(kSendFailed, 5, "SEND_FAILED")                \
  X(kWaitComp, 6, "WAIT_COMP")                    \
  X(kWaitTimeoutComp, 7, "WAIT_TOUT_COMP")        \
  X(kWaitSendComp, 8, "SEND_COMP")                \
  X(kWaitTimeoutTagComp, 9, "WAIT_TOUT_TAG_COMP") \
  X(kFail, 10, "FAIL")                            \
  X(kImmRecv, 11, "IMM_RECV")                     \
  X(kWaitTagRmaComp, 12, "WAIT_TAG_RMA_COMP")

enum class TransactionState : std::uint8_t {
#define PLNET_X(id, number, name) id = (number),
  PLNET_KFILND_STATES(PLNET_X)
#undef PLNET_X
};
inline constexpr std::size_t kTransactionStates = 13;
static_assert(static_cast<std::size_t>(TransactionState::kWaitTagRmaComp) + 1 ==
              kTransactionStates);
[[nodiscard]] std::string_view name_of(TransactionState state);

#define PLNET_KFILND_EVENTS(X) \
  X(kInitImmediate)            \
  X(kInitBulk)                 \
  X(kTxHello)                  \
  X(kTxOk)                     \
  X(kTxFail)                   \
  X(kTagRxOk)                  \
  X(kTagRxFail)                \
  X(kTagRxCancel)              \
  X(kTimeout)                  \
  X(kRxHello)                  \
  X(kRxOk)                     \
  X(kRxFail)                   \
  X(kInitTagRma)               \
  X(kSkipTagRma)               \
  X(kTagTxOk)                  \
  X(kTagTxFail)

enum class TransactionEvent : std::uint8_t {
#define PLNET_X(id) id,
  PLNET_KFILND_EVENTS(PLNET_X)
#undef PLNET_X
};
inline constexpr std::size_t kTransactionEvents = 16;
static_assert(static_cast<std::size_t>(TransactionEvent::kTagTxFail) + 1 == kTransactionEvents);

// The status of the operation that an event reports.
struct EventStatus {
  Result<void> status{};
  std::uint32_t length = 0;  // kTagRxOk: bytes really moved
};

// The limit that a transaction counts against: messages of the core, messages of peers, HELLOs.
enum class Quota : std::uint8_t { kTransmits, kReceives, kHellos };
inline constexpr std::size_t kQuotas = 3;
static_assert(static_cast<std::size_t>(Quota::kHellos) + 1 == kQuotas);

struct ForTurn;  // the list in which it waits: for the next turn, for room, for a handshake

struct Transaction : ListNode<ForTurn> {
  using State = TransactionState;
  using Event = TransactionEvent;

  Transaction() : timer(&Transaction::on_timer, this) {}

  // Operations that the NIC has of the transaction, which is over when there are none.
  enum Outstanding : std::uint8_t { kSendPosted = 1, kTaggedPosted = 2, kRemotePosted = 4 };

  Machine* machine = nullptr;  // that runs it
  Peer* peer = nullptr;
  std::uint32_t generation = 0;  // of its place in the pool, for cookies and handles
  State state = State::kInvalid;
  Event again = Event::kInitImmediate;  // the event that runs it when it has waited
  std::uint8_t outstanding = 0;
  Kind kind = Kind::kImmediate;
  bool initiator = false;
  bool early = false;        // received before its sender was known
  bool quarantined = false;  // the core was told of the end, and waits for its memory
  bool abandoned = false;    // the core or a release ends it as soon as possible
  Errc abandon_cause = Errc::kCancelled;
  Quota quota = Quota::kTransmits;

  Result<void> status{};
  Health health = Health::kOk;
  std::uint32_t bytes = 0;  // of the payload, for statistics and the reply
  Instant begun{};
  Instant entered{};  // the time at which its state began
  Instant deadline = Instant::max();
  Instant replay_deadline = Instant::max();
  Timer timer;

  // --- Of an initiator ---
  lnet::Transmit* transmit = nullptr;
  std::uint16_t key = 0;  // 0: none
  Tag tag = 0;
  bool reply_placed = false;

  // --- Of a target ---
  Message message;  // without payload, which lies in `payload`
  std::span<const std::byte> payload;
  std::uint32_t buffer = 0;     // the receive buffer that it holds, + 1
  std::uint32_t copy_slot = 0;  // the place of the copy of its payload, + 1
  bool offered = false;
  bool parked = false;
  bool wanted = false;  // on_received() is owed
  lnet::RxDecision decision{};
  std::uint64_t answer = 0;  // of kSkipTagRma

  [[nodiscard]] lnet::Payload wanted_payload() const {
    return {decision.target.fragments, decision.target.offset, decision.length};
  }
  // The first failure stays; later events do not replace it.
  void update(Result<void> first_status, Health first_health) {
    if (status) status = first_status;
    if (health == Health::kOk) health = first_health;
  }

 private:
  static void on_timer(void* context, Timer& timer, Instant now);
};

}  // namespace plnet::kfilnd
