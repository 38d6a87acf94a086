// SPDX-License-Identifier: BSD-3-Clause
// An LND as seen by the core, combined with the tap of its upcalls: the tap also sees messages from
// the core and its decisions about parked messages.
#pragma once

#include <memory>
#include <utility>

#include "apps/lnet-sim/host/tap.hpp"
#include "lib/lnet/api/lnd.hpp"

namespace plnet::sim {

class TappedLnd final : public lnet::Lnd {
 public:
  TappedLnd(std::unique_ptr<lnet::Lnd> lnd, Tap& tap) : lnd_(std::move(lnd)), tap_(tap) {}

  [[nodiscard]] const lnet::LndTraits& traits() const override { return lnd_->traits(); }
  std::size_t send(std::span<lnet::Transmit* const> burst) override {
    const std::size_t taken = lnd_->send(burst);
    for (const lnet::Transmit* const transmit : burst.first(taken))
      tap_.handed(*transmit);
    return taken;
  }
  void resume(lnet::RxHandle rx, const lnet::RxDecision& decision) override {
    tap_.decided(rx, decision);
    lnd_->resume(rx, decision);
  }
  unsigned flush(Instant now) override { return lnd_->flush(now); }
  void cancel(lnet::Transmit& transmit) override { lnd_->cancel(transmit); }
  void release_peer(lnet::PeerLink& link) override { lnd_->release_peer(link); }
  void shut_down() override { lnd_->shut_down(); }
  [[nodiscard]] bool idle() const override { return lnd_->idle(); }
  [[nodiscard]] std::uint64_t unsent_bytes(Instant since) override {
    return lnd_->unsent_bytes(since);
  }
  [[nodiscard]] std::size_t receives_free() const override { return lnd_->receives_free(); }
  [[nodiscard]] Instant next_deadline() const override { return lnd_->next_deadline(); }
  [[nodiscard]] CounterView counters() const override { return lnd_->counters(); }

 private:
  std::unique_ptr<lnet::Lnd> lnd_;
  Tap& tap_;
};

}  // namespace plnet::sim
