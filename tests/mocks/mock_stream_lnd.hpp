// SPDX-License-Identifier: BSD-3-Clause
// An LND of the stream kind without a protocol: one connection per pair, in order; the header comes
// first, the payload in pieces; a parked message holds its connection and, through the window, the
// sender. A GET's sink is not used. Members of a family keep payloads: the first piece is in its
// target, the rest stays here until a member of the family takes it or it must be delivered; until
// then the target's bytes must not be read.
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
  unsigned kept_for = 0;  // in flushes
};

struct MockKept {
  std::uint64_t kept = 0;
  std::uint64_t brought = 0;
  std::uint64_t taken = 0;  // by another member of the family
};

class MockStreamLnd final : public MockLnd<MockStreamLnd, MockStreamConnection>,
                            private lnet::PayloadKeeper {
 public:
  MockStreamLnd(const MockLndConfig& config, Network& network, lnet::LndUpcalls& core);

  std::size_t send(std::span<lnet::Transmit* const> burst) override;
  unsigned flush(Instant now) override;
  [[nodiscard]] bool idle() const override;

  // Breaks the connection: messages on it are lost, except kept ones, which have arrived.
  void break_connection(const lnet::Nid& peer);
  [[nodiscard]] const MockKept& tally() const { return tally_; }

 private:
  using Connection = MockStreamConnection;

  [[nodiscard]] bool transmit(lnet::Transmit& message, Instant now,
                              std::vector<lnet::Completion>& ended);
  void receive(Connection& connection);
  void act(Connection& connection);
  void lose(Connection& connection, Errc cause);

  void keep(Connection& connection);
  [[nodiscard]] Result<void> bring(lnet::RxHandle rx) override;
  [[nodiscard]] const void* family() const override { return config_.family; }
  [[nodiscard]] Connection* keeps(lnet::RxHandle rx) const;
  void finish_kept(Connection& connection);
  // The payload of a message under way, whether kept or not.
  [[nodiscard]] std::vector<std::byte> bytes_of(lnet::Transmit& message);

  MockKept tally_;
};

}  // namespace plnet::mocks
