// SPDX-License-Identifier: BSD-3-Clause
// One peer NI on one shard: the links for its LNDs and what was counted. On the home shard of the
// peer NI also its credits and the queue of those that wait for one.
#pragma once

#include <array>
#include <cstdint>
#include <memory>

#include "lib/base/cache_line.hpp"
#include "lib/base/intrusive_list.hpp"
#include "lib/base/pool.hpp"
#include "lib/base/prefetch.hpp"
#include "lib/lnet/api/lnd.hpp"
#include "lib/lnet/flow/forward_share.hpp"
#include "lib/lnet/flow/wait_queue.hpp"
#include "lib/lnet/move/lane_set.hpp"
#include "lib/lnet/move/statistics.hpp"
#include "lib/lnet/peers/peer.hpp"

namespace plnet::lnet {

struct Message;
struct PeerPort;
struct Receive;

// A peer NI may be reached through several NIs of ours; each of their LNDs has a link of its own.
struct alignas(kCacheLine) LndLink : PeerLink {
  PeerPort* port = nullptr;
  LndLink* next = nullptr;
  std::uint16_t ni = 0;     // number of the NI
  std::uint16_t lanes = 0;  // number of its LaneSet, from 1 on; 0: all goes by lane 0
  bool releasing = false;
};
static_assert(sizeof(LndLink) == kCacheLine);

// What it has of this shard's receive records (receive_shares.hpp).
struct ReceiveShare {
  std::uint32_t used = 0;
  bool stalled = false;  // for too long none came back: what is too much is dropped
  Instant moved{};       // when one came back, or the first began to wait
  WaitQueue<Receive> waiting;
};

// In a list of the sender's while something waits.
struct alignas(kNoSharing) PeerPort : ListNode<> {
  PeerNi* peer_ni = nullptr;
  LndLink* links = nullptr;

  // The home's.
  std::int32_t tx_credits_max = 0;
  std::int32_t tx_credits_min = 0;
  std::uint32_t outstanding = 0;  // messages that have a credit, have borrowed one or wait for one
  std::uint32_t waiting_count = 0;
  std::uint64_t queued_bytes = 0;  // with 72 for each message, as LNet shows it
  bool starting = false;
  bool releasing = false;
  bool prompt = false;  // it took the last message that ended at once
  // During a look at hops that may have stalled: messages that wait for a credit of an interface.
  std::uint32_t waits_for_ni = 0;

  // Nearly all have one link: it lies here, and is found together with its port.
  alignas(kCacheLine) LndLink own_link;  // in use: names this port

  Traffic traffic;
  Failures failures;
  // What it sends here to be forwarded: each such message looks at all of it.
  alignas(kCacheLine) ClientCredits client;
  WaitQueue<Message> waiting;  // used by the home alone
  // What is forwarded to it: a message without payload looks at the first line of it alone.
  alignas(kCacheLine) HopShare hop;
  ReceiveShare share;

  // Below 0: borrowed, or waited for.
  [[nodiscard]] std::int32_t tx_credits() const {
    return tx_credits_max - static_cast<std::int32_t>(outstanding);
  }
  // Messages that do not wait here.
  [[nodiscard]] std::uint32_t under_way() const { return outstanding - waiting_count; }
  // The home's, before it looks at credits: its network may have come with others than before.
  void follow_credits() {
    if (peer_ni->tx_credits_max.get() != tx_credits_max) [[unlikely]]
      change_credits();
  }
  void change_credits();

  // The lines that a message to it looks at.
  void prefetch() const {
    plnet::prefetch(this);
    plnet::prefetch(&own_link);
    plnet::prefetch(&traffic);
  }
};
static_assert(sizeof(PeerPort) == 5 * kNoSharing);
static_assert(sizeof(HopShare) - sizeof(HopShare::queues) + sizeof(HopQueue) <= kCacheLine,
              "the queue of messages without payload, the first, ends on the first line");

class PeerPorts {
 public:
  // `peer_nis`: how many there can be in the node; `ports`: how many of them on this shard;
  // `extra_links`: beyond one for each of those; `lane_sets`: links that can have more lanes than
  // one. Allocates; start-up only.
  PeerPorts(std::size_t peer_nis, std::size_t ports, std::size_t extra_links,
            std::size_t lane_sets);

  [[nodiscard]] PeerPort* find(const PeerNi& peer_ni) const { return of_[peer_ni.number]; }
  // Fetches the cache line that find() will look at.
  void prefetch(const PeerNi& peer_ni) const {
    plnet::prefetch(static_cast<const void*>(&of_[peer_ni.number]));
  }
  // Made on first use. Null: all are in use.
  [[nodiscard]] PeerPort* get(PeerNi& peer_ni) {
    PeerPort* const port = find(peer_ni);
    return port != nullptr ? port : make(peer_ni);
  }
  // The port's link for an NI of ours, made on first use. Null: all are in use.
  [[nodiscard]] LndLink* link(PeerPort& port, std::uint16_t ni) {
    LndLink* const first = port.links;
    return first != nullptr && first->ni == ni ? first : search_link(port, ni);
  }
  // Null: there is none yet.
  [[nodiscard]] LndLink* find_link(const PeerNi& peer_ni, std::uint16_t ni);
  // A lane of the link's comes or goes. False: no room, and messages go as without it.
  [[nodiscard]] bool set_lane(LndLink& link, ShardId shard, bool up);
  // What was booked on a lane has come back; nothing if the link has lost its lanes.
  void unbook(LndLink& link, ShardId shard, std::uint32_t bytes);
  // Of a link that has some.
  [[nodiscard]] LaneSet& lanes(const LndLink& link) { return lane_sets_.at(link.lanes - 1U); }

  // Of every PeerLink of the shard's but that of loopback.
  [[nodiscard]] static LndLink& of(PeerLink& link) { return static_cast<LndLink&>(link); }

  // No LND knows the link any more.
  void give_back(LndLink& link);
  // It has no links, nothing waits.
  void give_back(PeerPort& port);

  // How many there are for an NI of ours.
  [[nodiscard]] std::uint32_t links_of(std::uint16_t ni) const { return link_counts_[ni]; }
  [[nodiscard]] const Pool<PeerPort>& pool() const { return ports_; }
  template <class Visit>
  void for_each(Visit&& visit) {
    for (std::uint32_t i = 0; i < ports_.capacity(); ++i) {
      if (ports_.is_lent(i)) visit(ports_.at(i));
    }
  }

 private:
  void give_back_if_idle(LndLink& link);
  PeerPort* make(PeerNi& peer_ni);
  LndLink* take_link(PeerPort& port);
  LndLink* search_link(PeerPort& port, std::uint16_t ni);

  Pool<PeerPort> ports_;
  Pool<LndLink> extra_links_;
  Pool<LaneSet> lane_sets_;
  std::array<std::uint32_t, kNisMax + 1> link_counts_{};
  const std::unique_ptr<PeerPort*[]> of_;  // by number of the peer NI
};

}  // namespace plnet::lnet
