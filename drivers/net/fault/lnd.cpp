// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/net/fault/lnd.hpp"

#include <algorithm>

namespace plnet::drivers {

using lnet::PeerLink;
using lnet::RxDecision;
using lnet::RxHandle;
using lnet::Transmit;

Outcome<void> FaultLnd::set_plan(const FaultPlan& plan) {
  for (const FaultRule& rule : plan.view()) {
    if (rule.fault == Fault::kCorrupt && !has_arenas_) {
      return failure(Errc::kInvalid, "fault corrupt: this driver was built without arenas");
    }
  }
  return judge_.set_plan(plan);
}

std::size_t FaultLnd::send(std::span<Transmit* const> burst) {
  return tx_.send(*lower_, burst, now_);
}

void FaultLnd::resume(RxHandle rx, const RxDecision& decision) {
  rx_.resume(*lower_, rx, decision);
}

unsigned FaultLnd::flush(Instant now) {
  now_ = now;
  unsigned work = tx_.flush(*lower_, now);
  work += rx_.flush(*lower_, now);
  return work + lower_->flush(now);
}

void FaultLnd::cancel(Transmit& transmit) {
  tx_.cancel(*lower_, transmit);
}

void FaultLnd::release_peer(PeerLink& link) {
  tx_.release_peer(link);
  lower_->release_peer(link);
}

void FaultLnd::shut_down() {
  tx_.shut_down();
  rx_.shut_down();
  lower_->shut_down();
}

bool FaultLnd::idle() const {
  return tx_.idle() && rx_.idle() && lower_->idle();
}

Instant FaultLnd::next_deadline() const {
  return std::min({tx_.next_deadline(), rx_.next_deadline(), lower_->next_deadline()});
}

RxDecision FaultLnd::on_header(const lnet::RxOffer& offer) {
  return rx_.on_header(offer, now_);
}

void FaultLnd::on_received(RxHandle rx, Result<void> status, Health health) {
  rx_.on_received(rx, status, health);
}

void FaultLnd::on_sent(std::span<const lnet::Completion> burst) {
  tx_.on_sent(burst);
}
void FaultLnd::on_parked_gone(RxHandle rx, Errc cause) {
  rx_.on_parked_gone(rx, cause);
}
void FaultLnd::on_quarantine_over(Transmit& transmit) {
  core_.on_quarantine_over(transmit);
}

void FaultLnd::on_lane(PeerLink& link, lnet::LaneId lane, bool up, bool bulk) {
  core_.on_lane(link, lane, up, bulk);
}

void FaultLnd::on_peer(const lnet::Nid& nid, lnet::PeerNotice notice, Instant when) {
  core_.on_peer(nid, notice, when);
}

void FaultLnd::on_unreachable(const lnet::Nid& nid, Errc cause) {
  core_.on_unreachable(nid, cause);
}

// All messages to this peer that are still held, also those sent after release_peer(), end first.
void FaultLnd::on_peer_released(PeerLink& link) {
  tx_.release_peer(link);
  tx_.end_failed(now_);
  rx_.forget(&link, Errc::kShutdown);
  core_.on_peer_released(link);
}

void FaultLnd::on_interface(lnet::InterfaceState state, Errc cause) {
  core_.on_interface(state, cause);
}

}  // namespace plnet::drivers
