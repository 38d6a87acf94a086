// SPDX-License-Identifier: BSD-3-Clause
// Messages of ours: IMMEDIATE or a bulk request, when the peer may be sent to, and the operations
// that are posted first. lustre-release lnet/klnds/kfilnd/kfilnd.c: kfilnd_send(); kfilnd_tn.c:
// kfilnd_tn_state_idle().
#pragma once

#include "lib/kfilnd/endings.hpp"
#include "lib/kfilnd/environment.hpp"
#include "lib/kfilnd/hellos.hpp"
#include "lib/kfilnd/machine.hpp"
#include "lib/kfilnd/peers.hpp"
#include "lib/kfilnd/releases.hpp"
#include "lib/kfilnd/transactions.hpp"

namespace plnet::kfilnd {

class Initiator {
 public:
  Initiator(Environment& environment, Transactions& transactions, Peers& peers, Hellos& hellos,
            Endings& endings, Releases& releases, Machine& machine)
      : environment_(environment),
        transactions_(transactions),
        peers_(peers),
        hellos_(hellos),
        endings_(endings),
        releases_(releases),
        machine_(machine) {}

  // The first turn of a message: finds its peer and begins, or ends it.
  void start(Transaction& one);

  // --- Actions ---
  void begin_immediate(Transaction& one, const EventStatus& what);
  void begin_bulk(Transaction& one, const EventStatus& what);
  void send_request(Transaction& one, const EventStatus& what);

 private:
  using State = TransactionState;
  using Event = TransactionEvent;
  using Id = KfiLndCounters::Id;

  // Sets the kind of a message, and a key for a bulk request. False: no key is free.
  [[nodiscard]] bool choose_kind(Transaction& one);
  // False: the transaction waits, or has ended.
  [[nodiscard]] bool may_begin(Transaction& one);
  [[nodiscard]] Message message_of(const Transaction& one) const;

  Environment& environment_;
  Transactions& transactions_;
  Peers& peers_;
  Hellos& hellos_;
  Endings& endings_;
  Releases& releases_;
  Machine& machine_;
};

}  // namespace plnet::kfilnd
