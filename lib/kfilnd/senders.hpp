// SPDX-License-Identifier: BSD-3-Clause
// The senders of received messages. An interface may have several receive contexts, each with an
// LND on a shard of its own, and a peer has its home on one of them. A HELLO that arrives at
// another context is handed to the home. A message is received where it arrives, as from a guest,
// and the home is asked to tell the peer its own context.
#pragma once

#include <cstdint>

#include "lib/kfilnd/environment.hpp"
#include "lib/kfilnd/hellos.hpp"
#include "lib/kfilnd/machine.hpp"
#include "lib/kfilnd/peers.hpp"
#include "lib/kfilnd/transactions.hpp"

namespace plnet::kfilnd {

class Senders {
 public:
  Senders(Environment& environment, Transactions& transactions, Peers& peers, Hellos& hellos,
          Machine& machine)
      : environment_(environment),
        transactions_(transactions),
        peers_(peers),
        hellos_(hellos),
        machine_(machine) {}

  // The sender of a message. kAgain: it is not known yet. Any other error: the message is dropped,
  // or was handed to the home of its sender.
  [[nodiscard]] Result<Peer*> find(const Message& message);
  // A message has come from a guest: asks its home, now and then, to send it a HELLO.
  void report_guest(Peer& peer);

  // Handles letters of the other contexts.
  unsigned read_mail();
  // A turn begins: as many strangers as before may become peers.
  void start_turn() { strangers_left_ = kStrangersPerTurn; }

 private:
  using Id = KfiLndCounters::Id;

  // However many strangers write: the others wait in the receive buffers.
  static constexpr unsigned kStrangersPerTurn = 16;
  static constexpr unsigned kLettersAtOnce = 16;  // of each other context

  [[nodiscard]] Result<std::uint8_t> home_of(const lnet::Nid& nid);
  // A known peer may have to be admitted again.
  [[nodiscard]] Result<Peer*> admit_known(const Message& message, Peer& known);
  [[nodiscard]] Result<Peer*> admit_stranger(const lnet::Nid& nid, std::uint64_t nid64);
  [[nodiscard]] Result<Peer*> of_another_home(const Message& message, Peer* known,
                                              std::uint8_t home);
  [[nodiscard]] bool admits(const lnet::Nid& nid);
  [[nodiscard]] static bool introduces_itself(const Peer& peer, const Message& message);
  // False: the letter has to wait.
  [[nodiscard]] bool on_letter(const Letter& letter);

  Environment& environment_;
  Transactions& transactions_;
  Peers& peers_;
  Hellos& hellos_;
  Machine& machine_;
  unsigned strangers_left_ = kStrangersPerTurn;
};

}  // namespace plnet::kfilnd
