// SPDX-License-Identifier: BSD-3-Clause
// The action that an event means in each state of a transaction. The one place that says so:
// lustre-release lnet/klnds/kfilnd/kfilnd_tn.c has a function of conditions for each state.
#pragma once

#include <array>
#include <optional>

#include "lib/kfilnd/transaction.hpp"

namespace plnet::kfilnd {

// X(state, event, action). Rows with * are not the kernel's: it leaves a transaction whose send
// never completes where it is, and no driver takes a buffer from it when it shuts down.
#define PLNET_KFILND_TRANSITIONS(X)                            \
  X(kIdle, kInitImmediate, kBeginImmediate)                    \
  X(kIdle, kInitBulk, kBeginBulk)                              \
  X(kIdle, kTxHello, kSendHello)                               \
  X(kIdle, kRxOk, kOffer)                                      \
  X(kIdle, kRxHello, kReceiveHello)                            \
  X(kTaggedRecvPosted, kInitBulk, kSendRequest)                \
  X(kSendFailed, kInitBulk, kCancelBuffer)                     \
  X(kSendFailed, kTagRxCancel, kBufferCancelled)               \
  X(kSendFailed, kTagRxOk, kTransferredAfterFailure)           \
  X(kSendFailed, kTagRxFail, kBufferCancelled)                 \
  X(kTaggedRecvPosted, kTagRxFail, kBufferFailedEarly) /* * */ \
  X(kTaggedRecvPosted, kTagRxCancel, kBufferFailedEarly)       \
  X(kImmSend, kTxOk, kSent)                                    \
  X(kImmSend, kTxFail, kSendFailed)                            \
  X(kImmSend, kTimeout, kSendTimedOut) /* * */                 \
  X(kWaitComp, kTxOk, kRequestSent)                            \
  X(kWaitComp, kTagRxOk, kTransferredBeforeSent)               \
  X(kWaitComp, kTxFail, kRequestFailed)                        \
  X(kWaitComp, kTagRxFail, kBufferFailed)                      \
  X(kWaitComp, kTagRxCancel, kBufferFailed) /* * */            \
  X(kWaitComp, kTimeout, kRequestTimedOut)  /* * */            \
  X(kWaitSendComp, kTxOk, kSent)                               \
  X(kWaitSendComp, kTxFail, kRequestFailedAfterTransfer)       \
  X(kWaitSendComp, kTimeout, kSendTimedOut) /* * */            \
  X(kWaitTagComp, kTagRxOk, kTransferred)                      \
  X(kWaitTagComp, kTagRxFail, kBufferFailed)                   \
  X(kWaitTagComp, kTagRxCancel, kBufferFailed) /* * */         \
  X(kWaitTagComp, kTimeout, kTransferTimedOut)                 \
  X(kWaitTagComp, kTagTxOk, kRemoteDone)                       \
  X(kWaitTagComp, kTagTxFail, kRemoteFailed)                   \
  X(kWaitTimeoutTagComp, kTagRxCancel, kCancelledAfterTimeout) \
  X(kWaitTimeoutTagComp, kTagRxFail, kBufferFailed)            \
  X(kWaitTimeoutTagComp, kTagRxOk, kTransferred)               \
  X(kWaitTimeoutTagComp, kTimeout, kQuarantine) /* * */        \
  X(kFail, kTxOk, kSent)                                       \
  X(kFail, kTxFail, kSendFailedAfterFailure)                   \
  X(kFail, kTagRxOk, kTransferredAfterFailure)                 \
  X(kFail, kTagRxFail, kBufferCancelled)                       \
  X(kFail, kTagRxCancel, kBufferCancelled)                     \
  X(kFail, kInitBulk, kCancelBuffer) /* * */                   \
  X(kFail, kTimeout, kQuarantine)    /* * */                   \
  X(kImmRecv, kRxOk, kActOnDecision)                           \
  X(kImmRecv, kInitTagRma, kMovePayload)                       \
  X(kImmRecv, kSkipTagRma, kAnswerWithoutPayload)              \
  X(kWaitTagRmaComp, kTagTxOk, kRemoteDone)                    \
  X(kWaitTagRmaComp, kTagTxFail, kRemoteFailed)

// X(action, the part of the LND that has it, its function).
#define PLNET_KFILND_ACTIONS(X)                                          \
  X(kBeginImmediate, initiator, begin_immediate)                         \
  X(kBeginBulk, initiator, begin_bulk)                                   \
  X(kSendRequest, initiator, send_request)                               \
  X(kSendHello, hellos, send)                                            \
  X(kReceiveHello, hellos, receive)                                      \
  X(kOffer, receives, offer)                                             \
  X(kActOnDecision, receives, act_on_decision)                           \
  X(kMovePayload, receives, move_payload)                                \
  X(kAnswerWithoutPayload, receives, answer_without_payload)             \
  X(kRemoteDone, receives, remote_done)                                  \
  X(kRemoteFailed, receives, remote_failed)                              \
  X(kSent, endings, sent)                                                \
  X(kSendFailed, endings, send_failed)                                   \
  X(kSendTimedOut, endings, send_timed_out)                              \
  X(kRequestSent, endings, request_sent)                                 \
  X(kRequestFailed, endings, request_failed)                             \
  X(kRequestTimedOut, endings, request_timed_out)                        \
  X(kRequestFailedAfterTransfer, endings, request_failed_after_transfer) \
  X(kCancelBuffer, endings, cancel_buffer)                               \
  X(kBufferCancelled, endings, buffer_cancelled)                         \
  X(kBufferFailedEarly, endings, buffer_failed_early)                    \
  X(kBufferFailed, endings, buffer_failed)                               \
  X(kTransferred, endings, transferred)                                  \
  X(kTransferredBeforeSent, endings, transferred_before_sent)            \
  X(kTransferredAfterFailure, endings, transferred_after_failure)        \
  X(kTransferTimedOut, endings, transfer_timed_out)                      \
  X(kCancelledAfterTimeout, endings, cancelled_after_timeout)            \
  X(kQuarantine, endings, quarantine)                                    \
  X(kSendFailedAfterFailure, endings, send_failed_after_failure)

// No action: the pair cannot happen.
enum class TransactionAction : std::uint8_t {
  kNone,
#define PLNET_X(action, part, function) action,
  PLNET_KFILND_ACTIONS(PLNET_X)
#undef PLNET_X
};
inline constexpr std::size_t kTransactionActions = 30;
static_assert(static_cast<std::size_t>(TransactionAction::kSendFailedAfterFailure) + 1 ==
              kTransactionActions);

using TransitionTable =
    std::array<std::array<TransactionAction, kTransactionEvents>, kTransactionStates>;
inline constexpr TransitionTable kTransitions = [] {
  TransitionTable table{};
#define PLNET_X(state, event, action)                      \
  table[static_cast<std::size_t>(TransactionState::state)] \
       [static_cast<std::size_t>(TransactionEvent::event)] = TransactionAction::action;
  PLNET_KFILND_TRANSITIONS(PLNET_X)
#undef PLNET_X
  return table;
}();
// The initiator waits in these states: each has its time limit.
static_assert([] {
  using enum TransactionState;
  for (const TransactionState at :
       {kImmSend, kWaitComp, kWaitSendComp, kWaitTagComp, kWaitTimeoutTagComp, kFail}) {
    if (kTransitions[static_cast<std::size_t>(at)][static_cast<std::size_t>(
            TransactionEvent::kTimeout)] == TransactionAction::kNone)
      return false;
  }
  return true;
}());

[[nodiscard]] constexpr TransactionAction action_for(TransactionState state,
                                                     TransactionEvent event) {
  return kTransitions[static_cast<std::size_t>(state)][static_cast<std::size_t>(event)];
}

}  // namespace plnet::kfilnd
