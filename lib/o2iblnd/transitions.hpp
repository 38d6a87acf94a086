// SPDX-License-Identifier: BSD-3-Clause
// Which event a message may meet in which state, and what is done then. Other pairs cannot happen.
// Error order: a connection that ends is disconnected first (kClose), every completion is awaited
// (kSent), and memory that the peer could write is let go when the queue pair has drained (kDrain).
#pragma once

#include <array>

#include "lib/o2iblnd/tx.hpp"

namespace plnet::o2iblnd {

// X(state, event, what is done)
#define PLNET_O2IBLND_TRANSITIONS(X)      \
  X(kWaiting, kGiveUp, kEnd)              \
  X(kQueued, kPosted, kBegin)             \
  X(kQueued, kGiveUp, kEnd)               \
  X(kQueued, kClose, kEndClosed)          \
  X(kSending, kSent, kEnd)                \
  X(kSending, kClose, kEndClosed)         \
  X(kAsking, kSent, kAwaitAnswer)         \
  X(kAsking, kAnswer, kAwaitSent)         \
  X(kAsking, kGrant, kQueueWrites)        \
  X(kAsking, kClose, kEndClosed)          \
  X(kAsked, kAnswer, kEnd)                \
  X(kAsked, kGrant, kQueueWrites)         \
  X(kAsked, kClose, kEndClosed)           \
  X(kAnswered, kSent, kEnd)               \
  X(kAnswered, kClose, kEndClosed)        \
  X(kGranted, kSent, kGoOn)               \
  X(kGranted, kPosted, kWrite)            \
  X(kGranted, kClose, kEndClosed)         \
  X(kWriting, kSent, kEndIfLast)          \
  X(kWriting, kClose, kEndClosed)         \
  X(kFlushing, kSent, kEndIfLast)         \
  X(kFlushing, kDrain, kEnd)              \
  X(kQuarantined, kSent, kGoOn)           \
  X(kQuarantined, kDrain, kEndQuarantine) \
  X(kDraining, kSent, kGoOn)              \
  X(kDraining, kDrain, kEnd)

// X(action, the function of Sends for it)
#define PLNET_O2IBLND_ACTIONS(X) \
  X(kEnd, end)                   \
  X(kBegin, begin)               \
  X(kAwaitAnswer, await_answer)  \
  X(kAwaitSent, await_sent)      \
  X(kQueueWrites, queue_writes)  \
  X(kEndClosed, end_closed)      \
  X(kGoOn, go_on)                \
  X(kWrite, write)               \
  X(kEndIfLast, end_if_last)     \
  X(kEndQuarantine, end_quarantine)

enum class TxAction : std::uint8_t {
  kNone,
#define PLNET_X(action, function) action,
  PLNET_O2IBLND_ACTIONS(PLNET_X)
#undef PLNET_X
};
inline constexpr std::size_t kTxActions = 11;
static_assert(static_cast<std::size_t>(TxAction::kEndQuarantine) + 1 == kTxActions);

using TxTable = std::array<std::array<TxAction, kTxEvents>, kTxStates>;
inline constexpr TxTable kTxTransitions = [] {
  TxTable table{};
#define PLNET_X(state, event, action)                                                         \
  table[static_cast<std::size_t>(TxState::state)][static_cast<std::size_t>(TxEvent::event)] = \
      TxAction::action;
  PLNET_O2IBLND_TRANSITIONS(PLNET_X)
#undef PLNET_X
  return table;
}();
// Messages on a connection end with it.
static_assert([] {
  for (auto at = static_cast<std::size_t>(TxState::kQueued);
       at <= static_cast<std::size_t>(TxState::kWriting); ++at) {
    if (kTxTransitions[at][static_cast<std::size_t>(TxEvent::kClose)] == TxAction::kNone)
      return false;
  }
  return true;
}());
// Messages that remain on a closed connection end when the device has drained it.
static_assert([] {
  for (auto at = static_cast<std::size_t>(TxState::kFlushing); at < kTxStates; ++at) {
    if (kTxTransitions[at][static_cast<std::size_t>(TxEvent::kDrain)] == TxAction::kNone)
      return false;
  }
  return true;
}());

[[nodiscard]] constexpr TxAction action_for(TxState state, TxEvent event) {
  return kTxTransitions[static_cast<std::size_t>(state)][static_cast<std::size_t>(event)];
}

}  // namespace plnet::o2iblnd
