// SPDX-License-Identifier: BSD-3-Clause
#include "lib/kfilnd/hellos.hpp"

#include <algorithm>

#include "lib/base/check.hpp"

namespace plnet::kfilnd {

Hello Hellos::own_hello(const Peer& peer, std::uint16_t version) const {
  return {.version = version,
          .rx_base = environment_.own_context(),
          .session_key = peer.local_session_key,
          .rx_count = 1};
}

// A peer has one HELLO under way. If as many are under way as may be, perhaps all to absent nodes,
// the peer waits for its turn, and the HELLO counts as under way.
bool Hellos::send_hello(Peer& peer) {
  PLNET_CHECK(!peer.waits_for_hello_turn(), "a peer waits for one HELLO at a time");
  peer.hello = nullptr;
  if (environment_.shutting_down) {
    peers_.end_hello(peer);
    return false;
  }
  if (transactions_.has_room(Quota::kHellos)) return begin(peer);
  peer.hello_state = HelloState::kInit;
  environment_.count(Id::kHellosPutOff);
  // A peer that did not answer last time delays no other one.
  (peer.hello_failed ? later_ : next_).push_back(peer);
  return true;
}

unsigned Hellos::send_waiting_hellos() {
  unsigned work = 0;
  for (; work < kHellosAtOnce && can_send_hello(); ++work) {
    Peer* next = next_.pop_front();
    if (next == nullptr) next = later_.pop_front();
    PLNET_CHECK(next != nullptr, "can_send_hello() has found a peer");
    (void)begin(*next);
  }
  return work;
}

void Hellos::send_hello_first(Peer& peer) {
  if (!peer.waits_for_hello_turn()) return;
  peer.leave_hello_queue();
  next_.push_front(peer);
}

bool Hellos::begin(Peer& peer) {
  PLNET_DEBUG_CHECK(!peer.removed, "a removed peer gets no HELLO");
  Transaction* const one = transactions_.begin(Quota::kHellos);
  PLNET_CHECK(one != nullptr, "the caller has looked for room");
  peer.hello = one;
  one->kind = Kind::kHelloRequest;
  transactions_.set_peer(*one, peer);
  peer.hello_state = HelloState::kSending;
  peer.hello_at = environment_.now;
  environment_.count(Id::kHellosSent);
  machine_.run(*one, Event::kTxHello);
  return peer.hello_state == HelloState::kSending;
}

// The failure of an earlier HELLO, given up long ago, says nothing of the one under way.
void Hellos::on_failed(Peer& peer, const Transaction* which) {
  if (which != peer.hello || peer.hello_state == HelloState::kNone) return;
  environment_.count(Id::kHellosFailed);
  peer.hello_failed = true;
  peers_.end_hello(peer);
}

void Hellos::send(Transaction& one, const EventStatus& /*what*/) {
  Peer& peer = *one.peer;
  Message hello;
  hello.kind = one.kind;
  PLNET_CHECK(hello.is_hello(), "the transaction is one of a HELLO");
  hello.source_nid = environment_.nid64;
  hello.destination_nid = peer.nid64;
  const bool request = one.kind == Kind::kHelloRequest;
  hello.hello = own_hello(peer, request ? kVersionMax : peer.version);
  Result<void> posted = std::unexpected(one.abandoned ? Errc::kShutdown : Errc::kTimedOut);
  // A guest that got a HELLO from here would send to this context instead of its home.
  if (!one.abandoned && !peer.guest && environment_.now < one.deadline)
    posted = transactions_.post_message(one, hello, {});
  if (!posted && posted.error() == Errc::kAgain) return transactions_.block(one, Event::kTxHello);
  if (posted) {
    transactions_.enter(one, State::kImmSend);
    transactions_.start_timer(one, one.deadline);
    return;
  }
  if (request) on_failed(peer, &one);
  transactions_.fail(one, posted.error(), Health::kLocalError);
}

void Hellos::receive(Transaction& one, const EventStatus& what) {
  PLNET_CHECK(one.message.is_hello() && one.peer != nullptr, "a HELLO of a known peer");
  if (one.kind == Kind::kHelloResponse) return receive_response(one);
  Peer& peer = *one.peer;
  const Hello& hello = one.message.hello;
  environment_.count(Id::kHellosReceived);
  peers_.on_heard(peer);
  const bool other = peer.version != 0 && hello.session_key != peer.remote_session_key;
  const bool restarted = peer.has_restarted(hello);
  peer.rx_base = static_cast<std::uint8_t>(hello.rx_base);
  peer.remote_session_key = hello.session_key;
  peer.version = std::min(kVersionMax, hello.version);
  if (peer.state == PeerState::kNew) {
    if (peer.needs_hello(environment_.now, environment_.timeout, false)) (void)send_hello(peer);
    peer.state = PeerState::kWaitResponse;
    peers_.wake(peer);
  }
  send_hello_first(peer);
  if (other && !restarted) environment_.count(Id::kPeerForgot);
  if (restarted) {
    // Messages under way to the previous life of the peer may never have arrived.
    environment_.count(Id::kPeerRestarts);
    environment_.core.on_peer(peer.nid, lnet::PeerNotice::kLost, environment_.now);
  }
  one.kind = Kind::kHelloResponse;
  send(one, what);
}

void Hellos::receive_response(Transaction& one) {
  Peer& peer = *one.peer;
  const Hello& hello = one.message.hello;
  environment_.count(Id::kHellosAnswered);
  peers_.on_heard(peer);
  peer.rx_base = static_cast<std::uint8_t>(hello.rx_base);
  peer.remote_session_key = hello.session_key;
  peer.version = hello.version;
  peer.state = PeerState::kUpToDate;
  peers_.end_hello(peer);
  environment_.core.on_peer(peer.nid, lnet::PeerNotice::kAlive, environment_.now);
  transactions_.end(one);
}

}  // namespace plnet::kfilnd
