// SPDX-License-Identifier: BSD-3-Clause
// The kfi LND of one interface on one shard: an lnet::Lnd over a fabric endpoint. Sans-IO: it only
// speaks to its driver and its core. lustre-release lnet/klnds/kfilnd.
//
// This class is the contract with the core and the driver, and the turn: flush(). Its parts have
// the rest, each one noun: transactions and the machine that runs them, messages of ours
// (Initiator) and of peers (Receives, MessageStore), how ours end (Endings), peers, HELLOs, senders
// and their homes, releases, and the watch over the link.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "lib/kfilnd/endings.hpp"
#include "lib/kfilnd/environment.hpp"
#include "lib/kfilnd/facts.hpp"
#include "lib/kfilnd/hellos.hpp"
#include "lib/kfilnd/initiator.hpp"
#include "lib/kfilnd/link_watch.hpp"
#include "lib/kfilnd/machine.hpp"
#include "lib/kfilnd/message_store.hpp"
#include "lib/kfilnd/peer_cache.hpp"
#include "lib/kfilnd/peers.hpp"
#include "lib/kfilnd/receives.hpp"
#include "lib/kfilnd/releases.hpp"
#include "lib/kfilnd/senders.hpp"
#include "lib/kfilnd/transactions.hpp"

namespace plnet::kfilnd {

class KfiLnd : public lnet::Lnd, public EndpointEvents {
 public:
  // `core`, `driver` and the configuration's parts outlive it.
  KfiLnd(const KfiLndConfig& config, lnet::LndUpcalls& core, EndpointDriver& driver);
  ~KfiLnd() override;

  [[nodiscard]] const lnet::LndTraits& traits() const override { return traits_; }
  std::size_t send(std::span<lnet::Transmit* const> burst) override;
  void resume(lnet::RxHandle rx, const lnet::RxDecision& decision) override;
  unsigned flush(Instant now) override;
  void cancel(lnet::Transmit& transmit) override;
  void release_peer(lnet::PeerLink& link) override;
  void shut_down() override;
  [[nodiscard]] bool idle() const override;
  [[nodiscard]] std::size_t receives_free() const override {
    return transactions_.room(Quota::kReceives);
  }
  [[nodiscard]] Instant next_deadline() const override;
  [[nodiscard]] CounterView counters() const override { return environment_.counters.view(); }

  void on_completions(std::span<const FabricCompletion> burst) override;
  void on_link(bool usable, std::uint64_t nic_address) override;

  [[nodiscard]] std::uint64_t count(KfiLndCounters::Id id) const {
    return environment_.counters.get(id);
  }
  // For reports and tests; nullptr: unknown.
  [[nodiscard]] const Peer* peer(const lnet::Nid& nid) const;
  [[nodiscard]] std::uint32_t peer_slots() const { return cache_.slots(); }
  [[nodiscard]] std::optional<PeerFacts> peer_facts(std::uint32_t slot, Instant now) const;
  // The values that `net show -v` adds to the tunables of the interface.
  [[nodiscard]] InterfaceFacts interface_facts() const;
  // The NIC has got another address, and this is the NID that goes with it. The core was told that
  // the interface is fatal and routes around it; the owner of the interface takes it down and makes
  // one with this NID. Nothing while the address is that of our own NID, as it may be again. Any
  // thread.
  [[nodiscard]] std::optional<lnet::Nid> moved_to() const { return link_.moved_to(); }
  [[nodiscard]] const Statistics& statistics() const { return transactions_.statistics(); }
  void reset_statistics() { transactions_.reset_statistics(); }
  [[nodiscard]] std::size_t transactions() const { return transactions_.under_way(); }
  [[nodiscard]] const MultiReceive& receive_buffers() const { return store_.buffers(); }

 private:
  // Events bring no time with them, so the time of the last flush must not be too old.
  static constexpr Duration kLookInterval = std::chrono::seconds(1);

  [[nodiscard]] bool has_work() const;
  [[nodiscard]] bool has_mail() const;
  void shut_driver_down();

  Environment environment_;
  const lnet::LndTraits traits_;
  MessageStore store_;
  Transactions transactions_;  // before the peers, which list them: lists go first
  PeerCache cache_;
  Peers peers_;
  Machine machine_;
  Hellos hellos_;
  Endings endings_;
  Releases releases_;
  Initiator initiator_;
  Senders senders_;
  Receives receives_;
  LinkWatch link_;
  bool driver_down_ = false;
};

}  // namespace plnet::kfilnd
