// SPDX-License-Identifier: BSD-3-Clause
// What one LND knows of one peer: its connections, what waits for one, and when to try again.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>

#include "lib/base/clock.hpp"
#include "lib/base/intrusive_list.hpp"
#include "lib/base/timer_wheel.hpp"
#include "lib/lnet/api/lnd.hpp"
#include "lib/socklnd/connection.hpp"
#include "lib/socklnd/tunables.hpp"

namespace plnet::socklnd {

class SockLnd;

// How many connections of a type there should be.
struct ConnectionQuota {
  std::uint16_t control = 1;
  std::uint16_t bulk = 1;  // in each direction
};

// How the attempt under way has ended.
enum class Outcome : std::uint8_t {
  kNone,
  kOpened,
  kLater,   // refused: a race, a duplicate
  kAtOnce,  // another version, another incarnation
  kFailed,  // Peer::failure says how
};

struct Peer : ListNode<> {
  Peer();

  // A peer that refuses this often, for whatever reason, while it has a connection of each type
  // wants no more; else it has failed (ksocknal_connect() of 2.17).
  static constexpr unsigned kRefusalsMax = 3;
  // A search for a source port may not go on for ever; a driver sees all of them in a quarter of
  // it.
  static constexpr unsigned kPortSearchesMax = 64;

  SockLnd* lnd = nullptr;
  Peer* next_in_bucket = nullptr;
  lnet::PeerLink* link = nullptr;
  lnet::ProcessId id;
  bool bound = false;      // link->lnd_peer is this: stays until the core lets go
  bool elsewhere = false;  // its home is another shard, which has lanes here

  IntrusiveList<Connection, OfPeer> connections;
  std::array<std::uint16_t, kConnectionTypes> open{};  // by type
  TransmitQueue waiting;                               // for a connection
  Instant earliest_deadline = Instant::max();          // of messages that have one of their own

  bool initiated = false;  // we want the full set of connections
  bool satisfied = false;  // and shall get no more
  bool releasing = false;
  bool sweep = false;    // some of its messages were cancelled
  bool check = false;    // it is time to look for what does not move
  bool closing = false;  // all connections go; close_cause says why
  bool notice_alive = false;
  bool notice_lost = false;
  bool notice_silent = false;  // the last connection was closed since it had no answer
  bool lanes_changed = false;  // those announced to the core may be others than there are
  bool was_alive = false;
  bool restarted = false;
  Errc close_cause = Errc::kClosed;
  std::uint64_t lanes_told = 0;  // the core knows of them; by shard

  // As told by the first connection; forgotten with the last.
  std::optional<Protocol> protocol{};
  bool incarnation_known = false;
  std::uint64_t incarnation = 0;
  std::uint64_t last_incarnation = 0;  // outlives them, to tell a restart

  Connection* attempt = nullptr;  // one at a time
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
    return open[static_cast<std::size_t>(type)];
  }
  // One of each type: enough to work with.
  [[nodiscard]] bool has_each(const ConnectionQuota& quota) const {
    return open[1] > 0 && (quota.bulk == 0 || (open[2] > 0 && open[3] > 0));
  }
  // The order in which connections are made (ksocknal_connect()); nothing if the quota is met.
  [[nodiscard]] std::optional<ConnectionType> next_type(const ConnectionQuota& quota) const;
};

// NID -> peers: several processes may live behind one NID. Chains through the peers.
class PeerTable {
 public:
  explicit PeerTable(std::size_t peers_max);

  [[nodiscard]] Peer* find(const lnet::ProcessId& id) const;
  void insert(Peer& peer);
  void erase(Peer& peer);
  // All processes of a NID. The body may not change the table.
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
