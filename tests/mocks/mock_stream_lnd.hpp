// SPDX-License-Identifier: BSD-3-Clause
// An LND of the stream kind without a protocol: one connection per pair, in order; the header comes
// first, the payload in pieces; a parked message holds its connection and, through the window, the
// sender. A GET's sink is left alone.
#pragma once

#include <deque>
#include <memory>
#include <vector>

#include "tests/mocks/mock_network.hpp"

namespace plnet::mocks {

class MockStreamLnd final : public lnet::Lnd {
 public:
  using Network = MockNetwork<MockStreamLnd>;
  MockStreamLnd(const MockLndConfig& config, Network& network, lnet::LndUpcalls& core);
  ~MockStreamLnd() override { network_.remove(config_.nid); }

  [[nodiscard]] const lnet::LndTraits& traits() const override { return traits_; }
  std::size_t send(std::span<lnet::Transmit* const> burst) override;
  void resume(lnet::RxHandle rx, const lnet::RxDecision& decision) override;
  unsigned flush(Instant now) override;
  void cancel(lnet::Transmit& transmit) override;
  void release_peer(lnet::PeerLink& link) override;
  void shut_down() override { shutting_down_ = true; }
  [[nodiscard]] bool idle() const override;
  [[nodiscard]] Instant next_deadline() const override { return Instant::max(); }
  [[nodiscard]] CounterView counters() const override { return {}; }

  // The connection breaks: what is on it is lost.
  void break_connection(const lnet::Nid& peer);
  [[nodiscard]] unsigned stale_resumes() const { return stale_resumes_; }

 private:
  struct Message {
    lnet::MessageHeader header;
    std::vector<std::byte> bytes;
  };
  enum class RxState { kIdle, kParked, kReceiving };
  struct Inbound {
    lnet::Nid from;
    lnet::PeerLink* link = nullptr;
    std::deque<Message> wire;
    RxState state = RxState::kIdle;
    bool resumed = false;  // a decision waits for the next flush
    lnet::RxHandle rx;
    lnet::RxDecision decision;
    std::uint32_t done = 0;
  };

  Inbound& inbound(const lnet::Nid& from);
  bool transmit(lnet::Transmit& message, Instant now, std::vector<lnet::Completion>& ended);
  void receive(Inbound& connection);
  void act(Inbound& connection);
  void lose(Inbound& connection, Errc cause);

  const MockLndConfig config_;
  const lnet::LndTraits traits_;
  Network& network_;
  lnet::LndUpcalls& core_;
  std::deque<lnet::Transmit*> queue_;
  std::vector<lnet::Transmit*> cancelled_;
  std::vector<lnet::PeerLink*> releasing_;
  std::vector<std::unique_ptr<Inbound>> inbound_;
  unsigned stale_resumes_ = 0;
  bool shutting_down_ = false;
};

}  // namespace plnet::mocks
