// SPDX-License-Identifier: BSD-3-Clause
// The last known place of each operation's message, in both directions: a loss must have a cause at
// that place. A message ends with a counter at some node, or in a node that lost power, or between
// two nodes of which one has lost a peer since, or that have lost a connection to each other.
#pragma once

#include <algorithm>
#include <cstddef>
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
  // `stale`: the time after a node's return during which others may send over connections to its
  // last incarnation. They notice only when they send: TCP accepts the bytes, and a reset comes
  // back.
  Trails(Ledger& ledger, std::uint32_t nodes, Duration stale)
      : ledger_(ledger),
        stale_(stale),
        parted_(nodes, kNever),
        off_(nodes),
        back_(nodes, kNever),
        relays_failed_(nodes) {
    pairs_.reserve(kPairsUsual);
  }

  // A node begins an incarnation; cookies are assigned in sequence.
  void began(Host& host, Instant now);
  // The operation of a message: an id of the ledger's; 0: not from a program.
  [[nodiscard]] std::uint64_t operation_of(const lnet::MessageHeader& header) const;

  // The LND of `node` got the message; it has sent it, or failed to.
  void handed(std::uint64_t id, std::uint32_t node, const lnet::Nid& hop, Instant now);
  void sent(std::uint64_t id, std::uint32_t node, bool well, Instant now);
  void arrived(std::uint64_t id, std::uint32_t node);
  // The LND of a router failed to send a message of another node.
  void relay_failed(std::uint32_t node) { ++relays_failed_[node]; }
  // The message ended here, with a counted cause.
  void ended(std::uint64_t id, std::uint32_t node);

  // The two nodes have lost each other as peers.
  void parted(std::uint32_t a, std::uint32_t b, Instant now);
  // One of several connections between the two has ended, with all its messages: those sent until
  // now may be lost. Other messages of the two nodes are not affected.
  void disconnected(std::uint32_t a, std::uint32_t b, Instant now);
  // Messages at the node, or under way to it, may be lost.
  void lost_power(std::uint32_t node, Instant now);

  // From now on failed operations are checked, which may allocate from the heap.
  void watch_failures() { watches_failures_ = true; }
  // An operation has failed: it must have passed a node that lost power.
  void failed(const Operation& operation);
  // The first failed operation that did not, or empty.
  [[nodiscard]] const std::string& failed_elsewhere() const { return failed_elsewhere_; }
  // The first PUT that was lost without a cause, or empty. `forward_failed`: for each node, the
  // core's count of messages of others that were received but not forwarded. Messages that no LND
  // got, since the next hop was removed first, end unseen in the router: as many losses are
  // allowed.
  [[nodiscard]] std::string without_cause(std::span<const std::uint64_t> forward_failed);

 private:
  static constexpr Instant kNever = Instant::min();
  static constexpr std::size_t kPairsUsual = 1024;

  struct Pair {
    std::uint64_t nodes = 0;  // the smaller number in the high half
    Instant disconnected;     // the last time
  };
  [[nodiscard]] static std::uint64_t key_of(std::uint32_t a, std::uint32_t b) {
    return std::uint64_t{std::min(a, b)} << 32U | std::max(a, b);
  }
  [[nodiscard]] Instant last_disconnected(std::uint32_t a, std::uint32_t b) const;

  [[nodiscard]] bool is_explained(const Operation& operation) const;

  [[nodiscard]] bool is_exposed(std::uint32_t hop, Instant now) const;

  Ledger& ledger_;
  const Duration stale_;
  std::uint64_t first_cookie_ = 0;
  std::vector<Host*> lives_;                  // indexed by cookie
  std::vector<Instant> parted_;               // indexed by node: the last time
  std::vector<Pair> pairs_;                   // in the order of their nodes
  std::vector<bool> off_;                     // indexed by node
  std::vector<Instant> back_;                 // indexed by node: the time of its return, if it was
                                              // off before
  std::vector<std::uint64_t> relays_failed_;  // indexed by node, in its LNDs
  bool watches_failures_ = false;
  std::string failed_elsewhere_;
};

}  // namespace plnet::sim
