// SPDX-License-Identifier: BSD-3-Clause
// Where the message of each operation was last seen, on its way there or back: what is lost must
// have been lost by something that happened there. A message ends with a counter at some node, or
// in a node that lost power, or on its way between two of which one has lost a connection since.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "apps/lnet-sim/books/ledger.hpp"
#include "lib/base/clock.hpp"
#include "lib/lnet/names/nid.hpp"
#include "lib/lnet/wire/header.hpp"

namespace plnet::sim {

class Host;

class Trails {
 public:
  // `stale`: for how long after a node is back others may send over connections to its last life.
  // They find out when they send something: TCP takes it, and a reset comes back.
  Trails(Ledger& ledger, std::uint32_t nodes, Duration stale)
      : ledger_(ledger),
        stale_(stale),
        parted_(nodes, kNever),
        off_(nodes),
        back_(nodes, kNever),
        relays_failed_(nodes) {}

  // A node begins a life, whose cookies are given one after another.
  void began(Host& host, Instant now);
  // Whose message it is: an id of the ledger's; 0: of no program's.
  [[nodiscard]] std::uint64_t operation_of(const lnet::MessageHeader& header) const;

  // The LND of `node` has got the message, and has sent it, or not.
  void handed(std::uint64_t id, std::uint32_t node, const lnet::Nid& hop, Instant now);
  void sent(std::uint64_t id, std::uint32_t node, bool well, Instant now);
  void arrived(std::uint64_t id, std::uint32_t node);
  // The LND of a router has not sent on a message of others.
  void relay_failed(std::uint32_t node) { ++relays_failed_[node]; }
  // It goes no further, and a counter says why.
  void ended(std::uint64_t id, std::uint32_t node);

  // A connection between the two is gone, or all of them.
  void parted(std::uint32_t a, std::uint32_t b, Instant now);
  // What was there or on its way there may be lost.
  void lost_power(std::uint32_t node, Instant now);

  // From now on operations that fail are looked at, which may cost the heap something.
  void watch_failures() { watches_failures_ = true; }
  // An operation has failed: held against those that were by way of a node that lost power.
  void failed(const Operation& operation);
  // The first that was not, or empty.
  [[nodiscard]] const std::string& failed_elsewhere() const { return failed_elsewhere_; }
  // The first PUT that was lost without a cause, or empty. `forward_failed`: what the core of each
  // node has counted of messages of others that it had received. What no LND was given of them,
  // since the next hop was gone before its turn came, vanishes here in the router: so many may.
  [[nodiscard]] std::string without_cause(std::span<const std::uint64_t> forward_failed);

 private:
  static constexpr Instant kNever = Instant::min();

  [[nodiscard]] bool is_explained(const Operation& operation) const;

  [[nodiscard]] bool is_exposed(std::uint32_t hop, Instant now) const;

  Ledger& ledger_;
  const Duration stale_;
  std::uint64_t first_cookie_ = 0;
  std::vector<Host*> lives_;                  // by cookie
  std::vector<Instant> parted_;               // by node: the last time
  std::vector<bool> off_;                     // by node
  std::vector<Instant> back_;                 // by node: since when, if it was off before
  std::vector<std::uint64_t> relays_failed_;  // by node, in its LNDs
  bool watches_failures_ = false;
  std::string failed_elsewhere_;
};

}  // namespace plnet::sim
