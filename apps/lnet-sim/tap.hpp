// SPDX-License-Identifier: BSD-3-Clause
// Between an LND and the core: sees every message that comes up and every end of one that went
// down. Counts them, and notices which of the ways across shards a run has taken.
#pragma once

#include <cstdint>
#include <memory>

#include "apps/lnet-sim/drain_watch.hpp"
#include "apps/lnet-sim/relay_memory.hpp"
#include "lib/lnet/lnd.hpp"
#include "lib/lnet/match/wire_handle.hpp"

namespace plnet::sim {

struct WireTally {
  std::uint64_t offered = 0;
  std::uint64_t received = 0;  // well
  std::uint64_t receive_failed = 0;
  std::uint64_t kept = 0;  // of those received: left in the network's hands at first
  std::uint64_t dropped = 0;
  std::uint64_t rejected = 0;
  std::uint64_t parked = 0;
  std::uint64_t gone = 0;
  std::uint64_t sent = 0;  // well
  std::uint64_t send_failed = 0;
  std::uint64_t quarantined = 0;
  std::uint64_t released = 0;     // from quarantine
  std::uint64_t answer_away = 0;  // ACK or REPLY came to another shard than its MD's
  std::uint64_t second_nid = 0;   // to or from another NID than a node's first
  std::uint64_t relayed = 0;      // sent well, for others
  std::uint64_t relayed_twice = 0;
};

class Tap final : public lnet::LndUpcalls {
 public:
  // Whose it is.
  struct Place {
    std::uint32_t node = 0;
    lnet::ShardId shard = 0;
    std::uint64_t cookie = 0;
    bool second = false;  // not of its first NID
  };

  Tap(lnet::LndUpcalls& above, WireTally& tally, RelayMemory& relays, DrainWatch& drains,
      const Place& place)
      : above_(above), tally_(tally), relays_(relays), drains_(drains), place_(place) {}

  lnet::RxDecision on_header(const lnet::RxOffer& offer) override {
    ++tally_.offered;
    if (place_.second) ++tally_.second_nid;
    look_at_answer(offer.header);
    const lnet::RxDecision decision = above_.on_header(offer);
    switch (decision.verdict) {
      case lnet::RxVerdict::kReceive: break;
      case lnet::RxVerdict::kDrop:
        ++tally_.dropped;
        drains_.refused(place_.node, offer.from, offer.header);
        break;
      case lnet::RxVerdict::kReject: ++tally_.rejected; break;
      case lnet::RxVerdict::kPark: ++tally_.parked; break;
    }
    return decision;
  }
  void on_received(lnet::RxHandle rx, Result<void> status, Health health) override {
    ++(status ? tally_.received : tally_.receive_failed);
    above_.on_received(rx, status, health);
  }
  void on_kept(lnet::RxHandle rx, lnet::PayloadKeeper& keeper) override {
    ++tally_.received;
    ++tally_.kept;
    above_.on_kept(rx, keeper);
  }
  [[nodiscard]] lnet::KeptPayload kept_payload(const lnet::Transmit& transmit) const override {
    return above_.kept_payload(transmit);
  }
  void on_sent(std::span<const lnet::Completion> burst) override {
    for (const lnet::Completion& completion : burst) {
      ++(completion.status ? tally_.sent : tally_.send_failed);
      if (completion.quarantined) ++tally_.quarantined;
      if (!completion.status) {
        const lnet::Transmit& transmit = *completion.transmit;
        drains_.lost_on_the_way(place_.node, transmit.next_hop->nid, transmit.header);
      }
      if (completion.status && completion.transmit->routed) {
        ++tally_.relayed;
        if (!relays_.note(completion.transmit->header)) ++tally_.relayed_twice;
      }
    }
    above_.on_sent(burst);
  }
  void on_parked_gone(lnet::RxHandle rx, Errc cause) override {
    ++tally_.gone;
    above_.on_parked_gone(rx, cause);
  }
  void on_quarantine_over(lnet::Transmit& transmit) override {
    ++tally_.released;
    above_.on_quarantine_over(transmit);
  }
  void on_lane(lnet::PeerLink& link, lnet::LaneId lane, bool up, bool bulk) override {
    above_.on_lane(link, lane, up, bulk);
  }
  void on_peer(const lnet::Nid& nid, lnet::PeerNotice notice, Instant when) override {
    above_.on_peer(nid, notice, when);
  }
  void on_peer_released(lnet::PeerLink& link) override { above_.on_peer_released(link); }
  void on_interface(lnet::InterfaceState state, Errc cause) override {
    above_.on_interface(state, cause);
  }

 private:
  void look_at_answer(const lnet::MessageHeader& header) {
    lnet::WireHandle handle;
    if (header.type == lnet::MessageType::kAck) {
      handle = header.area<lnet::AckArea>().destination;
    } else if (header.type == lnet::MessageType::kReply) {
      handle = header.area<lnet::ReplyArea>().destination;
    } else {
      return;
    }
    const auto md = lnet::decode_handle(handle, place_.cookie);
    if (md && md->shard != place_.shard) ++tally_.answer_away;
  }

  lnet::LndUpcalls& above_;
  WireTally& tally_;
  RelayMemory& relays_;
  DrainWatch& drains_;
  const Place place_;
};

}  // namespace plnet::sim
