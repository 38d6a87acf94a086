// SPDX-License-Identifier: BSD-3-Clause
// A core without LNet: enough to drive any lnet::Lnd and to check it against the contract in
// lnd.hpp. It PUTs and GETs, answers received messages (ACK, REPLY), drops and parks at random, and
// records every breach of the contract. Payload bytes are a pattern that identifies their message,
// so misplaced bytes are found. Allocates freely, since it is only for tests.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "lib/base/random.hpp"
#include "lib/lnet/api/lnd.hpp"

namespace plnet::mocks {

struct FakeCoreConfig {
  lnet::Nid nid;
  const ArenaTable* arenas = nullptr;
  BufferAddress memory;  // its own piece of an arena, `memory_bytes` long
  std::uint64_t memory_bytes = 0;
  std::uint64_t seed = 1;
  unsigned park_percent = 0;
  unsigned drop_percent = 0;
  unsigned park_turns_max = 3;
  std::size_t burst = 16;
  std::uint32_t payload_max = 1U << 20U;  // messages with a greater length are rejected
  bool check_bytes = true;  // false: the network invents bytes, or damages them on purpose
};

struct FakeCoreTally {
  std::uint64_t accepted = 0, sent = 0, failed = 0, cancelled = 0, quarantined = 0;
  std::uint64_t puts = 0, gets = 0, acks = 0, replies = 0;  // received whole
  std::uint64_t replies_placed = 0, served_by_lnd = 0;      // GETs without a REPLY message
  std::uint64_t dropped = 0, parked = 0, parked_gone = 0, receive_failures = 0, wrong_bytes = 0;
  std::uint64_t peers_released = 0, duplicates = 0;

  friend bool operator==(const FakeCoreTally&, const FakeCoreTally&) = default;
};

class FakeCore final : public lnet::LndUpcalls {
 public:
  explicit FakeCore(const FakeCoreConfig& config);
  ~FakeCore() override;
  FakeCore(const FakeCore&) = delete;
  FakeCore& operator=(const FakeCore&) = delete;
  void attach(lnet::Lnd& lnd) { lnd_ = &lnd; }

  // Queue one message; the next turn() offers it. The returned Transmit lives as long as the core.
  lnet::Transmit& put(const lnet::Nid& to, std::uint32_t length, bool ack,
                      Instant deadline = Instant::max());
  lnet::Transmit& get(const lnet::Nid& to, std::uint32_t length, Instant deadline = Instant::max());
  void cancel(lnet::Transmit& transmit);
  void release_peer(const lnet::Nid& nid);
  void resume_all();  // answers every parked message now

  // One turn: resume, send, flush. Returns pieces of work.
  unsigned turn(Instant now);

  // No sent or received message is incomplete.
  [[nodiscard]] bool settled() const;
  [[nodiscard]] const std::vector<std::string>& breaches() const { return breaches_; }
  [[nodiscard]] const FakeCoreTally& tally() const { return tally_; }
  [[nodiscard]] const std::vector<lnet::Completion>& completions() const { return completions_; }
  // Match bits of the PUTs received, in order.
  [[nodiscard]] const std::vector<std::uint64_t>& order() const { return order_; }
  [[nodiscard]] const std::vector<lnet::InterfaceState>& interface_states() const {
    return interface_states_;
  }
  // Notices about all peers, in order.
  [[nodiscard]] const std::vector<lnet::PeerNotice>& notices() const { return notices_; }
  [[nodiscard]] const std::vector<Errc>& troubles() const { return troubles_; }
  [[nodiscard]] lnet::PeerLink& link(const lnet::Nid& nid);

  lnet::RxDecision on_header(const lnet::RxOffer& offer) override;
  void on_received(lnet::RxHandle rx, Result<void> status, Health health) override;
  void on_sent(std::span<const lnet::Completion> burst) override;
  void on_parked_gone(lnet::RxHandle rx, Errc cause) override;
  void on_quarantine_over(lnet::Transmit& transmit) override;
  void on_lane(lnet::PeerLink& link, lnet::LaneId lane, bool up, bool bulk) override;
  void on_peer(const lnet::Nid& nid, lnet::PeerNotice notice, Instant when) override;
  void on_unreachable(const lnet::Nid& nid, Errc cause) override;
  void on_peer_released(lnet::PeerLink& link) override;
  void on_interface(lnet::InterfaceState state, Errc cause) override;

 private:
  struct Operation;
  struct Receive;

  Operation& begin(const lnet::Nid& to, lnet::MessageType type);
  void answer(const Receive& receive);
  // The own message that this answers; nullptr: none.
  [[nodiscard]] Operation* asked(const lnet::MessageHeader& answer) const;
  lnet::RxDecision decide(Receive& receive);
  lnet::Payload place(std::uint32_t length);
  void fill(const lnet::Payload& payload, std::uint64_t bits);
  void verify(const lnet::Payload& payload, std::uint64_t bits);
  void breach(const std::string& what);
  void resume_due(bool all);
  static std::uint64_t key(lnet::RxHandle rx) {
    return static_cast<std::uint64_t>(rx.index) << 32 | rx.generation;
  }

  const FakeCoreConfig config_;
  lnet::Lnd* lnd_ = nullptr;
  Random random_;
  std::uint64_t used_bytes_ = 0;
  std::uint64_t next_bits_ = 1;
  bool in_send_ = false;
  bool in_resume_ = false;

  std::deque<std::unique_ptr<Operation>> operations_;
  std::map<const lnet::Transmit*, Operation*> by_transmit_;
  std::map<std::uint64_t, Operation*> by_bits_;
  std::deque<lnet::Transmit*> to_send_;
  std::map<std::uint64_t, std::unique_ptr<Receive>> receives_;
  std::map<std::uint64_t, std::unique_ptr<lnet::PeerLink>> links_;
  std::set<const lnet::PeerLink*> releasing_;
  std::deque<std::array<Fragment, 2>> fragments_;  // addresses of elements stay

  std::vector<std::string> breaches_;
  std::vector<lnet::Completion> completions_;
  std::vector<std::uint64_t> order_;
  std::vector<lnet::InterfaceState> interface_states_;
  std::vector<lnet::PeerNotice> notices_;
  std::vector<Errc> troubles_;  // of peers
  FakeCoreTally tally_;
};

}  // namespace plnet::mocks
