// SPDX-License-Identifier: BSD-3-Clause
// An LND of the RDMA kind without a protocol. A PUT over the inline limit is offered without its
// bytes, which move after the target's decision. A GET exposes its sink, the target's LND writes
// there (reply_by_lnd), and there is no REPLY message. An exposed sink stays in quarantine after a
// cancel or timeout until the target has released it.
#pragma once

#include <deque>
#include <memory>
#include <vector>

#include "tests/mocks/mock_lnd.hpp"

namespace plnet::mocks {

// One message between two ends; both hold it until both have finished.
struct MockExchange {
  lnet::MessageHeader header;
  std::vector<std::byte> inline_bytes;
  bool bulk_put = false;
  bool open_get = false;
  lnet::Transmit* transmit = nullptr;
  bool offered = false;    // the target's core has seen it: its NIC may access our memory
  bool withdrawn = false;  // the sender has given up
  bool completed = false;  // on_sent() was called
  bool finished = false;   // the target has released it
  Result<void> status;
  std::uint32_t moved = 0;
};

struct MockQueuePair : MockConnection {
  std::deque<std::shared_ptr<MockExchange>> wire;
};

class MockRdmaLnd final : public MockLnd<MockRdmaLnd, MockQueuePair> {
 public:
  MockRdmaLnd(const MockLndConfig& config, Network& network, lnet::LndUpcalls& core);

  std::size_t send(std::span<lnet::Transmit* const> burst) override;
  unsigned flush(Instant now) override;
  [[nodiscard]] bool idle() const override;

 private:
  using Exchange = MockExchange;
  using Shared = std::shared_ptr<MockExchange>;
  using QueuePair = MockQueuePair;

  void post(lnet::Transmit& transmit);
  void give_up(Exchange& exchange, Errc cause);
  void collect(Instant now);
  void receive(QueuePair& pair);
  void act(QueuePair& pair);
  void move_bytes(QueuePair& pair, Exchange& exchange);
  void finish(QueuePair& pair, Result<void> status);
  void lose(QueuePair& pair, Errc cause);

  std::vector<Shared> outstanding_;  // of our messages
  std::vector<lnet::Completion> ended_;
};

}  // namespace plnet::mocks
