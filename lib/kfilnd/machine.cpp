// SPDX-License-Identifier: BSD-3-Clause
#include "lib/kfilnd/machine.hpp"

#include "lib/base/check.hpp"
#include "lib/kfilnd/endings.hpp"
#include "lib/kfilnd/hellos.hpp"
#include "lib/kfilnd/initiator.hpp"
#include "lib/kfilnd/receives.hpp"

namespace plnet::kfilnd {

namespace {

// A peer that answers a bulk request instead of moving the payload sends an errno, or 0.
Result<void> status_of_answer(std::uint64_t data) {
  constexpr std::uint64_t kErrnoMax = 4095;
  if (data == 0) return {};
  return std::unexpected(data > kErrnoMax ? Errc::kProtocol
                                          : errc_of_errno(static_cast<int>(data)));
}

}  // namespace

void Machine::set_parts(Initiator& initiator, Receives& receives, Hellos& hellos,
                        Endings& endings) {
  PLNET_CHECK(initiator_ == nullptr, "the parts are set once");
  initiator_ = &initiator;
  receives_ = &receives;
  hellos_ = &hellos;
  endings_ = &endings;
  transactions_.set_machine(*this);
}

// A table of small functions instead of a switch: each jumps to the action without a frame of its
// own.
const std::array<Machine::Handler, kTransactionActions> Machine::kHandlers = {
    [](Machine& machine, Transaction& one, const EventStatus& what) {
      machine.on_unexpected(one, what);
    },
#define PLNET_X(action, part, function)                             \
  [](Machine& machine, Transaction& one, const EventStatus& what) { \
    machine.part##_->function(one, what);                           \
  },
    PLNET_KFILND_ACTIONS(PLNET_X)
#undef PLNET_X
};

void Machine::run(Transaction& one, Event event, const EventStatus& what) {
  kHandlers[static_cast<std::size_t>(action_for(one.state, event))](*this, one, what);
}

// The kernel asserts here; an event that a driver or a peer has caused must not end this process.
void Machine::on_unexpected(Transaction& one, const EventStatus& what) {
  environment_.count(Id::kUnexpected);
  one.update(what.status ? Result<void>(std::unexpected(Errc::kProtocol)) : what.status,
             Health::kLocalError);
  // The peer may know its tag.
  if (one.initiator && one.key != 0 && one.peer != nullptr)
    peers_.on_failure(one, Errc::kProtocol, true);
  transactions_.end(one);
}

void Machine::on_completion(const FabricCompletion& completion) {
  using enum FabricEvent;
  const bool ok = completion.status.has_value();
  Event event{};
  std::uint8_t operation = Transaction::kTaggedPosted;
  EventStatus what{completion.status, completion.length};
  switch (completion.event) {
    case kMessage:
    case kBufferUnlinked: PLNET_CHECK(false, "events of receive buffers go elsewhere"); return;
    case kSent:
      operation = Transaction::kSendPosted;
      event = ok ? Event::kTxOk : Event::kTxFail;
      break;
    case kRemoteDone:
      operation = Transaction::kRemotePosted;
      event = ok ? Event::kTagTxOk : Event::kTagTxFail;
      break;
    case kTaggedRead:
    case kTaggedWritten: event = ok ? Event::kTagRxOk : Event::kTagRxFail; break;
    case kTaggedMessage:
      event = Event::kTagRxOk;
      what.length = 0;
      if (completion.data != 0) what.status = status_of_answer(completion.data);
      break;
    case kTaggedFailed:
      event = Event::kTagRxFail;
      if (ok) what.status = std::unexpected(Errc::kIo);
      break;
    case kTaggedCancelled: event = Event::kTagRxCancel; break;
  }
  Transaction* const one = transactions_.find(completion.cookie, operation);
  if (one == nullptr) return environment_.count(Id::kStrayCompletions);
  one->outstanding = static_cast<std::uint8_t>(one->outstanding & ~operation);
  // It may have waited for room to take the buffer back, or to send a request for it.
  if (operation == Transaction::kTaggedPosted && one->linked()) one->unlink();
  run(*one, event, what);
}

void Machine::on_timer(Transaction& one) {
  if (one.state != State::kIdle) return run(one, Event::kTimeout);
  transactions_.run_soon(one);  // it has waited for a HELLO for long enough
}

unsigned Machine::run_turn() {
  IntrusiveList<Transaction, ForTurn> now;
  transactions_.take_turn(now);
  unsigned work = 0;
  while (Transaction* const one = now.pop_front()) {
    run_again(*one);
    ++work;
  }
  return work;
}

// A transaction that still finds no room goes to the end of the list, so that those that wait for
// another operation are tried too.
unsigned Machine::run_blocked() {
  IntrusiveList<Transaction, ForTurn>& blocked = transactions_.blocked();
  const Transaction* first = nullptr;
  unsigned work = 0;
  for (unsigned i = 0; i < kRetriedAtOnce && !blocked.empty(); ++i) {
    if (blocked.front() == first) break;
    Transaction& one = *blocked.pop_front();
    if (first == nullptr) first = &one;
    const std::uint64_t replays = environment_.counters.get(Id::kReplays);
    run_again(one);
    if (environment_.counters.get(Id::kReplays) == replays) ++work;
  }
  return work;
}

void Machine::run_again(Transaction& one) {
  PLNET_DEBUG_CHECK(one.state != TransactionState::kInvalid,
                    "a transaction that has ended is in no list");
  if (one.state == State::kIdle) transactions_.stop_timer(one);
  if (one.transmit != nullptr && one.peer == nullptr) return initiator_->start(one);
  run(one, one.again);
}

}  // namespace plnet::kfilnd
