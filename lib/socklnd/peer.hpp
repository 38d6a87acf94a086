// SPDX-License-Identifier: BSD-3-Clause
// One peer of an LND: its connections, the messages that wait for one, and the time of the next
// attempt to connect.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>

#include "lib/base/check.hpp"
#include "lib/base/clock.hpp"
#include "lib/base/intrusive_list.hpp"
#include "lib/base/timer_wheel.hpp"
#include "lib/lnet/api/lnd.hpp"
#include "lib/socklnd/connection.hpp"
#include "lib/socklnd/tunables.hpp"

namespace plnet::socklnd {

class Peers;

// The number of connections of each type that a peer should have.
struct ConnectionQuota {
  std::uint16_t control = 1;
  std::uint16_t bulk = 1;  // in each direction
};

// The end of the last attempt to connect.
enum class Outcome : std::uint8_t {
  kNone,
  kOpened,
  kLater,   // refused: a race, a duplicate
  kAtOnce,  // another version, another incarnation
  kFailed,  // Peer::failure is the cause
};

struct Peer : ListNode<> {
  Peer();

  // A peer that has a connection of each type and refuses this many more in a row is satisfied; one
  // without has failed (ksocknal_connect() of 2.17).
  static constexpr unsigned kRefusalsMax = 3;
  // Bounds the search for a source port; a driver tries all ports in a quarter of it.
  static constexpr unsigned kPortSearchesMax = 64;

  Peers* owner = nullptr;
  Peer* next_in_bucket = nullptr;
  lnet::PeerLink* link = nullptr;
  lnet::ProcessId id;
  bool bound = false;      // link->lnd_peer is this: kept until the core releases the link
  bool elsewhere = false;  // its home is another shard, which has lanes here

  IntrusiveList<Connection, OfPeer> connections;
  std::array<std::uint16_t, kConnectionTypes> open{};  // by type
  TransmitQueue waiting;                               // messages without a connection
  Instant earliest_deadline = Instant::max();          // among the deadlines of its messages

  bool initiated = false;  // we want the full set of connections
  bool satisfied = false;  // the peer accepts no more connections
  bool releasing = false;
  bool sweep = false;    // some of its messages were cancelled
  bool check = false;    // its timer has expired: look for stalled connections
  bool closing = false;  // all open connections are to be closed, with close_cause
  bool notice_alive = false;
  bool notice_lost = false;
  bool notice_silent = false;  // the last connection was closed because it got no answer
  bool lanes_changed = false;  // the core may know other lanes than there are
  bool was_alive = false;
  bool restarted = false;
  Errc close_cause = Errc::kClosed;
  std::uint64_t lanes_told = 0;  // those that the core knows, by shard

  // Learnt from the first connection, forgotten with the last.
  std::optional<Protocol> protocol{};
  bool incarnation_known = false;
  std::uint64_t incarnation = 0;
  std::uint64_t last_incarnation = 0;  // kept after the last connection, to detect a restart

  Connection* attempt = nullptr;  // one at a time
  bool attempt_beside = false;    // other connections were open when the last attempt began
  Outcome outcome = Outcome::kNone;
  Errc failure = Errc::kClosed;
  unsigned refusals = 0;  // since one was accepted
  unsigned port_searches = 0;
  Duration interval{};
  Instant retry_at = Instant::min();

  Instant heard{};
  Instant keepalive_again{};
  Timer timer;

  [[nodiscard]] bool is_userspace() const { return (id.pid & lnet::kPidUserFlag) != 0; }
  [[nodiscard]] unsigned open_count() const {
    return static_cast<unsigned>(open[0]) + open[1] + open[2] + open[3];
  }
  [[nodiscard]] std::uint16_t& open_of(ConnectionType type) {
    PLNET_DEBUG_CHECK(static_cast<std::size_t>(type) < open.size(),
                      "connections are counted by type");
    return open[static_cast<std::size_t>(type)];
  }
  // One of each type: enough to work with.
  [[nodiscard]] bool has_each(const ConnectionQuota& quota) const {
    return open[1] > 0 && (quota.bulk == 0 || (open[2] > 0 && open[3] > 0));
  }
  // The order in which connections are made (ksocknal_connect()); nothing if the quota is met.
  [[nodiscard]] std::optional<ConnectionType> next_type(const ConnectionQuota& quota) const;
  // The HELLO is of the incarnation and version that this peer is known to have.
  [[nodiscard]] bool matches(const Hello& hello) const {
    return incarnation == hello.source_incarnation && protocol == hello.protocol;
  }
  void forget_identity() {
    protocol.reset();
    incarnation_known = false;
  }
};

// Finds peers by NID; several processes may have one NID. A hash table, chained through the peers.
class PeerTable {
 public:
  explicit PeerTable(std::size_t peers_max);

  [[nodiscard]] Peer* find(const lnet::ProcessId& id) const;
  void insert(Peer& peer);
  void erase(Peer& peer);
  // Visits all processes of a NID; the visit may not change the table.
  template <class Visit>
  void for_each(const lnet::Nid& nid, Visit&& visit) const {
    for (Peer* at = bucket(nid); at != nullptr; at = at->next_in_bucket) {
      if (at->id.nid == nid) visit(*at);
    }
  }

 private:
  [[nodiscard]] Peer*& bucket(const lnet::Nid& nid) const;

  std::size_t mask_;
  std::unique_ptr<Peer*[]> buckets_;
  lnet::NidHash hash_;
};

}  // namespace plnet::socklnd
