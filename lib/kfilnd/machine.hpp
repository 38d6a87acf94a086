// SPDX-License-Identifier: BSD-3-Clause
// Runs transactions: which event the driver's word is, which action the event means in the state of
// the transaction (transitions.hpp), and when a transaction that waits runs again.
#pragma once

#include <array>

#include "lib/kfilnd/environment.hpp"
#include "lib/kfilnd/peers.hpp"
#include "lib/kfilnd/transactions.hpp"
#include "lib/kfilnd/transitions.hpp"

namespace plnet::kfilnd {

class Endings;
class Hellos;
class Initiator;
class Receives;

class Machine {
 public:
  using Event = TransactionEvent;

  Machine(Environment& environment, Transactions& transactions, Peers& peers)
      : environment_(environment), transactions_(transactions), peers_(peers) {}

  // The parts that have the actions. Called once, before the first event.
  void set_parts(Initiator& initiator, Receives& receives, Hellos& hellos, Endings& endings);

  void run(Transaction& one, Event event, const EventStatus& what = {});
  // The end of an operation; not of a receive buffer.
  void on_completion(const FabricCompletion& completion);
  void on_timer(Transaction& one);

  // Runs what waits for this turn. These two return the number of transactions that went on.
  unsigned run_turn();
  // Runs some of those that wait for room.
  unsigned run_blocked();

 private:
  using State = TransactionState;
  using Handler = void (*)(Machine& machine, Transaction& one, const EventStatus& what);
  using Id = KfiLndCounters::Id;

  static constexpr unsigned kRetriedAtOnce = 32;

  void run_again(Transaction& one);
  void on_unexpected(Transaction& one, const EventStatus& what);

  static const std::array<Handler, kTransactionActions> kHandlers;

  Environment& environment_;
  Transactions& transactions_;
  Peers& peers_;
  Initiator* initiator_ = nullptr;
  Receives* receives_ = nullptr;
  Hellos* hellos_ = nullptr;
  Endings* endings_ = nullptr;
};

}  // namespace plnet::kfilnd
