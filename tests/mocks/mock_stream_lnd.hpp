// SPDX-License-Identifier: BSD-3-Clause
// An LND of the stream kind without a protocol: one connection per pair, in order; the header comes
// first, the payload in pieces; a parked message holds its connection and, through the window, the
// sender. A GET's sink is left alone.
#pragma once

#include <deque>
#include <vector>

#include "tests/mocks/mock_lnd.hpp"

namespace plnet::mocks {

struct MockStreamConnection : MockConnection {
  struct Message {
    lnet::MessageHeader header;
    std::vector<std::byte> bytes;
  };
  std::deque<Message> wire;
  std::uint32_t done = 0;
};

class MockStreamLnd final : public MockLnd<MockStreamLnd, MockStreamConnection> {
 public:
  MockStreamLnd(const MockLndConfig& config, Network& network, lnet::LndUpcalls& core);

  std::size_t send(std::span<lnet::Transmit* const> burst) override;
  unsigned flush(Instant now) override;
  [[nodiscard]] bool idle() const override;

  // The connection breaks: what is on it is lost.
  void break_connection(const lnet::Nid& peer);

 private:
  using Connection = MockStreamConnection;

  [[nodiscard]] bool transmit(lnet::Transmit& message, Instant now,
                              std::vector<lnet::Completion>& ended);
  void receive(Connection& connection);
  void act(Connection& connection);
  void lose(Connection& connection, Errc cause);
};

}  // namespace plnet::mocks
