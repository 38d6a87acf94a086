// SPDX-License-Identifier: BSD-3-Clause
// What the driver says, which action that means, and how a transaction ends.
#include <algorithm>
#include <utility>

#include "lib/kfilnd/lnd.hpp"
#include "lib/lnet/names/nid64.hpp"

namespace plnet::kfilnd {

namespace {

// A cookie: index, generation, and which of the transaction's operations.
constexpr unsigned kGenerationShift = 32;
constexpr std::uint32_t kGenerationMask = 0xffffff;

}  // namespace

const std::array<KfiLnd::Handler, kTransactionActions> KfiLnd::kHandlers = {
    nullptr,
#define PLNET_X(action, function) &KfiLnd::function,
    PLNET_KFILND_ACTIONS(PLNET_X)
#undef PLNET_X
};

std::uint64_t KfiLnd::cookie_of(const Transaction& transaction) const {
  return transactions_.index_of(&transaction) |
         static_cast<std::uint64_t>(transaction.generation & kGenerationMask) << kGenerationShift;
}

Transaction* KfiLnd::find(std::uint64_t cookie, std::uint8_t outstanding) {
  const auto index = static_cast<std::uint32_t>(cookie);
  if (!transactions_.is_lent(index)) return nullptr;
  Transaction& one = transactions_.at(index);
  if ((one.generation & kGenerationMask) !=
      (static_cast<std::uint32_t>(cookie >> kGenerationShift) & kGenerationMask))
    return nullptr;
  return (one.outstanding & outstanding) != 0 ? &one : nullptr;
}

void KfiLnd::on_completions(std::span<const FabricCompletion> burst) {
  for (const FabricCompletion& completion : burst)
    on_completion(completion);
  report();
}

void KfiLnd::on_completion(const FabricCompletion& completion) {
  using enum FabricEvent;
  const bool ok = completion.status.has_value();
  Event event{};
  std::uint8_t operation = Transaction::kTaggedPosted;
  EventStatus what{completion.status, completion.length};
  switch (completion.event) {
    case kMessage:
    case kBufferUnlinked: return on_buffer(completion);
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
      if (completion.data != 0) {
        constexpr std::uint64_t kErrnoMax = 4095;
        what.status = std::unexpected(completion.data > kErrnoMax
                                          ? Errc::kProtocol
                                          : errc_of_errno(static_cast<int>(completion.data)));
      }
      break;
    case kTaggedFailed:
      event = Event::kTagRxFail;
      if (ok) what.status = std::unexpected(Errc::kIo);
      break;
    case kTaggedCancelled: event = Event::kTagRxCancel; break;
  }
  Transaction* const one = find(completion.cookie, operation);
  if (one == nullptr) return counters_.add(Id::kStrayCompletions);
  one->outstanding = static_cast<std::uint8_t>(one->outstanding & ~operation);
  // It waited to be able to take the buffer back, or to send a request for it.
  if (operation == Transaction::kTaggedPosted && one->linked()) one->unlink();
  run(*one, event, what);
}

void KfiLnd::on_buffer(const FabricCompletion& completion) {
  if (!receive_.knows(completion.cookie)) return counters_.add(Id::kStrayCompletions);
  const auto index = static_cast<std::uint32_t>(completion.cookie);
  if (completion.event == FabricEvent::kMessage && completion.status && !shutting_down_) {
    if (used(Quota::kReceives) == config_.receives_max ||
        !accept(index, receive_.message(index, completion.offset, completion.length)))
      put_off(index, completion.offset, completion.length);
  }
  if (completion.event != FabricEvent::kBufferUnlinked && !completion.buffer_unlinked) return;
  receive_.unlinked(index);
  if (receive_.posted() == 0) counters_.add(Id::kNoBufferPosted);
}

void KfiLnd::run(Transaction& transaction, Event event, const EventStatus& what) {
  const Action action = action_for(transaction.state, event);
  if (action == Action::kNone) return unexpected(transaction, what);
  (this->*kHandlers[static_cast<std::size_t>(action)])(transaction, what);
}

// The kernel asserts here; what a driver or a peer has done must not end us.
void KfiLnd::unexpected(Transaction& transaction, const EventStatus& what) {
  counters_.add(Id::kUnexpected);
  transaction.update(what.status ? Result<void>(std::unexpected(Errc::kProtocol)) : what.status,
                     Health::kLocalError);
  // The peer may hold its tag.
  if (transaction.initiator && transaction.key != 0 && transaction.peer != nullptr)
    failed(transaction, Errc::kProtocol, true);
  end(transaction);
}

void KfiLnd::on_timer(Transaction& transaction) {
  if (transaction.state != State::kIdle) return run(transaction, Event::kTimeout);
  // It has waited for a handshake long enough.
  if (transaction.linked()) transaction.unlink();
  turn_.push_back(transaction);
}

void KfiLnd::enter(Transaction& transaction, State state) {
  SideStatistics& side = transaction.initiator ? statistics_.initiator : statistics_.target;
  side.add_state(transaction.bytes, transaction.state, now_ - transaction.entered);
  transaction.entered = now_;
  transaction.state = state;
}

void KfiLnd::block(Transaction& transaction, Event again) {
  counters_.add(Id::kReplays);
  transaction.again = again;
  if (!transaction.linked()) blocked_.push_back(transaction);
}

// Over as far as we are concerned; the NIC may still have something of it.
void KfiLnd::end(Transaction& transaction) {
  if (transaction.outstanding == 0) return finalize(transaction);
  if (transaction.state != State::kFail) enter(transaction, State::kFail);
  if (!transaction.quarantined && !transaction.timer.running())
    timers_.start(transaction.timer, now_ + kCancelGrace);
}

void KfiLnd::tell_core(Transaction& transaction) {
  const bool placed = transaction.reply_placed && transaction.status.has_value();
  reported_[reported_count_++] = {.transmit = transaction.transmit,
                                  .status = transaction.status,
                                  .health = transaction.health,
                                  .reply_placed = placed,
                                  .reply_length = placed ? transaction.bytes : 0,
                                  .quarantined = transaction.quarantined};
  if (reported_count_ == reported_.size()) report();
}

void KfiLnd::finalize(Transaction& transaction) {
  PLNET_CHECK(transaction.outstanding == 0, "the NIC has nothing of it any more");
  SideStatistics& side = transaction.initiator ? statistics_.initiator : statistics_.target;
  side.add_state(transaction.bytes, transaction.state, now_ - transaction.entered);
  side.add_total(transaction.bytes, now_ - transaction.begun);
  (void)timers_.cancel(transaction.timer);
  if (transaction.linked()) transaction.unlink();
  leave_buffer(transaction);
  if (transaction.copy_slot != 0) free_copies_.push_back(transaction.copy_slot);
  if (transaction.key != 0) keys_.give(transaction.key);
  if (transaction.peer != nullptr) peers_.release(*transaction.peer);
  transaction.peer = nullptr;
  lnet::Transmit* const transmit = transaction.transmit;
  if (transmit != nullptr && !transaction.quarantined) tell_core(transaction);
  const lnet::RxHandle rx{transactions_.index_of(&transaction), transaction.generation};
  const bool wanted = transaction.wanted;
  const bool quarantined = transaction.quarantined;
  const Result<void> status = transaction.status;
  const Health health = transaction.health;
  give(transaction);
  if (wanted) core_.on_received(rx, status, health);
  if (quarantined && transmit != nullptr) {
    report();  // what it was told goes first
    core_.on_quarantine_over(*transmit);
  }
}

// While the link is down its address says nothing: it is looked at when the link is back.
void KfiLnd::on_link(bool usable, std::uint64_t nic_address) {
  if (!usable) {
    counters_.add(Id::kLinkDown);
    if (std::exchange(link_rises_, false)) (void)link_hold_.see(true, now_);
    (void)link_hold_.see(false, now_);
    return core_.on_interface(lnet::InterfaceState::kFatal, Errc::kNetworkDown);
  }
  if (!link_hold_.bounces()) {
    (void)link_hold_.see(true, now_);
  } else if (!std::exchange(link_rises_, true)) {
    counters_.add(Id::kLinkHeld);
  }
  if (nic_address == nic_address_.get()) return tell_link();
  const bool first = !has_moved();
  nic_address_.set(nic_address);
  if (has_moved()) {
    // Another NID is ours now: this interface ends, and another is made. Nobody answers to what
    // still comes under the old one.
    counters_.add(Id::kAddressChanged);
    peers_.for_each([this](Peer& peer) { wake(peer); });
  }
  if (first || !has_moved()) tell_link();
}

// One that bounces would have all our peers told each time. An interface that ends does so whatever
// its link is.
void KfiLnd::tell_link() {
  if (has_moved()) return core_.on_interface(lnet::InterfaceState::kFatal, Errc::kStale);
  if (!link_hold_.bounces()) core_.on_interface(lnet::InterfaceState::kUp, Errc::kStale);
}

// It is back and had bounced: it is up when it has stayed so.
void KfiLnd::look_at_held_link() {
  link_rises_ = false;
  if (link_hold_.see(true, now_)) tell_link();
}

std::optional<lnet::Nid> KfiLnd::moved_to() const {
  const std::uint64_t now = nic_address_.get();
  if (now == nic_address_of(config_.nid) || now > UINT32_MAX) return std::nullopt;
  return lnet::Nid::of(lnet::NetType::kKfi, config_.nid.number(), static_cast<std::uint32_t>(now));
}

}  // namespace plnet::kfilnd
