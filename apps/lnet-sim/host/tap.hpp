// SPDX-License-Identifier: BSD-3-Clause
// Between an LND and the core: observes every incoming message, the decision about it and its end,
// and every outgoing message and its end. Counts them, and notes which of the paths between shards
// a run has used.
#pragma once

#include <cstdint>
#include <span>

#include "apps/lnet-sim/books/drain_watch.hpp"
#include "apps/lnet-sim/books/open_receives.hpp"
#include "apps/lnet-sim/books/relay_memory.hpp"
#include "apps/lnet-sim/books/relay_tally.hpp"
#include "apps/lnet-sim/host/trails.hpp"
#include "drivers/net/sim/event_loop.hpp"
#include "lib/lnet/api/lnd.hpp"

namespace plnet::sim {

struct WireTally {
  std::uint64_t offered = 0;
  std::uint64_t received = 0;  // successfully
  std::uint64_t receive_failed = 0;
  std::uint64_t kept = 0;     // of those received: first left in the network's buffers
  std::uint64_t dropped = 0;  // at once, or after they were parked
  std::uint64_t rejected = 0;
  std::uint64_t parked = 0;
  std::uint64_t gone = 0;
  std::uint64_t sent = 0;  // successfully
  std::uint64_t send_failed = 0;
  std::uint64_t quarantined = 0;
  std::uint64_t released = 0;     // from quarantine
  std::uint64_t answer_away = 0;  // ACK or REPLY arrived on another shard than that of its MD
  std::uint64_t second_nid = 0;   // to or from another NID than a node's first
  std::uint64_t relayed = 0;      // sent successfully, for other nodes
  std::uint64_t relayed_twice = 0;
};

class Tap final : public lnet::LndUpcalls {
 public:
  // The node and interface of a tap.
  struct Place {
    std::uint32_t node = 0;
    lnet::ShardId shard = 0;
    std::uint64_t cookie = 0;
    bool second = false;             // not of its first NID
    std::size_t receives_usual = 0;  // open at the same time
  };
  // The counts that it updates: of the whole site and of the node's incarnation.
  struct Books {
    WireTally& wire;
    RelayTally& life;
    RelayMemory& relays;
    DrainWatch& drains;
    Trails& trails;
    const drivers::EventLoop& loop;
  };

  Tap(lnet::LndUpcalls& above, const Books& books, const Place& place)
      : above_(above), books_(books), place_(place), open_(place.receives_usual) {}

  // --- Downwards ---
  void handed(const lnet::Transmit& transmit);
  void decided(lnet::RxHandle rx, const lnet::RxDecision& decision);

  // --- Upwards ---
  lnet::RxDecision on_header(const lnet::RxOffer& offer) override;
  void on_headers_ahead(std::span<const lnet::HeaderAhead> next) override {
    above_.on_headers_ahead(next);
  }
  void on_received(lnet::RxHandle rx, Result<void> status, Health health) override;
  void on_kept(lnet::RxHandle rx, lnet::PayloadKeeper& keeper) override;
  void on_kept_lost(lnet::RxHandle rx) override { above_.on_kept_lost(rx); }
  [[nodiscard]] lnet::KeptPayload kept_payload(const lnet::Transmit& transmit) const override {
    return above_.kept_payload(transmit);
  }
  void on_sent(std::span<const lnet::Completion> burst) override;
  void on_parked_gone(lnet::RxHandle rx, Errc cause) override;
  void on_quarantine_over(lnet::Transmit& transmit) override {
    ++books_.wire.released;
    above_.on_quarantine_over(transmit);
  }
  void on_lane(lnet::PeerLink& link, lnet::LaneId lane, bool up, bool bulk) override {
    above_.on_lane(link, lane, up, bulk);
  }
  void on_peer(const lnet::Nid& nid, lnet::PeerNotice notice, Instant when) override;
  void on_unreachable(const lnet::Nid& nid, Errc cause) override {
    above_.on_unreachable(nid, cause);
  }
  void on_peer_released(lnet::PeerLink& link) override { above_.on_peer_released(link); }
  void on_interface(lnet::InterfaceState state, Errc cause) override {
    above_.on_interface(state, cause);
  }

 private:
  using Ends = std::uint64_t ReceiveTally::*;

  void look_at_answer(const lnet::MessageHeader& header);
  void end(OpenReceive& receive, Ends how);
  void end(lnet::RxHandle rx, Ends how) {
    if (OpenReceive* const receive = open_.find(rx)) end(*receive, how);
  }
  void refuse(OpenReceive& receive, lnet::RxVerdict verdict);

  lnet::LndUpcalls& above_;
  const Books books_;
  const Place place_;
  OpenReceives open_;
};

}  // namespace plnet::sim
