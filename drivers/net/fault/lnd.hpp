// SPDX-License-Identifier: BSD-3-Clause
// Faults between a core and an LND: an LND for the core and a core for the LND. The table in
// plan.hpp lists the effect of each fault here.
#pragma once

#include "drivers/net/fault/lnd_rx.hpp"
#include "drivers/net/fault/lnd_tx.hpp"
#include "lib/lnet/api/lnd.hpp"

namespace plnet::drivers {

class FaultLnd final : public lnet::Lnd, public lnet::LndUpcalls {
 public:
  // Build the real LND with this as its core, then attach() it. `arenas` is needed by corrupt only.
  FaultLnd(lnet::LndUpcalls& core, Random random, const ArenaTable* arenas)
      : core_(core),
        has_arenas_(arenas != nullptr),
        judge_(Seam::kLnd, random),
        tx_(judge_, core),
        rx_(judge_, core, arenas) {}
  void attach(lnet::Lnd& lower) { lower_ = &lower; }

  [[nodiscard]] Outcome<void> set_plan(const FaultPlan& plan);
  [[nodiscard]] const FaultJudge& judge() const { return judge_; }

  // Lnd: called by the core.
  [[nodiscard]] const lnet::LndTraits& traits() const override { return lower_->traits(); }
  std::size_t send(std::span<lnet::Transmit* const> burst) override;
  void resume(lnet::RxHandle rx, const lnet::RxDecision& decision) override;
  unsigned flush(Instant now) override;
  void cancel(lnet::Transmit& transmit) override;
  void release_peer(lnet::PeerLink& link) override;
  void shut_down() override;
  [[nodiscard]] bool idle() const override;
  [[nodiscard]] std::uint64_t unsent_bytes(Instant since) override {
    return lower_->unsent_bytes(since);
  }
  [[nodiscard]] std::size_t receives_free() const override { return lower_->receives_free(); }
  [[nodiscard]] Instant next_deadline() const override;
  [[nodiscard]] CounterView counters() const override { return judge_.counters(); }

  // LndUpcalls: called by the real LND.
  void on_headers_ahead(std::span<const lnet::HeaderAhead> next) override {
    core_.on_headers_ahead(next);
  }
  lnet::RxDecision on_header(const lnet::RxOffer& offer) override;
  void on_received(lnet::RxHandle rx, Result<void> status, Health health) override;
  void on_sent(std::span<const lnet::Completion> burst) override;
  [[nodiscard]] lnet::KeptPayload kept_payload(const lnet::Transmit& transmit) const override {
    return core_.kept_payload(transmit);
  }
  void on_kept_lost(lnet::RxHandle rx) override { core_.on_kept_lost(rx); }
  void on_parked_gone(lnet::RxHandle rx, Errc cause) override;
  void on_quarantine_over(lnet::Transmit& transmit) override;
  void on_lane(lnet::PeerLink& link, lnet::LaneId lane, bool up, bool bulk) override;
  void on_peer(const lnet::Nid& nid, lnet::PeerNotice notice, Instant when) override;
  void on_unreachable(const lnet::Nid& nid, Errc cause) override;
  void on_peer_released(lnet::PeerLink& link) override;
  void on_interface(lnet::InterfaceState state, Errc cause) override;

 private:
  lnet::LndUpcalls& core_;
  lnet::Lnd* lower_ = nullptr;
  const bool has_arenas_;
  FaultJudge judge_;
  FaultLndTx tx_;
  FaultLndRx rx_;
  Instant now_{};  // of the last flush(): send() and upcalls bring no time
};

}  // namespace plnet::drivers
