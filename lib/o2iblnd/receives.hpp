// SPDX-License-Identifier: BSD-3-Clause
// Messages that arrive: checked, counted against credits, offered to the core in order, carried out
// as it decides. lustre-release v2_17_0 lnet/klnds/o2iblnd/o2iblnd_cb.c: kiblnd_rx_complete(),
// kiblnd_handle_rx(), kiblnd_recv().
#pragma once

#include "lib/base/pool.hpp"
#include "lib/o2iblnd/connections.hpp"
#include "lib/o2iblnd/environment.hpp"
#include "lib/o2iblnd/peers.hpp"
#include "lib/o2iblnd/sends.hpp"

namespace plnet::o2iblnd {

class Receives final : public InboundEnds {
 public:
  Receives(Environment& environment, Pool<Inbound>& pool, Connections& connections, Peers& peers,
           Sends& sends);

  void on_received(const WorkCompletion& completion);
  // The connection is up: what came before is looked at.
  void read_early(Connection& connection);
  // Goes on with messages that wait for one before them.
  void offer_arrived(Connection& connection);
  // The core's decision for a parked message; carried out by the next flush.
  void resume(lnet::RxHandle rx, const lnet::RxDecision& decision);
  // Decisions, and messages that waited for a descriptor. Returns pieces of work.
  unsigned run_decided();
  [[nodiscard]] bool has_decided() const {
    return !decided_.empty() || starved_.has_come(environment_.freed);
  }

  // The connection is disconnected: nothing more of it is offered.
  void end_all(Connection& connection);
  // The connection has drained: no peer reaches our memory through it.
  void drain_all(Connection& connection);
  void on_answered(Inbound& inbound, Result<void> status, Health health) override;

 private:
  using Id = O2ibCounters::Id;

  void on_message(Connection& connection, Rx& rx);
  [[nodiscard]] bool is_of_this_life(const Connection& connection, const Message& message) const;
  void break_off(Connection& connection, Id why, Errc cause = Errc::kProtocol);
  void on_request(Connection& connection, Rx& rx);
  void on_answer(Connection& connection, Rx& rx, const Message& message);
  void on_noop(Connection& connection, Rx& rx, const Message& message);
  [[nodiscard]] bool offer(Connection& connection, Rx& rx, const Message& message);
  // Bytes of payload that go with the header; nothing if they cannot.
  [[nodiscard]] static std::optional<std::uint32_t> payload_of(const Message& message);
  void run_decision(Inbound& inbound);
  void go_on(Inbound& inbound);
  // False: no descriptor is free for the answer; it is tried again when one may be.
  [[nodiscard]] bool act(Inbound& inbound);
  [[nodiscard]] bool receive_immediate(Inbound& inbound);
  [[nodiscard]] bool receive_put(Inbound& inbound);
  [[nodiscard]] bool receive_get(Inbound& inbound);
  [[nodiscard]] bool answer(Inbound& inbound, Kind kind, std::int32_t status);
  void release(Inbound& inbound, ReceiveUse use);
  void end(Inbound& inbound, Result<void> status, Health health);

  Environment& environment_;
  Pool<Inbound>& pool_;
  Connections& connections_;
  Peers& peers_;
  Sends& sends_;
  IntrusiveList<Inbound> decided_;
  WaitingList<Inbound> starved_;  // whose answers wait for a descriptor
  Message message_;               // the one that is looked at
};

}  // namespace plnet::o2iblnd
