// SPDX-License-Identifier: BSD-3-Clause
// The common part of the mock LNDs: messages to send, to cancel or to release, connections by their
// sender, and decisions for parked messages.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "tests/mocks/mock_network.hpp"

namespace plnet::mocks {

// Incoming messages of one sender.
struct MockConnection {
  enum class State { kIdle, kParked, kReceiving, kKept };
  lnet::Nid from;
  lnet::PeerLink* link = nullptr;
  State state = State::kIdle;
  bool resumed = false;  // a decision waits for the next flush
  lnet::RxHandle rx;
  lnet::RxDecision decision;
};

// `End` is the LND, `Connection` a MockConnection with its wire.
template <class End, class Connection>
class MockLnd : public lnet::Lnd {
 public:
  using Network = MockNetwork<End>;
  ~MockLnd() override { network_.remove(config_.nid); }

  [[nodiscard]] const lnet::LndTraits& traits() const override { return traits_; }
  void resume(lnet::RxHandle rx, const lnet::RxDecision& decision) override {
    Connection* const one = rx.index < connections_.size() ? connections_[rx.index].get() : nullptr;
    if (one == nullptr || !(one->rx == rx) || one->state != MockConnection::State::kParked ||
        one->resumed) {
      ++stale_resumes_;
      return;
    }
    one->decision = decision;
    one->resumed = true;
  }
  void cancel(lnet::Transmit& transmit) override { cancelled_.push_back(&transmit); }
  void release_peer(lnet::PeerLink& link) override { releasing_.push_back(&link); }
  void shut_down() override { shutting_down_ = true; }
  [[nodiscard]] Instant next_deadline() const override { return Instant::max(); }
  [[nodiscard]] CounterView counters() const override { return {}; }

  [[nodiscard]] unsigned stale_resumes() const { return stale_resumes_; }

 protected:
  MockLnd(const MockLndConfig& config, const lnet::LndTraits& traits, Network& network,
          lnet::LndUpcalls& core)
      : config_(config), traits_(traits), network_(network), core_(core) {}

  [[nodiscard]] Connection& connection_from(const lnet::Nid& from) {
    for (const auto& one : connections_) {
      if (one->from == from) return *one;
    }
    Connection& made = *connections_.emplace_back(std::make_unique<Connection>());
    made.from = from;
    made.rx.index = static_cast<std::uint32_t>(connections_.size() - 1);
    return made;
  }
  [[nodiscard]] bool is_cancelled(const lnet::Transmit& transmit) const {
    return std::ranges::find(cancelled_, &transmit) != cancelled_.end();
  }
  [[nodiscard]] bool is_releasing(const lnet::PeerLink& link) const {
    return std::ranges::find(releasing_, &link) != releasing_.end();
  }
  // The part of the burst with room beside `used`.
  std::size_t queue_up(std::span<lnet::Transmit* const> burst, std::size_t used) {
    if (shutting_down_) return 0;
    const std::size_t room = config_.in_flight_max - std::min(config_.in_flight_max, used);
    const std::size_t count = std::min(burst.size(), room);
    queue_.insert(queue_.end(), burst.begin(), burst.begin() + static_cast<std::ptrdiff_t>(count));
    return count;
  }

  const MockLndConfig config_;
  const lnet::LndTraits traits_;
  Network& network_;
  lnet::LndUpcalls& core_;
  std::deque<lnet::Transmit*> queue_;
  std::vector<lnet::Transmit*> cancelled_;
  std::vector<lnet::PeerLink*> releasing_;
  std::vector<std::unique_ptr<Connection>> connections_;  // of the senders
  unsigned stale_resumes_ = 0;
  bool shutting_down_ = false;
};

}  // namespace plnet::mocks
