// SPDX-License-Identifier: BSD-3-Clause
// An interface with several receive contexts, one on each shard: a peer has its home on one of
// them. What comes to another is brought there if it is a HELLO; a message is received where it
// came, as from a guest, and the home is asked to tell the peer where it belongs.
#include "lib/kfilnd/lnd.hpp"
#include "lib/lnet/names/nid64.hpp"

namespace plnet::kfilnd {

Result<std::uint8_t> KfiLnd::home_of(const lnet::Nid& nid) {
  return config_.mail == nullptr ? Result<std::uint8_t>(driver_.limits().receive_context)
                                 : config_.homes->home_of(nid);
}

// Who it is from. kAgain: that can be said later. Any other error: there is nothing left to do with
// the message here.
Result<Peer*> KfiLnd::sender_of(const Message& message) {
  Peer* const known = peers_.find(message.source_nid);
  // Greetings are rare: then we look again whether this is still its home.
  if (known != nullptr && (config_.mail == nullptr || !message.is_hello()))
    return heard_of(message, *known);
  const lnet::Nid nid = lnet::from_nid64(message.source_nid);
  const auto home = home_of(nid);
  if (!home) {
    if (home.error() != Errc::kAgain)
      counters_.add(home.error() == Errc::kNotPermitted ? Id::kRefusedAccess : Id::kPeersRefused);
    return std::unexpected(home.error());
  }
  if (*home != driver_.limits().receive_context) return of_another_home(message, known, *home);
  if (known != nullptr) {
    const auto heard = heard_of(message, *known);
    if (heard && known->guest) settle(*known);
    return heard;
  }
  if (message.kind == Kind::kHelloResponse) {
    counters_.add(Id::kStrayHellos);  // to a HELLO of a life or a peer that is over
    return std::unexpected(Errc::kNotFound);
  }
  return stranger(nid, message.source_nid);
}

// Of somebody who is known here, and may have to introduce itself all the same.
Result<Peer*> KfiLnd::heard_of(const Message& message, Peer& known) {
  if (introduces_itself(known, message) && !admits(known.nid))
    return std::unexpected(Errc::kNotPermitted);
  return &known;
}

// So many in a turn, however many write: the rest waits in the receive buffers.
Result<Peer*> KfiLnd::stranger(const lnet::Nid& nid, std::uint64_t nid64) {
  if (strangers_left_ == 0) return std::unexpected(Errc::kAgain);
  --strangers_left_;
  if (!admits(nid)) return std::unexpected(Errc::kNotPermitted);
  return find_or_make(nid, nid64);
}

Result<Peer*> KfiLnd::of_another_home(const Message& message, Peer* known, std::uint8_t home) {
  if (message.is_hello()) {
    const auto matter = message.kind == Kind::kHelloRequest ? Letter::Matter::kHelloRequest
                                                            : Letter::Matter::kHelloResponse;
    if (!config_.mail->post(home, {message.source_nid, matter, message.hello}))
      return std::unexpected(Errc::kAgain);
    counters_.add(Id::kHandedOver);
    if (known != nullptr && !known->guest) become_guest(*known);
    return std::unexpected(Errc::kStale);
  }
  const auto guest = stranger(lnet::from_nid64(message.source_nid), message.source_nid);
  if (guest) become_guest(**guest);
  return guest;
}

// It may be read from and written to, and what it sends is received. It is never greeted from here.
void KfiLnd::become_guest(Peer& peer) {
  peer.guest = true;
  peer.state = PeerState::kUpToDate;
  peer.hello_at = now_ - 2 * timeout_;
  end_greeting(peer);
}

// The core sends to it from here, or says that this is its home: it starts anew.
void KfiLnd::settle(Peer& peer) {
  peer.guest = false;
  peer.state = PeerState::kNew;
  peer.hello_state = HelloState::kNone;
  peer.rx_base = 0;
  peer.version = 0;
  peer.remote_session_key = 0;
}

// Once in a while: its home greets it, and it learns where to send.
void KfiLnd::report_guest(Peer& peer) {
  counters_.add(Id::kMisdirected);
  if (peer.hello_at + timeout_ > now_) return;
  const auto home = home_of(peer.nid);
  if (!home) return;
  if (*home == driver_.limits().receive_context) return settle(peer);
  if (config_.mail->post(*home, {peer.nid64, Letter::Matter::kMisdirected, {}}))
    peer.hello_at = now_;
}

unsigned KfiLnd::read_mail() {
  if (config_.mail == nullptr) return 0;
  return config_.mail->collect(kLettersAtOnce,
                               [this](const Letter& letter) { return take_letter(letter); });
}

// False: it is to come again.
bool KfiLnd::take_letter(const Letter& letter) {
  if (shutting_down_) return true;
  Peer* peer = peers_.find(letter.nid64);
  if (peer == nullptr && letter.matter == Letter::Matter::kHelloResponse) {
    counters_.add(Id::kStrayHellos);
    return true;
  }
  if (letter.matter != Letter::Matter::kMisdirected &&
      used(Quota::kReceives) == config_.receives_max)
    return false;
  Message hello;
  hello.kind =
      letter.matter == Letter::Matter::kHelloRequest ? Kind::kHelloRequest : Kind::kHelloResponse;
  hello.version = kHelloVersion;
  hello.source_nid = letter.nid64;
  hello.destination_nid = nid64_;
  hello.hello = letter.hello;
  const auto heard = peer == nullptr ? stranger(lnet::from_nid64(letter.nid64), letter.nid64)
                                     : heard_of(hello, *peer);
  if (!heard) return heard.error() != Errc::kAgain;
  peer = *heard;
  if (peer->guest) settle(*peer);
  if (letter.matter == Letter::Matter::kMisdirected) {
    if (peer->hello_state == HelloState::kNone) (void)greet(*peer);
    return true;
  }
  Transaction* const one = take(Quota::kReceives);
  PLNET_CHECK(one != nullptr, "there is room for it");
  one->kind = hello.kind;
  one->message = hello;
  one->peer = peer;
  peers_.use(*peer);
  run(*one, Event::kRxHello);
  return true;
}

}  // namespace plnet::kfilnd
