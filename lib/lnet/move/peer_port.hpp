// SPDX-License-Identifier: BSD-3-Clause
// One peer NI on one shard: the links of LNDs to it and its counters. On the home shard of the peer
// NI also its credits and the queue of messages that wait for one.
#pragma once

#include <array>
#include <cstdint>
#include <memory>

#include "lib/base/cache_line.hpp"
#include "lib/base/check.hpp"
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

// Several NIs of this node may reach a peer NI; the LND of each has its own link.
struct alignas(kCacheLine) LndLink : PeerLink {
  PeerPort* port = nullptr;
  LndLink* next = nullptr;
  std::uint16_t ni = 0;     // number of the NI
  std::uint16_t lanes = 0;  // number of its LaneSet, from 1 on; 0: lane 0 only
  bool releasing = false;
};
static_assert(sizeof(LndLink) == kCacheLine);

// The share of a peer NI in this shard's receive records (receive_shares.hpp).
struct ReceiveShare {
  std::uint32_t used = 0;
  bool stalled = false;  // no record came back for too long: excess requests are dropped
  Instant moved{};       // time at which a record came back, or the first request began to wait
  WaitQueue<Receive> waiting;
};

// In the list of HopCredits while messages wait for a credit.
struct alignas(kNoSharing) PeerPort : ListNode<> {
  PeerNi* peer_ni = nullptr;
  LndLink* links = nullptr;

  // Used on the home.
  std::int32_t tx_credits_max = 0;
  std::int32_t tx_credits_min = 0;
  std::uint32_t outstanding = 0;  // messages that hold, have borrowed or wait for a credit
  std::uint32_t waiting_count = 0;
  std::uint64_t queued_bytes = 0;  // with 72 bytes for each message, as in LNet's reports
  bool starting = false;
  bool releasing = false;
  bool prompt = false;  // it took the last message that ended within kPromptly
  // Used by HopStalls::sweep(): messages to this hop that wait for an NI credit.
  std::uint32_t waits_for_ni = 0;

  // Nearly every port has one link, which lies here beside its port.
  alignas(kCacheLine) LndLink own_link;  // in use: names this port

  Traffic traffic;
  Failures failures;
  // Credits and queue of its messages that are forwarded: each such message reads all of it.
  alignas(kCacheLine) ClientCredits client;
  WaitQueue<Message> waiting;  // used on the home
  // Its share of the buffers as a next hop. A message without payload reads the first line only.
  alignas(kCacheLine) HopShare hop;
  ReceiveShare share;

  // Below 0: messages have borrowed credits or wait for them.
  [[nodiscard]] std::int32_t tx_credits() const {
    return tx_credits_max - static_cast<std::int32_t>(outstanding);
  }
  // Messages that do not wait for a credit.
  [[nodiscard]] std::uint32_t under_way() const {
    PLNET_DEBUG_CHECK(waiting_count <= outstanding, "a message that waits for a credit is counted");
    return outstanding - waiting_count;
  }
  // On the home, before a look at credits: the configuration may have changed their number.
  void follow_credits() {
    if (peer_ni->tx_credits_max.get() != tx_credits_max) [[unlikely]]
      change_credits();
  }
  void change_credits();

  // Fetches the lines that a message to the peer NI reads.
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
  // `peer_nis`: of the node; `ports`: of this shard; `extra_links`: beyond one link for each port;
  // `lane_sets`: links that may have several lanes. Allocates; start-up only.
  PeerPorts(std::size_t peer_nis, std::size_t ports, std::size_t extra_links,
            std::size_t lane_sets);

  [[nodiscard]] PeerPort* find(const PeerNi& peer_ni) const { return of_[peer_ni.number]; }
  // Fetches the cache line that find() reads.
  void prefetch(const PeerNi& peer_ni) const {
    plnet::prefetch(static_cast<const void*>(&of_[peer_ni.number]));
  }
  // Made on first use. Null: all are in use.
  [[nodiscard]] PeerPort* get(PeerNi& peer_ni) {
    PeerPort* const port = find(peer_ni);
    return port != nullptr ? port : make(peer_ni);
  }
  // The port's link for an NI of this node, made on first use. Null: all are in use.
  [[nodiscard]] LndLink* link(PeerPort& port, std::uint16_t ni) {
    LndLink* const first = port.links;
    return first != nullptr && first->ni == ni ? first : search_link(port, ni);
  }
  // Null: there is no link yet.
  [[nodiscard]] LndLink* find_link(const PeerNi& peer_ni, std::uint16_t ni);
  // A lane of the link is up or down. False: no LaneSet is free, and messages use lane 0.
  [[nodiscard]] bool set_lane(LndLink& link, ShardId shard, bool up);
  // Booked bytes have come back. Nothing if the link has lost its lanes.
  void unbook(LndLink& link, ShardId shard, std::uint32_t bytes);
  // The link has lanes.
  [[nodiscard]] LaneSet& lanes(const LndLink& link) {
    PLNET_DEBUG_CHECK(link.lanes != 0, "the link has lanes");
    return lane_sets_.at(link.lanes - 1U);
  }

  // Every PeerLink of the shard is an LndLink, except that of loopback.
  [[nodiscard]] static LndLink& of(PeerLink& link) { return static_cast<LndLink&>(link); }

  // No LND knows the link any more.
  void give_back(LndLink& link);
  // The port has no links, and no message waits for it.
  void give_back(PeerPort& port);

  // The number of links of an NI.
  [[nodiscard]] std::uint32_t links_of(std::uint16_t ni) const {
    PLNET_CHECK(ni < link_counts_.size(), "numbers of NIs are dense");
    return link_counts_[ni];
  }
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
