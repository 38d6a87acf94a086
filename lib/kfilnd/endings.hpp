// SPDX-License-Identifier: BSD-3-Clause
// The ends of transactions that this node began: the later actions of transitions.hpp.
// lustre-release lnet/klnds/kfilnd/kfilnd_tn.c: kfilnd_tn_state_imm_send() and its neighbours.
#pragma once

#include "lib/kfilnd/environment.hpp"
#include "lib/kfilnd/hellos.hpp"
#include "lib/kfilnd/peers.hpp"
#include "lib/kfilnd/transactions.hpp"

namespace plnet::kfilnd {

class Endings {
 public:
  Endings(Environment& environment, Transactions& transactions, Peers& peers, Hellos& hellos)
      : environment_(environment), transactions_(transactions), peers_(peers), hellos_(hellos) {}

  // --- A message or a request ---
  void sent(Transaction& one, const EventStatus& what);
  void send_failed(Transaction& one, const EventStatus& what);
  void send_timed_out(Transaction& one, const EventStatus& what);
  void request_sent(Transaction& one, const EventStatus& what);
  void request_failed(Transaction& one, const EventStatus& what);
  void request_timed_out(Transaction& one, const EventStatus& what);
  void request_failed_after_transfer(Transaction& one, const EventStatus& what);

  // --- A buffer that is laid open to the peer ---
  // Asks the NIC for it: its own completion says whether it is back or in use by the peer.
  void cancel_buffer(Transaction& one, const EventStatus& what);
  void buffer_cancelled(Transaction& one, const EventStatus& what);
  void buffer_failed_early(Transaction& one, const EventStatus& what);
  void buffer_failed(Transaction& one, const EventStatus& what);
  void transferred(Transaction& one, const EventStatus& what);
  void transferred_before_sent(Transaction& one, const EventStatus& what);
  void transferred_after_failure(Transaction& one, const EventStatus& what);
  void transfer_timed_out(Transaction& one, const EventStatus& what);
  void cancelled_after_timeout(Transaction& one, const EventStatus& what);

  // --- After a failure ---
  void quarantine(Transaction& one, const EventStatus& what);
  void send_failed_after_failure(Transaction& one, const EventStatus& what);

 private:
  using State = TransactionState;
  using Event = TransactionEvent;
  using Id = KfiLndCounters::Id;

  // The peer may know the tag of a buffer: the transaction ends and the peer is made anew.
  void end_exposed(Transaction& one, Errc cause, Health health);
  static void note_transfer(Transaction& one, const EventStatus& what);

  Environment& environment_;
  Transactions& transactions_;
  Peers& peers_;
  Hellos& hellos_;
};

}  // namespace plnet::kfilnd
