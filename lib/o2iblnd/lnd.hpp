// SPDX-License-Identifier: BSD-3-Clause
// The o2ib LND of one interface on one shard: an lnet::Lnd over reliable queue pairs. Sans-IO: it
// only speaks to its driver and its core. lustre-release lnet/klnds/o2iblnd.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "lib/o2iblnd/connections.hpp"
#include "lib/o2iblnd/environment.hpp"
#include "lib/o2iblnd/facts.hpp"
#include "lib/o2iblnd/handshakes.hpp"
#include "lib/o2iblnd/peers.hpp"
#include "lib/o2iblnd/receives.hpp"
#include "lib/o2iblnd/sends.hpp"

namespace plnet::o2iblnd {

class O2ibLnd : public lnet::Lnd, public VerbsEvents {
 public:
  // `core`, `driver` and the configuration's parts outlive it.
  O2ibLnd(const O2ibLndConfig& config, lnet::LndUpcalls& core, VerbsDriver& driver);
  ~O2ibLnd() override;

  // Cold. Requests to connect are received from here on. Fails as the driver's listen() does.
  [[nodiscard]] Result<void> listen();

  [[nodiscard]] const lnet::LndTraits& traits() const override { return traits_; }
  std::size_t send(std::span<lnet::Transmit* const> burst) override;
  void resume(lnet::RxHandle rx, const lnet::RxDecision& decision) override;
  unsigned flush(Instant now) override;
  void cancel(lnet::Transmit& transmit) override;
  void release_peer(lnet::PeerLink& link) override;
  void shut_down() override;
  [[nodiscard]] bool idle() const override;
  [[nodiscard]] Instant next_deadline() const override;
  [[nodiscard]] CounterView counters() const override { return environment_.counters.view(); }

  void on_completions(std::span<const WorkCompletion> burst) override;
  void on_connect_request(QueuePairId request, const Ipv4Endpoint& from, const Ipv4Endpoint& to,
                          std::span<const std::byte> data) override;
  void on_established(QueuePairId id, std::span<const std::byte> accept_data) override;
  void on_rejected(QueuePairId id, RejectKind kind, std::span<const std::byte> data) override;
  void on_disconnected(QueuePairId id, Errc cause) override;
  void on_drained(QueuePairId id) override;
  void on_device(bool usable, Errc cause) override;

  // Handles a word about a connection on another shard than its peer's home, from
  // LaneEnd::collect(), for the interface that the lane names. Called like an event of the driver.
  void on_lane_note(const LaneNote& note);

  // Other values of those that change live; the rest has to be as before. Between two turns.
  void set_tunables(const Tunables& tunables);

  [[nodiscard]] std::uint64_t count(O2ibCounters::Id id) const {
    return environment_.counters.get(id);
  }
  // For reports, slot by slot; nothing of an empty slot.
  [[nodiscard]] InterfaceFacts interface_facts() const;
  [[nodiscard]] std::uint32_t peer_slots() const { return peers_.slots(); }
  [[nodiscard]] std::optional<PeerFacts> peer_facts(std::uint32_t slot, Instant now) const;
  [[nodiscard]] std::uint32_t connection_slots() const { return connections_.slots(); }
  [[nodiscard]] std::optional<ConnectionFacts> connection_facts(std::uint32_t slot,
                                                                Instant now) const;

 private:
  using Id = O2ibCounters::Id;

  // Each connection and peer is looked at once in an interval, some of them in a flush.
  static constexpr Duration kLookInterval = std::chrono::seconds(1);
  static constexpr std::uint32_t kLookedAtOnce = 64;

  [[nodiscard]] bool must_wait(const lnet::Transmit& transmit) const;
  void end_stand_in(Lane& lane, Errc cause);
  void give_back(Connection& connection);
  unsigned launch();
  void launch(Tx& tx);
  unsigned serve();
  unsigned end_closed();
  void look_around();
  void look_at(Connection& connection);
  unsigned serve_releases();
  void close_peer(Peer& peer);
  void close_everything();
  [[nodiscard]] bool has_work() const;

  Environment environment_;
  const lnet::LndTraits traits_;
  TxPool tx_pool_;  // before those that list them: lists go first
  Pool<Inbound> inbound_pool_;
  Connections connections_;
  Peers peers_;
  Sends sends_;
  Receives receives_;
  Handshakes handshakes_;

  bool listening_ = false;
  bool closed_everything_ = false;
  bool device_usable_ = true;
  bool releases_due_ = false;  // something has ended that one of them may have waited for
  Instant look_at_{};
  std::uint32_t next_connection_ = 0;
  std::uint32_t next_peer_ = 0;
};

}  // namespace plnet::o2iblnd
