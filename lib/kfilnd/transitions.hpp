// SPDX-License-Identifier: BSD-3-Clause
// Which event a transaction may meet in which state, and what is done then. The one place that says
// so: lustre-release lnet/klnds/kfilnd/kfilnd_tn.c has a function of conditions for each state.
#pragma once

#include <array>
#include <optional>

#include "lib/kfilnd/transaction.hpp"

namespace plnet::kfilnd {

// X(state, event, what is done). Rows with * are not the kernel's: it leaves a transaction whose
// send never completes where it is, and a buffer is never taken from it by a driver that goes down.
#define PLNET_KFILND_TRANSITIONS(X)                          \
  X(kIdle, kInitImmediate, kBeginImmediate)                  \
  X(kIdle, kInitBulk, kBeginBulk)                            \
  X(kIdle, kTxHello, kSendHello)                             \
  X(kIdle, kRxOk, kTakeMessage)                              \
  X(kIdle, kRxHello, kTakeHello)                             \
  X(kTaggedRecvPosted, kInitBulk, kSendRequest)              \
  X(kSendFailed, kInitBulk, kTakeBack)                       \
  X(kSendFailed, kTagRxCancel, kBufferBack)                  \
  X(kSendFailed, kTagRxOk, kTransferAfterAll)                \
  X(kSendFailed, kTagRxFail, kBufferBack)                    \
  X(kTaggedRecvPosted, kTagRxFail, kBufferLostEarly) /* * */ \
  X(kTaggedRecvPosted, kTagRxCancel, kBufferLostEarly)       \
  X(kImmSend, kTxOk, kSent)                                  \
  X(kImmSend, kTxFail, kSendFailed)                          \
  X(kImmSend, kTimeout, kSendIsLate) /* * */                 \
  X(kWaitComp, kTxOk, kRequestSent)                          \
  X(kWaitComp, kTagRxOk, kTransferBeforeSent)                \
  X(kWaitComp, kTxFail, kRequestFailed)                      \
  X(kWaitComp, kTagRxFail, kBufferLost)                      \
  X(kWaitComp, kTagRxCancel, kBufferLost) /* * */            \
  X(kWaitComp, kTimeout, kRequestIsLate)  /* * */            \
  X(kWaitSendComp, kTxOk, kSent)                             \
  X(kWaitSendComp, kTxFail, kSentBadly)                      \
  X(kWaitSendComp, kTimeout, kSendIsLate) /* * */            \
  X(kWaitTagComp, kTagRxOk, kTransferred)                    \
  X(kWaitTagComp, kTagRxFail, kTransferFailed)               \
  X(kWaitTagComp, kTagRxCancel, kTransferFailed) /* * */     \
  X(kWaitTagComp, kTimeout, kTransferIsLate)                 \
  X(kWaitTagComp, kTagTxOk, kRemoteDone)                     \
  X(kWaitTagComp, kTagTxFail, kRemoteFailed)                 \
  X(kWaitTimeoutTagComp, kTagRxCancel, kTimedOut)            \
  X(kWaitTimeoutTagComp, kTagRxFail, kLateFailure)           \
  X(kWaitTimeoutTagComp, kTagRxOk, kTransferred)             \
  X(kWaitTimeoutTagComp, kTimeout, kQuarantine) /* * */      \
  X(kFail, kTxOk, kFailingSent)                              \
  X(kFail, kTxFail, kFailingSendFailed)                      \
  X(kFail, kTagRxOk, kTransferAfterAll)                      \
  X(kFail, kTagRxFail, kBufferBack)                          \
  X(kFail, kTagRxCancel, kBufferBack)                        \
  X(kFail, kInitBulk, kTakeBack)  /* * */                    \
  X(kFail, kTimeout, kQuarantine) /* * */                    \
  X(kImmRecv, kRxOk, kActOnDecision)                         \
  X(kImmRecv, kInitTagRma, kMovePayload)                     \
  X(kImmRecv, kSkipTagRma, kAnswerInstead)                   \
  X(kWaitTagRmaComp, kTagTxOk, kRemoteDone)                  \
  X(kWaitTagRmaComp, kTagTxFail, kRemoteFailed)

// What is done: X(action, the LND's function for it).
#define PLNET_KFILND_ACTIONS(X)                \
  X(kBeginImmediate, begin_immediate)          \
  X(kBeginBulk, begin_bulk)                    \
  X(kSendHello, send_hello)                    \
  X(kTakeMessage, take_message)                \
  X(kTakeHello, take_hello)                    \
  X(kSendRequest, send_request)                \
  X(kTakeBack, take_back)                      \
  X(kBufferBack, buffer_back)                  \
  X(kTransferAfterAll, transfer_after_all)     \
  X(kBufferLostEarly, buffer_lost_early)       \
  X(kSent, sent)                               \
  X(kSendFailed, send_failed)                  \
  X(kSendIsLate, send_is_late)                 \
  X(kRequestSent, request_sent)                \
  X(kTransferBeforeSent, transfer_before_sent) \
  X(kRequestFailed, request_failed)            \
  X(kBufferLost, buffer_lost)                  \
  X(kRequestIsLate, request_is_late)           \
  X(kSentBadly, sent_badly)                    \
  X(kTransferred, transferred)                 \
  X(kTransferFailed, transfer_failed)          \
  X(kTransferIsLate, transfer_is_late)         \
  X(kRemoteDone, remote_done)                  \
  X(kRemoteFailed, remote_failed)              \
  X(kTimedOut, timed_out)                      \
  X(kLateFailure, late_failure)                \
  X(kQuarantine, quarantine)                   \
  X(kFailingSent, failing_sent)                \
  X(kFailingSendFailed, failing_send_failed)   \
  X(kActOnDecision, act_on_decision)           \
  X(kMovePayload, move_payload)                \
  X(kAnswerInstead, answer_instead)

// No action: the pair cannot happen.
enum class TransactionAction : std::uint8_t {
  kNone,
#define PLNET_X(action, function) action,
  PLNET_KFILND_ACTIONS(PLNET_X)
#undef PLNET_X
};
inline constexpr std::size_t kTransactionActions = 33;

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

[[nodiscard]] constexpr TransactionAction action_for(TransactionState state,
                                                     TransactionEvent event) {
  return kTransitions[static_cast<std::size_t>(state)][static_cast<std::size_t>(event)];
}

}  // namespace plnet::kfilnd
