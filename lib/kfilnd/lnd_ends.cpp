// SPDX-License-Identifier: BSD-3-Clause
// How transactions that we began end: the rows of transitions.hpp behind the first.
#include "lib/kfilnd/lnd.hpp"

namespace plnet::kfilnd {

namespace {

Errc cause_of(const EventStatus& what) {
  return what.status ? Errc::kIo : what.status.error();
}

Health network_or_remote(Errc cause) {
  return cause == Errc::kTimedOut ? Health::kNetworkTimeout : Health::kRemoteError;
}

// Of a buffer that we have laid open. On Cassini only our own NIC can fail there, and the kernel
// says so of all failures; other drivers know of peers that go in the middle of it.
Health blame_for_buffer(Errc cause) {
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

void KfiLnd::sent(Transaction& one, const EventStatus& /*what*/) {
  heard(*one.peer);
  end(one);
}

void KfiLnd::send_failed(Transaction& one, const EventStatus& what) {
  const Errc cause = cause_of(what);
  const Health health = cause == Errc::kIo ? Health::kNetworkTimeout : network_or_remote(cause);
  one.update(std::unexpected(cause), health);
  failed(one, cause, false);
  if (one.kind == Kind::kHelloRequest) hello_failed(*one.peer, &one);
  end(one);
}

void KfiLnd::send_is_late(Transaction& one, const EventStatus& what) {
  one.update(std::unexpected(Errc::kTimedOut), Health::kNetworkTimeout);
  failed(one, Errc::kTimedOut, false);
  quarantine(one, what);
}

void KfiLnd::request_sent(Transaction& one, const EventStatus& /*what*/) {
  heard(*one.peer);
  enter(one, State::kWaitTagComp);
}

void KfiLnd::transfer_before_sent(Transaction& one, const EventStatus& what) {
  note_transfer(one, what);
  enter(one, State::kWaitSendComp);
}

// It may have been delivered though nobody has said so: the peer may know the tag.
void KfiLnd::request_failed(Transaction& one, const EventStatus& what) {
  const Errc cause = cause_of(what);
  one.update(std::unexpected(cause), network_or_remote(cause));
  failed(one, cause, true);
  enter(one, State::kFail);
  take_back(one, what);
}

void KfiLnd::request_is_late(Transaction& one, const EventStatus& what) {
  if (one.status) counters_.add(Id::kTimeouts);
  one.update(std::unexpected(Errc::kTimedOut), Health::kNetworkTimeout);
  failed(one, Errc::kTimedOut, true);
  enter(one, State::kFail);
  take_back(one, what);
}

void KfiLnd::buffer_lost(Transaction& one, const EventStatus& what) {
  const Errc cause = cause_of(what);
  one.update(std::unexpected(cause), blame_for_buffer(cause));
  failed(one, cause, true);
  end(one);
}

void KfiLnd::buffer_lost_early(Transaction& one, const EventStatus& what) {
  one.update(std::unexpected(cause_of(what)), Health::kLocalError);
  end(one);
}

// The data is where it belongs, but the peer's NIC has not said that the request got there.
void KfiLnd::sent_badly(Transaction& one, const EventStatus& what) {
  const Errc cause = cause_of(what);
  one.update(std::unexpected(cause), Health::kNetworkTimeout);
  failed(one, cause, false);
  end(one);
}

void KfiLnd::transferred(Transaction& one, const EventStatus& what) {
  note_transfer(one, what);
  end(one);
}

// The peer has the request, so it may use the tag yet.
void KfiLnd::transfer_failed(Transaction& one, const EventStatus& what) {
  const Errc cause = cause_of(what);
  one.update(std::unexpected(cause), blame_for_buffer(cause));
  failed(one, cause, true);
  end(one);
}

void KfiLnd::transfer_is_late(Transaction& one, const EventStatus& /*what*/) {
  if (!one.initiator) return;
  const auto asked = driver_.cancel_tagged(one.tag);
  if (!asked && asked.error() == Errc::kAgain) return block(one, Event::kTimeout);
  enter(one, State::kWaitTimeoutTagComp);
  timers_.start(one.timer, now_ + kCancelGrace);
}

// No operation of the peer can reach the buffer any more; what it tries later finds no tag, since
// the next peer object has another session key.
void KfiLnd::timed_out(Transaction& one, const EventStatus& /*what*/) {
  if (one.status) counters_.add(Id::kTimeouts);
  one.update(std::unexpected(Errc::kTimedOut), Health::kNetworkTimeout);
  failed(one, Errc::kTimedOut, true);
  end(one);
}

void KfiLnd::late_failure(Transaction& one, const EventStatus& what) {
  const Errc cause = cause_of(what);
  one.update(std::unexpected(cause), blame_for_buffer(cause));
  failed(one, cause, true);
  end(one);
}

// The NIC should have said something long ago. The core's user is told, the memory stays out of use
// until the NIC is done with it.
void KfiLnd::quarantine(Transaction& one, const EventStatus& /*what*/) {
  if (one.quarantined || one.transmit == nullptr) return;
  one.update(std::unexpected(Errc::kTimedOut), Health::kNetworkTimeout);
  counters_.add(Id::kQuarantined);
  one.quarantined = true;
  tell_core(one);
}

void KfiLnd::failing_sent(Transaction& one, const EventStatus& /*what*/) {
  heard(*one.peer);
  end(one);
}

void KfiLnd::failing_send_failed(Transaction& one, const EventStatus& what) {
  failed(one, cause_of(what), false);
  end(one);
}

// The peer has had its data, or we ours, though the request seemed lost.
void KfiLnd::transfer_after_all(Transaction& one, const EventStatus& what) {
  heard(*one.peer);
  one.status = what.status;
  one.health = Health::kOk;
  if (what.status) note_transfer(one, what);
  end(one);
}

void KfiLnd::buffer_back(Transaction& one, const EventStatus& /*what*/) {
  end(one);
}

}  // namespace plnet::kfilnd
