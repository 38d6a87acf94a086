// SPDX-License-Identifier: BSD-3-Clause
#include "lib/kfilnd/endings.hpp"

#include "lib/base/check.hpp"

namespace plnet::kfilnd {

namespace {

Errc cause_of(const EventStatus& what) {
  return what.status ? Errc::kIo : what.status.error();
}

Health network_or_remote(Errc cause) {
  return cause == Errc::kTimedOut ? Health::kNetworkTimeout : Health::kRemoteError;
}

// The health class of a failed buffer that we have laid open. On Cassini only our own NIC can fail
// there, and the kernel says so of all failures; other drivers notice peers that vanish meanwhile.
Health health_of_buffer(Errc cause) {
  switch (cause) {
    case Errc::kTimedOut: return Health::kNetworkTimeout;
    case Errc::kReset:
    case Errc::kNoRoute:
    case Errc::kClosed:
    case Errc::kRefused: return Health::kRemoteError;
    default: return Health::kLocalError;
  }
}

}  // namespace

void Endings::end_exposed(Transaction& one, Errc cause, Health health) {
  PLNET_CHECK(one.peer != nullptr && one.initiator, "the initiator exposes a buffer to a peer");
  one.update(std::unexpected(cause), health);
  peers_.on_failure(one, cause, true);
  transactions_.end(one);
}

// --- A message or a request ---

void Endings::sent(Transaction& one, const EventStatus& /*what*/) {
  PLNET_DEBUG_CHECK(one.peer != nullptr, "a message was sent to a peer");
  peers_.on_heard(*one.peer);
  transactions_.end(one);
}

void Endings::send_failed(Transaction& one, const EventStatus& what) {
  PLNET_CHECK(one.initiator || one.kind == Kind::kHelloResponse,
              "a target sends only the answer to a HELLO");
  const Errc cause = cause_of(what);
  const Health health = cause == Errc::kIo ? Health::kNetworkTimeout : network_or_remote(cause);
  one.update(std::unexpected(cause), health);
  peers_.on_failure(one, cause, false);
  if (one.kind == Kind::kHelloRequest) hellos_.on_failed(*one.peer, &one);
  transactions_.end(one);
}

void Endings::send_timed_out(Transaction& one, const EventStatus& what) {
  one.update(std::unexpected(Errc::kTimedOut), Health::kNetworkTimeout);
  peers_.on_failure(one, Errc::kTimedOut, false);
  quarantine(one, what);
}

void Endings::request_sent(Transaction& one, const EventStatus& /*what*/) {
  PLNET_DEBUG_CHECK(one.initiator && one.key != 0,
                    "a bulk request keeps its key until its buffer is free");
  peers_.on_heard(*one.peer);
  transactions_.enter(one, State::kWaitTagComp);
}

// The peer may have the request, and with it the tag, though the NIC reports a failure.
void Endings::request_failed(Transaction& one, const EventStatus& what) {
  const Errc cause = cause_of(what);
  one.update(std::unexpected(cause), network_or_remote(cause));
  peers_.on_failure(one, cause, true);
  transactions_.enter(one, State::kFail);
  cancel_buffer(one, what);
}

void Endings::request_timed_out(Transaction& one, const EventStatus& what) {
  if (one.status) environment_.count(Id::kTimeouts);
  one.update(std::unexpected(Errc::kTimedOut), Health::kNetworkTimeout);
  peers_.on_failure(one, Errc::kTimedOut, true);
  transactions_.enter(one, State::kFail);
  cancel_buffer(one, what);
}

// The payload was moved, but the NIC reports that the request for it has failed.
void Endings::request_failed_after_transfer(Transaction& one, const EventStatus& what) {
  const Errc cause = cause_of(what);
  one.update(std::unexpected(cause), Health::kNetworkTimeout);
  peers_.on_failure(one, cause, false);
  transactions_.end(one);
}

// --- A buffer that is laid open to the peer ---

void Endings::cancel_buffer(Transaction& one, const EventStatus& /*what*/) {
  PLNET_CHECK(one.initiator && one.key != 0, "only a bulk request has a buffer to cancel");
  const auto asked = environment_.driver.cancel_tagged(one.tag);
  if (!asked && asked.error() == Errc::kAgain) return transactions_.block(one, Event::kInitBulk);
  if (one.state != State::kFail) transactions_.enter(one, State::kFail);
  transactions_.start_grace(one);
}

void Endings::buffer_cancelled(Transaction& one, const EventStatus& /*what*/) {
  transactions_.end(one);
}

void Endings::buffer_failed_early(Transaction& one, const EventStatus& what) {
  transactions_.fail(one, cause_of(what), Health::kLocalError);
}

// The peer may have the request, and may still use the tag.
void Endings::buffer_failed(Transaction& one, const EventStatus& what) {
  const Errc cause = cause_of(what);
  end_exposed(one, cause, health_of_buffer(cause));
}

void Endings::transferred(Transaction& one, const EventStatus& what) {
  PLNET_DEBUG_CHECK(one.initiator, "payload arrives in a buffer of the initiator");
  note_transfer(one, what);
  transactions_.end(one);
}

void Endings::transferred_before_sent(Transaction& one, const EventStatus& what) {
  PLNET_DEBUG_CHECK((one.outstanding & Transaction::kSendPosted) != 0,
                    "the request is still under way");
  note_transfer(one, what);
  transactions_.enter(one, State::kWaitSendComp);
}

// The payload was moved although the request seemed lost.
void Endings::transferred_after_failure(Transaction& one, const EventStatus& what) {
  peers_.on_heard(*one.peer);
  one.status = what.status;
  one.health = Health::kOk;
  if (what.status) note_transfer(one, what);
  transactions_.end(one);
}

void Endings::note_transfer(Transaction& one, const EventStatus& what) {
  if (!what.status) return one.update(what.status, Health::kOk);
  if (one.kind != Kind::kBulkGet) return;
  one.reply_placed = true;
  one.bytes = what.length;
}

void Endings::transfer_timed_out(Transaction& one, const EventStatus& /*what*/) {
  if (!one.initiator) return;
  const auto asked = environment_.driver.cancel_tagged(one.tag);
  if (!asked && asked.error() == Errc::kAgain) return transactions_.block(one, Event::kTimeout);
  transactions_.enter(one, State::kWaitTimeoutTagComp);
  transactions_.start_grace(one);
}

// No operation of the peer can reach the buffer any more. Later ones find no tag, since the next
// record of the peer has another session key.
void Endings::cancelled_after_timeout(Transaction& one, const EventStatus& /*what*/) {
  PLNET_CHECK(one.initiator && (one.outstanding & Transaction::kTaggedPosted) == 0,
              "the NIC has given the buffer back");
  if (one.status) environment_.count(Id::kTimeouts);
  end_exposed(one, Errc::kTimedOut, Health::kNetworkTimeout);
}

// --- After a failure ---

// The NIC reports no end of its operation. The core is told, and its memory stays out of use until
// the NIC is done with it.
void Endings::quarantine(Transaction& one, const EventStatus& /*what*/) {
  if (one.quarantined || one.transmit == nullptr) return;
  PLNET_CHECK(one.outstanding != 0, "quarantine is for memory that the NIC may still access");
  one.update(std::unexpected(Errc::kTimedOut), Health::kNetworkTimeout);
  environment_.count(Id::kQuarantined);
  one.quarantined = true;
  transactions_.tell_core(one);
}

void Endings::send_failed_after_failure(Transaction& one, const EventStatus& what) {
  peers_.on_failure(one, cause_of(what), false);
  transactions_.end(one);
}

}  // namespace plnet::kfilnd
