// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/net/null/rx.hpp"

#include "lib/base/check.hpp"

namespace plnet::drivers {

using Id = NullTable::Id;
using lnet::RxVerdict;

void NullRx::offer(NullPeer& peer, const lnet::MessageHeader& header) {
  PLNET_CHECK(!blocked(peer), "an offer must not overtake a parked one");
  const lnet::RxHandle rx{peers_.index_of(peer), ++peer.generation};
  peer.payload_length = header.payload_length;
  const lnet::RxDecision decision =
      core_.on_header({.header = header, .from = peer.nid, .link = peer.link, .rx = rx});
  PLNET_DEBUG_CHECK(is_sound(decision), "a decision of the core is complete");
  if (decision.link != nullptr && peer.link == nullptr) {
    peer.link = decision.link;
    peer.link->lnd_peer = &peer;
  }
  if (decision.verdict == RxVerdict::kPark) {
    peer.rx_state = NullRxState::kParked;
    stats_.add(Id::kParked);
    return;
  }
  carry_out(peer, rx, decision);
}

NullPeer* NullRx::resume(lnet::RxHandle rx, const lnet::RxDecision& decision) {
  PLNET_CHECK(decision.verdict != RxVerdict::kPark, "a parked message cannot be parked again");
  PLNET_DEBUG_CHECK(is_sound(decision), "a decision of the core is complete");
  if (rx.index >= peers_.capacity() || peers_.at(rx.index).generation != rx.generation ||
      peers_.at(rx.index).rx_state != NullRxState::kParked) {
    stats_.add(Id::kStaleResumes);
    return nullptr;
  }
  NullPeer& peer = peers_.at(rx.index);
  peer.rx_state = NullRxState::kResumed;
  peer.decision = decision;
  return &peer;
}

void NullRx::conclude(NullPeer& peer) {
  PLNET_CHECK(peer.rx_state == NullRxState::kResumed, "nothing to conclude");
  const lnet::RxDecision decision = peer.decision;
  peer.rx_state = NullRxState::kFree;
  if (decision.link != nullptr && peer.link == nullptr && !peer.closing) {
    peer.link = decision.link;
    peer.link->lnd_peer = &peer;
  }
  carry_out(peer, {peers_.index_of(peer), peer.generation}, decision);
}

void NullRx::abandon(NullPeer& peer, Errc cause) {
  if (!blocked(peer)) return;
  // A decision that has come but was not run yet still ends the message: as failed.
  const bool resumed = peer.rx_state == NullRxState::kResumed;
  const lnet::RxHandle rx{peers_.index_of(peer), peer.generation};
  peer.rx_state = NullRxState::kFree;
  stats_.add(Id::kParkedGone);
  if (!resumed) {
    core_.on_parked_gone(rx, cause);
  } else if (peer.decision.verdict == RxVerdict::kReceive) {
    core_.on_received(rx, std::unexpected(cause), health_of(cause));
  }
}

inline void NullRx::carry_out(NullPeer& peer, lnet::RxHandle rx, const lnet::RxDecision& decision) {
  switch (decision.verdict) {
    case RxVerdict::kReceive:
      PLNET_CHECK(decision.length <= peer.payload_length, "more wanted than the message has");
      if (peer.answers_ping) {
        memory_.write(decision.target, std::span(peer.ping).first(decision.length));
      } else {
        memory_.fill(decision.target, decision.length);
      }
      stats_.add(Id::kReceived);
      stats_.add(Id::kReceivedBytes, decision.length);
      core_.on_received(rx, {}, Health::kOk);
      break;
    case RxVerdict::kDrop: stats_.add(Id::kDropped); break;
    case RxVerdict::kReject:
      // There is no connection to close; the next message finds a new one.
      stats_.add(Id::kRejected);
      break;
    case RxVerdict::kPark: break;
  }
}

}  // namespace plnet::drivers
