// SPDX-License-Identifier: BSD-3-Clause
#include "lib/kfilnd/senders.hpp"

#include "lib/base/check.hpp"
#include "lib/lnet/names/nid64.hpp"

namespace plnet::kfilnd {

Result<std::uint8_t> Senders::home_of(const lnet::Nid& nid) {
  return environment_.config.mail == nullptr ? Result<std::uint8_t>(environment_.own_context())
                                             : environment_.config.homes->home_of(nid);
}

Result<Peer*> Senders::find(const Message& message) {
  Peer* const known = peers_.find(message.source_nid);
  // HELLOs are rare: each of them looks up whether this is still the peer's home.
  if (known != nullptr && (environment_.config.mail == nullptr || !message.is_hello()))
    return admit_known(message, *known);
  const lnet::Nid nid = lnet::from_nid64(message.source_nid);
  const auto home = home_of(nid);
  if (!home) {
    if (home.error() != Errc::kAgain)
      environment_.count(home.error() == Errc::kNotPermitted ? Id::kRefusedAccess
                                                             : Id::kPeersRefused);
    return std::unexpected(home.error());
  }
  if (*home != environment_.own_context()) return of_another_home(message, known, *home);
  if (known != nullptr) {
    const auto admitted = admit_known(message, *known);
    if (admitted && known->guest) Peers::make_resident(*known);
    return admitted;
  }
  if (message.kind == Kind::kHelloResponse) {
    environment_.count(Id::kStrayHellos);  // the answer to a HELLO of a life or a peer that is over
    return std::unexpected(Errc::kNotFound);
  }
  return admit_stranger(nid, message.source_nid);
}

Result<Peer*> Senders::admit_known(const Message& message, Peer& known) {
  if (introduces_itself(known, message) && !admits(known.nid))
    return std::unexpected(Errc::kNotPermitted);
  return &known;
}

Result<Peer*> Senders::admit_stranger(const lnet::Nid& nid, std::uint64_t nid64) {
  if (strangers_left_ == 0) return std::unexpected(Errc::kAgain);
  --strangers_left_;
  if (!admits(nid)) return std::unexpected(Errc::kNotPermitted);
  return peers_.find_or_make(nid, nid64);
}

Result<Peer*> Senders::of_another_home(const Message& message, Peer* known, std::uint8_t home) {
  PLNET_CHECK(environment_.config.mail != nullptr, "other contexts are reached by mail");
  if (message.is_hello()) {
    const auto matter = message.kind == Kind::kHelloRequest ? Letter::Matter::kHelloRequest
                                                            : Letter::Matter::kHelloResponse;
    if (!environment_.config.mail->post(home, {message.source_nid, matter, message.hello}))
      return std::unexpected(Errc::kAgain);
    environment_.count(Id::kHandedOver);
    if (known != nullptr && !known->guest) peers_.make_guest(*known);
    return std::unexpected(Errc::kStale);
  }
  const auto guest = admit_stranger(lnet::from_nid64(message.source_nid), message.source_nid);
  if (guest) peers_.make_guest(**guest);
  return guest;
}

bool Senders::admits(const lnet::Nid& nid) {
  PeerGate* const gate = environment_.config.gate;
  const bool admitted = gate == nullptr || gate->admits(nid);
  if (!admitted) environment_.count(Id::kRefusedAccess);
  return admitted;
}

// Nothing connects us with the peer, or with this life of it, and no HELLO of ours is under way: a
// peer that we send a HELLO has to send us one before it can answer.
bool Senders::introduces_itself(const Peer& peer, const Message& message) {
  if (peer.hello_state != HelloState::kNone) return false;
  if (peer.state == PeerState::kNew || peer.state == PeerState::kDown) return true;
  return message.is_hello() && peer.has_restarted(message.hello);
}

void Senders::report_guest(Peer& peer) {
  PLNET_CHECK(peer.guest && environment_.config.mail != nullptr,
              "guests exist on interfaces with several contexts");
  environment_.count(Id::kMisdirected);
  if (peer.hello_at + environment_.timeout > environment_.now) return;
  const auto home = home_of(peer.nid);
  if (!home) return;
  if (*home == environment_.own_context()) return Peers::make_resident(peer);
  if (environment_.config.mail->post(*home, {peer.nid64, Letter::Matter::kMisdirected, {}}))
    peer.hello_at = environment_.now;
}

unsigned Senders::read_mail() {
  if (environment_.config.mail == nullptr) return 0;
  return environment_.config.mail->collect(
      kLettersAtOnce, [this](const Letter& letter) { return on_letter(letter); });
}

bool Senders::on_letter(const Letter& letter) {
  if (environment_.shutting_down) return true;
  Peer* peer = peers_.find(letter.nid64);
  if (peer == nullptr && letter.matter == Letter::Matter::kHelloResponse) {
    environment_.count(Id::kStrayHellos);
    return true;
  }
  if (letter.matter != Letter::Matter::kMisdirected && !transactions_.has_room(Quota::kReceives))
    return false;
  Message hello;
  hello.kind =
      letter.matter == Letter::Matter::kHelloRequest ? Kind::kHelloRequest : Kind::kHelloResponse;
  hello.version = kHelloVersion;
  hello.source_nid = letter.nid64;
  hello.destination_nid = environment_.nid64;
  hello.hello = letter.hello;
  const auto admitted = peer == nullptr
                            ? admit_stranger(lnet::from_nid64(letter.nid64), letter.nid64)
                            : admit_known(hello, *peer);
  if (!admitted) return admitted.error() != Errc::kAgain;
  peer = *admitted;
  if (peer->guest) Peers::make_resident(*peer);
  if (letter.matter == Letter::Matter::kMisdirected) {
    if (peer->hello_state == HelloState::kNone) (void)hellos_.send_hello(*peer);
    return true;
  }
  Transaction* const one = transactions_.begin(Quota::kReceives);
  PLNET_CHECK(one != nullptr, "there is room for it");
  one->kind = hello.kind;
  one->message = hello;
  transactions_.set_peer(*one, *peer);
  machine_.run(*one, TransactionEvent::kRxHello);
  return true;
}

}  // namespace plnet::kfilnd
