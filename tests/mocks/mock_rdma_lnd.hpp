// SPDX-License-Identifier: BSD-3-Clause
// An LND of the RDMA kind without a protocol. A PUT over the inline limit is offered without its
// bytes, which move once the target has decided where to; a GET straight to its target lays the
// sink open, the target's LND writes there (reply_by_lnd), and there is no REPLY message. A
// laid-open sink stays in quarantine after a cancel or timeout until the target has let go of it.
#pragma once

#include <deque>
#include <memory>
#include <vector>

#include "tests/mocks/mock_network.hpp"

namespace plnet::mocks {

class MockRdmaLnd final : public lnet::Lnd {
 public:
  using Network = MockNetwork<MockRdmaLnd>;
  MockRdmaLnd(const MockLndConfig& config, Network& network, lnet::LndUpcalls& core);
  ~MockRdmaLnd() override { network_.remove(config_.nid); }

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

  [[nodiscard]] unsigned stale_resumes() const { return stale_resumes_; }

 private:
  // One message between two ends; both hold it until both are done with it.
  struct Exchange {
    lnet::MessageHeader header;
    std::vector<std::byte> inline_bytes;
    bool bulk_put = false;
    bool open_get = false;
    lnet::Transmit* transmit = nullptr;
    bool offered = false;    // the target's core has seen it: its NIC may know our memory
    bool withdrawn = false;  // the sender has given up
    bool completed = false;  // on_sent() was called
    bool finished = false;   // the target has let go of it
    Result<void> status;
    std::uint32_t moved = 0;
  };
  using Shared = std::shared_ptr<Exchange>;
  enum class RxState { kIdle, kParked, kReceiving };
  struct QueuePair {
    lnet::Nid from;
    lnet::PeerLink* link = nullptr;
    std::deque<Shared> wire;
    RxState state = RxState::kIdle;
    bool resumed = false;
    lnet::RxHandle rx;
    lnet::RxDecision decision;
  };

  QueuePair& queue_pair(const lnet::Nid& from);
  void post(lnet::Transmit& transmit);
  void give_up(Exchange& exchange, Errc cause);
  void collect(Instant now);
  void receive(QueuePair& pair);
  void act(QueuePair& pair);
  void move_bytes(QueuePair& pair, Exchange& exchange);
  void finish(QueuePair& pair, Result<void> status);
  void lose(QueuePair& pair, Errc cause);

  const MockLndConfig config_;
  const lnet::LndTraits traits_;
  Network& network_;
  lnet::LndUpcalls& core_;
  std::deque<lnet::Transmit*> queue_;
  std::vector<Shared> outstanding_;  // ours
  std::vector<lnet::Transmit*> cancelled_;
  std::vector<lnet::PeerLink*> releasing_;
  std::vector<std::unique_ptr<QueuePair>> pairs_;  // theirs
  std::vector<lnet::Completion> ended_;
  unsigned stale_resumes_ = 0;
  bool shutting_down_ = false;
};

}  // namespace plnet::mocks
