// SPDX-License-Identifier: BSD-3-Clause
#include "apps/lnet-sim/host/tap.hpp"

#include "apps/lnet-sim/plan/layout.hpp"
#include "lib/lnet/match/wire_handle.hpp"

namespace plnet::sim {

using namespace lnet;

// --- Messages that arrive ---

RxDecision Tap::on_header(const RxOffer& offer) {
  WireTally& wire = books_.wire;
  ++wire.offered;
  if (place_.second) ++wire.second_nid;
  look_at_answer(offer.header);
  OpenReceive receive{.live = true,
                      .for_others = Layout::node_of(offer.header.destination) != place_.node,
                      .from = offer.from,
                      .destination = offer.header.destination,
                      .operation = books_.trails.operation_of(offer.header)};
  ++books_.life.all.offered;
  if (receive.for_others) ++books_.life.of_others.offered;
  books_.trails.arrived(receive.operation, place_.node);
  const RxHandle rx = offer.rx;
  const RxDecision decision = above_.on_header(offer);
  switch (decision.verdict) {
    case RxVerdict::kReceive: open_.open(rx, receive); break;
    case RxVerdict::kPark:
      ++wire.parked;
      receive.parked = true;
      open_.open(rx, receive);
      break;
    case RxVerdict::kDrop:
    case RxVerdict::kReject: refuse(receive, decision.verdict); break;
  }
  return decision;
}

void Tap::decided(RxHandle rx, const RxDecision& decision) {
  OpenReceive* const receive = open_.find(rx);
  if (receive == nullptr || !receive->parked) return;  // ended meanwhile
  receive->parked = false;
  if (decision.verdict != RxVerdict::kReceive) refuse(*receive, decision.verdict);
}

void Tap::refuse(OpenReceive& receive, RxVerdict verdict) {
  const bool rejected = verdict == RxVerdict::kReject;
  ++(rejected ? books_.wire.rejected : books_.wire.dropped);
  if (!rejected && receive.for_others)
    books_.drains.refused(place_.node, receive.from, receive.destination);
  end(receive, rejected ? &ReceiveTally::rejected : &ReceiveTally::dropped);
}

// A received message has not reached its end yet; all others end with a counter.
void Tap::end(OpenReceive& receive, Ends how) {
  receive.live = false;
  ++(books_.life.all.*how);
  if (receive.for_others) ++(books_.life.of_others.*how);
  if (how != &ReceiveTally::received) books_.trails.ended(receive.operation, place_.node);
}

void Tap::on_received(RxHandle rx, Result<void> status, Health health) {
  ++(status ? books_.wire.received : books_.wire.receive_failed);
  end(rx, status ? &ReceiveTally::received : &ReceiveTally::failed);
  above_.on_received(rx, status, health);
}

void Tap::on_kept(RxHandle rx, PayloadKeeper& keeper) {
  ++books_.wire.received;
  ++books_.wire.kept;
  end(rx, &ReceiveTally::received);
  above_.on_kept(rx, keeper);
}

void Tap::on_parked_gone(RxHandle rx, Errc cause) {
  ++books_.wire.gone;
  end(rx, &ReceiveTally::gone);
  above_.on_parked_gone(rx, cause);
}

void Tap::look_at_answer(const MessageHeader& header) {
  if (header.type != MessageType::kAck && header.type != MessageType::kReply) return;
  const auto md = decode_handle(handle_of(header), place_.cookie);
  if (md && md->shard != place_.shard) ++books_.wire.answer_away;
}

// --- Messages that leave ---

void Tap::handed(const Transmit& transmit) {
  const Nid& hop = transmit.next_hop->nid;
  books_.trails.handed(books_.trails.operation_of(transmit.header), place_.node, hop,
                       books_.loop.now());
}

void Tap::on_sent(std::span<const Completion> burst) {
  WireTally& wire = books_.wire;
  for (const Completion& completion : burst) {
    const Transmit& transmit = *completion.transmit;
    ++(completion.status ? wire.sent : wire.send_failed);
    if (completion.quarantined) ++wire.quarantined;
    books_.drains.sent(place_.node, transmit.next_hop->nid, transmit.header);
    books_.trails.sent(books_.trails.operation_of(transmit.header), place_.node,
                       completion.status.has_value(), books_.loop.now());
    if (!completion.status && transmit.routed) books_.trails.relay_failed(place_.node);
    if (completion.status && transmit.routed) {
      ++wire.relayed;
      ++books_.life.relayed;
      books_.life.relayed_bytes += transmit.header.payload_length;
      if (!books_.relays.note(transmit.header)) ++wire.relayed_twice;
    }
  }
  above_.on_sent(burst);
}

void Tap::on_peer(const Nid& nid, PeerNotice notice, Instant when) {
  if (notice == PeerNotice::kLost || notice == PeerNotice::kDown)
    books_.trails.parted(place_.node, Layout::node_of(nid), books_.loop.now());
  above_.on_peer(nid, notice, when);
}

}  // namespace plnet::sim
