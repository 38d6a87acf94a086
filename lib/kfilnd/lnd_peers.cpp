// SPDX-License-Identifier: BSD-3-Clause
// Peers: how they are met, greeted, lost and forgotten.
#include <algorithm>

#include "lib/kfilnd/lnd.hpp"
#include "lib/lnet/names/nid64.hpp"

namespace plnet::kfilnd {

const Peer* KfiLnd::peer(const lnet::Nid& nid) const {
  return peers_.find(lnet::to_nid64(nid).value);
}

std::optional<PeerFacts> KfiLnd::peer_facts(std::uint32_t slot, Instant now) const {
  const Peer* const peer = slot < peers_.slots() ? peers_.at(slot) : nullptr;
  if (peer == nullptr || peer->removed || peer->guest) return std::nullopt;
  return PeerFacts{.nid = peer->nid,
                   .state = peer->state,
                   .greeting = peer->hello_state != HelloState::kNone,
                   .version = peer->version,
                   .rx_base = peer->rx_base,
                   .local_session_key = peer->local_session_key,
                   .remote_session_key = peer->remote_session_key,
                   .transactions = peer->users,
                   .silent = now - peer->last_alive};
}

InterfaceFacts KfiLnd::interface_facts() const {
  return {.prov_major_version = config_.tunables.prov_major_version,
          .prov_minor_version = config_.tunables.prov_minor_version,
          .auth_key = config_.tunables.auth_key,
          .traffic_class = config_.traffic_class,
          .traffic_class_num = static_cast<std::uint32_t>(config_.traffic_class),
          .timeout = std::chrono::duration_cast<std::chrono::seconds>(timeout_).count()};
}

Result<Peer*> KfiLnd::find_or_make(const lnet::Nid& nid, std::uint64_t nid64) {
  if (Peer* const known = peers_.find(nid64)) {
    if (known->guest) settle(*known);
    return known;
  }
  auto made = peers_.create(nid, now_, timeout_);
  counters_.add(made ? Id::kPeersMade : Id::kPeersRefused);
  return made;
}

Result<Peer*> KfiLnd::peer_for(lnet::PeerLink& link) {
  if (auto* const bound = static_cast<Peer*>(link.lnd_peer); bound != nullptr) {
    if (bound->guest) settle(*bound);
    return bound;
  }
  if (link.nid.net() != config_.nid.net() || link.nid.is_large())
    return std::unexpected(Errc::kInvalid);
  const auto peer = find_or_make(link.nid, lnet::to_nid64(link.nid).value);
  if (peer) bind(**peer, &link);
  return peer;
}

void KfiLnd::bind(Peer& peer, lnet::PeerLink* link) {
  if (peer.link == link) return;
  if (peer.link != nullptr) peer.link->lnd_peer = nullptr;
  if (link != nullptr) {
    if (auto* const other = static_cast<Peer*>(link->lnd_peer)) other->link = nullptr;
    link->lnd_peer = &peer;
  }
  peer.link = link;
}

// Its time is the end of this turn: events bring none of their own.
void KfiLnd::heard(Peer& peer) {
  peer.last_alive = now_;
  peer.greeted_in_vain = false;
  if (!peer.ListNode<ForStamp>::linked()) heard_.push_back(peer);
}

// Whoever waited for a handshake looks again.
void KfiLnd::wake(Peer& peer) {
  turn_.splice_back(peer.throttled);
}

Hello KfiLnd::own_hello(const Peer& peer, std::uint16_t version) const {
  return {.version = version,
          .rx_base = driver_.limits().receive_context,
          .session_key = peer.local_session_key,
          .rx_count = 1};
}

// One at a time. False: it could not even be begun. Where as many are under way as may be, perhaps
// all to nodes that are gone, it is as good as under way, and goes as soon as one of them ends.
bool KfiLnd::greet(Peer& peer) {
  peer.hello = nullptr;
  if (shutting_down_) {
    end_greeting(peer);
    return false;
  }
  if (used(Quota::kHellos) < hellos_max_) return send_greeting(peer);
  peer.hello_state = HelloState::kInit;
  counters_.add(Id::kHellosPutOff);
  // Who did not answer last time keeps nobody else waiting.
  (peer.greeted_in_vain ? greet_later_ : greet_next_).push_back(peer);
  return true;
}

unsigned KfiLnd::greet_waiting() {
  unsigned work = 0;
  for (; work < kRetriedAtOnce && can_greet(); ++work) {
    Peer* next = greet_next_.pop_front();
    if (next == nullptr) next = greet_later_.pop_front();
    PLNET_CHECK(next != nullptr, "can_greet() says that somebody waits");
    (void)send_greeting(*next);
  }
  return work;
}

// It has just written to us, so it will answer.
void KfiLnd::greet_first(Peer& peer) {
  if (!peer.waits_for_greeting()) return;
  peer.stop_waiting_for_greeting();
  greet_next_.push_front(peer);
}

// Whoever waited for it looks again.
void KfiLnd::end_greeting(Peer& peer) {
  peer.stop_waiting_for_greeting();
  peer.hello_state = HelloState::kNone;
  wake(peer);
}

bool KfiLnd::send_greeting(Peer& peer) {
  Transaction* const one = take(Quota::kHellos);
  PLNET_CHECK(one != nullptr, "there is room for it");
  peer.hello = one;
  one->kind = Kind::kHelloRequest;
  one->peer = &peer;
  peers_.use(peer);
  peer.hello_state = HelloState::kSending;
  peer.hello_at = now_;
  counters_.add(Id::kHellosSent);
  run(*one, Event::kTxHello);
  return peer.hello_state == HelloState::kSending;
}

// An old one, long given up, says nothing about the one under way.
void KfiLnd::hello_failed(Peer& peer, const Transaction* which) {
  if (which != peer.hello || peer.hello_state == HelloState::kNone) return;
  counters_.add(Id::kHellosFailed);
  peer.greeted_in_vain = true;
  end_greeting(peer);
}

// A request of ours, or the answer to one: then the transaction is that of the request.
void KfiLnd::send_hello(Transaction& one, const EventStatus& /*what*/) {
  Peer& peer = *one.peer;
  Message hello;
  hello.kind = one.kind;
  hello.source_nid = nid64_;
  hello.destination_nid = peer.nid64;
  const bool request = one.kind == Kind::kHelloRequest;
  hello.hello = own_hello(peer, request ? kVersionMax : peer.version);
  Result<void> posted = std::unexpected(one.abandoned ? Errc::kShutdown : Errc::kTimedOut);
  // Of a home that has moved: who is greeted would send to where it was.
  if (!one.abandoned && !peer.guest && now_ < one.deadline) posted = post_message(one, hello, {});
  if (!posted && posted.error() == Errc::kAgain) return block(one, Event::kTxHello);
  if (posted) {
    enter(one, State::kImmSend);
    timers_.start(one.timer, one.deadline);
    return;
  }
  if (request) hello_failed(peer, &one);
  fail_at_once(one, posted.error(), Health::kLocalError);
}

bool KfiLnd::admits(const lnet::Nid& nid) {
  const bool admitted = config_.gate == nullptr || config_.gate->admits(nid);
  if (!admitted) counters_.add(Id::kRefusedAccess);
  return admitted;
}

// Nothing connects us with the peer, or with this life of it, and it is not us who has greeted:
// whom we have greeted has to greet us before it can answer.
bool KfiLnd::introduces_itself(const Peer& peer, const Message& message) {
  if (peer.hello_state != HelloState::kNone) return false;
  if (peer.state == PeerState::kNew || peer.state == PeerState::kDown) return true;
  return message.is_hello() && has_begun_anew(peer, message.hello);
}

// Its keys count up, one for each peer that it makes: a few more and it has made another of us.
bool KfiLnd::has_begun_anew(const Peer& peer, const Hello& hello) {
  return peer.version != 0 && hello.session_key - peer.remote_session_key > kForgottenMax;
}

void KfiLnd::take_hello(Transaction& one, const EventStatus& what) {
  if (one.kind == Kind::kHelloResponse) return take_hello_response(one);
  Peer& peer = *one.peer;
  const Hello& hello = one.message.hello;
  counters_.add(Id::kHellosReceived);
  heard(peer);
  const bool other = peer.version != 0 && hello.session_key != peer.remote_session_key;
  const bool restarted = has_begun_anew(peer, hello);
  peer.rx_base = static_cast<std::uint8_t>(hello.rx_base);
  peer.remote_session_key = hello.session_key;
  peer.version = std::min(kVersionMax, hello.version);
  if (peer.state == PeerState::kNew) {
    if (peer.needs_hello(now_, timeout_, false)) (void)greet(peer);
    peer.state = PeerState::kWaitResponse;
    wake(peer);
  }
  greet_first(peer);
  if (other && !restarted) counters_.add(Id::kPeerForgot);
  if (restarted) {
    // It has begun anew with us: what was under way may never have got there.
    counters_.add(Id::kPeerRestarts);
    core_.on_peer(peer.nid, lnet::PeerNotice::kLost, now_);
  }
  one.kind = Kind::kHelloResponse;
  send_hello(one, what);
}

void KfiLnd::take_hello_response(Transaction& one) {
  Peer& peer = *one.peer;
  const Hello& hello = one.message.hello;
  counters_.add(Id::kHellosAnswered);
  heard(peer);
  peer.rx_base = static_cast<std::uint8_t>(hello.rx_base);
  peer.remote_session_key = hello.session_key;
  peer.version = hello.version;
  peer.state = PeerState::kUpToDate;
  end_greeting(peer);
  core_.on_peer(peer.nid, lnet::PeerNotice::kAlive, now_);
  end(one);
}

void KfiLnd::failed(Transaction& one, Errc cause, bool tag_exposed) {
  Peer& peer = *one.peer;
  if (peer.removed) return;
  if (tag_exposed) peers_.retire_key(peer, now_ + kRetiredTimeouts * timeout_);
  if (peer.guest) {  // what becomes of it its home decides
    bind(peer, nullptr);
    return peers_.remove(peer);
  }
  if (one.abandoned) {
    if (tag_exposed) delete_peer(peer, true);
    return;
  }
  const lnet::Nid nid = peer.nid;
  const PeerFate fate = transaction_failed(peer, cause, tag_exposed, now_, timeout_);
  const bool unreachable = !peer.is_usable() || peer.greeted_in_vain;
  if (fate == PeerFate::kLost) {
    wake(peer);
    core_.on_peer(nid, lnet::PeerNotice::kLost, now_);
  } else if (fate == PeerFate::kDelete) {
    delete_peer(peer, false);
  }
  if (unreachable) core_.on_unreachable(nid, cause);
}

void KfiLnd::delete_peer(Peer& peer, bool broken_off) {
  bind(peer, nullptr);
  wake(peer);
  // We have broken it off: nothing is wrong with the peer. Another object all the same, since it
  // may know a tag of this one.
  if (broken_off) return peers_.remove(peer);
  counters_.add(Id::kPeersDeleted);
  const lnet::Nid nid = peer.nid;
  const Instant last_alive = peer.last_alive;
  peers_.remove(peer);
  core_.on_peer(nid, lnet::PeerNotice::kDown, last_alive);
}

}  // namespace plnet::kfilnd
