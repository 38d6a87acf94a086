// SPDX-License-Identifier: BSD-3-Clause
// HELLOs: each peer gets one before the first message to it and after a failure. They are bounded
// in number; further peers wait for their turn. lustre-release lnet/klnds/kfilnd/kfilnd_peer.c,
// kfilnd_tn.c: kfilnd_send_hello_request(), kfilnd_peer_process_hello().
#pragma once

#include "lib/base/intrusive_list.hpp"
#include "lib/kfilnd/environment.hpp"
#include "lib/kfilnd/machine.hpp"
#include "lib/kfilnd/peers.hpp"
#include "lib/kfilnd/transactions.hpp"

namespace plnet::kfilnd {

class Hellos {
 public:
  Hellos(Environment& environment, Transactions& transactions, Peers& peers, Machine& machine)
      : environment_(environment), transactions_(transactions), peers_(peers), machine_(machine) {}

  // Sends a HELLO, or puts the peer into the list of those that wait for one. False: it could not
  // be sent.
  [[nodiscard]] bool send_hello(Peer& peer);
  // A waiting peer has just sent something, so it will answer: it goes first.
  void send_hello_first(Peer& peer);
  unsigned send_waiting_hellos();
  // A peer waits, and there is room.
  [[nodiscard]] bool can_send_hello() const {
    const bool any = !next_.empty() || !later_.empty();
    return any && transactions_.has_room(Quota::kHellos) && !environment_.shutting_down &&
           !environment_.has_moved();
  }
  // The HELLO `which` to this peer has failed.
  void on_failed(Peer& peer, const Transaction* which);

  // --- Actions ---
  // Sends a request, or the answer to one: then the transaction is that of the received request.
  void send(Transaction& one, const EventStatus& what);
  void receive(Transaction& one, const EventStatus& what);

 private:
  using State = TransactionState;
  using Event = TransactionEvent;
  using Id = KfiLndCounters::Id;

  static constexpr unsigned kHellosAtOnce = 32;

  [[nodiscard]] bool begin(Peer& peer);
  void receive_response(Transaction& one);
  [[nodiscard]] Hello own_hello(const Peer& peer, std::uint16_t version) const;

  Environment& environment_;
  Transactions& transactions_;
  Peers& peers_;
  Machine& machine_;
  // Peers that wait for their HELLO: those likely to answer, and those whose last HELLO failed.
  IntrusiveList<Peer, ForHello> next_;
  IntrusiveList<Peer, ForHello> later_;
};

}  // namespace plnet::kfilnd
