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
#define PLNET_KFILND_TRANSITIONS(X)                           \
  X(kIdle, kInitImmediate, begin_immediate)                   \
  X(kIdle, kInitBulk, begin_bulk)                             \
  X(kIdle, kTxHello, send_hello)                              \
  X(kIdle, kRxOk, take_message)                               \
  X(kIdle, kRxHello, take_hello)                              \
  X(kTaggedRecvPosted, kInitBulk, send_request)               \
  X(kSendFailed, kInitBulk, take_back)                        \
  X(kSendFailed, kTagRxCancel, buffer_back)                   \
  X(kSendFailed, kTagRxOk, transfer_after_all)                \
  X(kSendFailed, kTagRxFail, buffer_back)                     \
  X(kTaggedRecvPosted, kTagRxFail, buffer_lost_early) /* * */ \
  X(kTaggedRecvPosted, kTagRxCancel, buffer_lost_early)       \
  X(kImmSend, kTxOk, sent)                                    \
  X(kImmSend, kTxFail, send_failed)                           \
  X(kImmSend, kTimeout, send_is_late) /* * */                 \
  X(kWaitComp, kTxOk, request_sent)                           \
  X(kWaitComp, kTagRxOk, transfer_before_sent)                \
  X(kWaitComp, kTxFail, request_failed)                       \
  X(kWaitComp, kTagRxFail, buffer_lost)                       \
  X(kWaitComp, kTagRxCancel, buffer_lost) /* * */             \
  X(kWaitComp, kTimeout, request_is_late) /* * */             \
  X(kWaitSendComp, kTxOk, sent)                               \
  X(kWaitSendComp, kTxFail, sent_badly)                       \
  X(kWaitSendComp, kTimeout, send_is_late) /* * */            \
  X(kWaitTagComp, kTagRxOk, transferred)                      \
  X(kWaitTagComp, kTagRxFail, transfer_failed)                \
  X(kWaitTagComp, kTagRxCancel, transfer_failed) /* * */      \
  X(kWaitTagComp, kTimeout, transfer_is_late)                 \
  X(kWaitTagComp, kTagTxOk, remote_done)                      \
  X(kWaitTagComp, kTagTxFail, remote_failed)                  \
  X(kWaitTimeoutTagComp, kTagRxCancel, timed_out)             \
  X(kWaitTimeoutTagComp, kTagRxFail, late_failure)            \
  X(kWaitTimeoutTagComp, kTagRxOk, transferred)               \
  X(kWaitTimeoutTagComp, kTimeout, quarantine) /* * */        \
  X(kFail, kTxOk, failing_sent)                               \
  X(kFail, kTxFail, failing_send_failed)                      \
  X(kFail, kTagRxOk, transfer_after_all)                      \
  X(kFail, kTagRxFail, buffer_back)                           \
  X(kFail, kTagRxCancel, buffer_back)                         \
  X(kFail, kInitBulk, take_back) /* * */                      \
  X(kFail, kTimeout, quarantine) /* * */                      \
  X(kImmRecv, kRxOk, act_on_decision)                         \
  X(kImmRecv, kInitTagRma, move_payload)                      \
  X(kImmRecv, kSkipTagRma, answer_instead)                    \
  X(kWaitTagRmaComp, kTagTxOk, remote_done)                   \
  X(kWaitTagRmaComp, kTagTxFail, remote_failed)

// What is done, by name; no action: the pair cannot happen.
enum class TransactionAction : std::uint8_t {
  none,
  begin_immediate,
  begin_bulk,
  send_hello,
  take_message,
  take_hello,
  send_request,
  take_back,
  buffer_back,
  transfer_after_all,
  buffer_lost_early,
  sent,
  send_failed,
  send_is_late,
  request_sent,
  transfer_before_sent,
  request_failed,
  buffer_lost,
  request_is_late,
  sent_badly,
  transferred,
  transfer_failed,
  transfer_is_late,
  remote_done,
  remote_failed,
  timed_out,
  late_failure,
  quarantine,
  failing_sent,
  failing_send_failed,
  act_on_decision,
  move_payload,
  answer_instead,
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
