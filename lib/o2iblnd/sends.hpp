// SPDX-License-Identifier: BSD-3-Clause
// Messages on their way out: queued on their peer or connection, posted as credits allow, answered,
// ended. lustre-release v2_17_0 lnet/klnds/o2iblnd/o2iblnd_cb.c: kiblnd_send(),
// kiblnd_check_sends_locked(), kiblnd_post_tx_locked(), kiblnd_tx_complete().
#pragma once

#include <array>

#include "lib/o2iblnd/connections.hpp"
#include "lib/o2iblnd/environment.hpp"
#include "lib/o2iblnd/transitions.hpp"
#include "lib/o2iblnd/tx_pool.hpp"

namespace plnet::o2iblnd {

// Is told when the answer to a message of the peer's has ended.
class InboundEnds {
 public:
  virtual void on_answered(Inbound& inbound, Result<void> status, Health health) = 0;

 protected:
  ~InboundEnds() = default;
};

class Sends {
 public:
  Sends(Environment& environment, TxPool& pool, Connections& connections, InboundEnds& ends);

  // --- Messages of ours ---
  // False: no descriptor is free.
  [[nodiscard]] bool accept(lnet::Transmit& transmit);
  [[nodiscard]] Tx* next_outgoing() { return outgoing_.pop_front(); }
  [[nodiscard]] bool has_outgoing() const { return !outgoing_.empty() || !given_up_.empty(); }
  // For a peer without connections, or on one of them.
  void wait(Tx& tx, Peer& peer);
  void queue(Tx& tx, Connection& connection);
  // Nothing of it was sent.
  void give_up(Tx& tx, Errc cause, Health health);
  void give_up_all(IntrusiveList<Tx>& list, Errc cause, Health health);
  // Ends it at the next flush, if nothing of it was sent.
  void cancel(lnet::Transmit& transmit);
  void end_cancelled();

  // --- Answers to the peer's messages. False: no descriptor is free ---
  [[nodiscard]] bool answer(Connection& connection, Kind kind, std::int32_t status,
                            std::uint64_t cookie, Inbound* inbound);
  // The sink of a PUT is laid open; false also if no mapping is free. An error instead: it cannot
  // be, and nothing was queued.
  [[nodiscard]] Result<bool> grant(Connection& connection, Inbound& inbound);
  // The bytes of a GET; errno and no bytes if the sink does not take them.
  [[nodiscard]] bool write_reply(Connection& connection, Inbound& inbound);

  // --- A connection ---
  // Posts what may be.
  void serve(Connection& connection);
  // Another NOOP is due, after so long a silence.
  [[nodiscard]] bool needs_keepalive(const Connection& connection) const;
  [[nodiscard]] bool is_late(const Connection& connection) const;
  // Messages that were not sent and whose own deadline has passed.
  void expire(IntrusiveList<Tx>& list);
  void on_sent(const WorkCompletion& completion);
  // PUT_NAK, PUT_DONE, GET_DONE. False: nothing waits for it.
  [[nodiscard]] bool on_answer(Connection& connection, const Message& message);
  // PUT_ACK. False: nothing waits for it.
  [[nodiscard]] bool on_grant(Connection& connection, const Message& message);
  // It is disconnected.
  void end_all(Connection& connection);
  // The connection has drained: no peer reaches our memory through it.
  void drain_all(Connection& connection);

  // Whether there is a message of this peer link; null: of any.
  [[nodiscard]] bool has_any_of(const lnet::PeerLink* link);

 private:
  using Id = O2ibCounters::Id;
  using State = TxState;
  using Event = TxEvent;
  using Handler = void (Sends::*)(Tx&);

  void run(Tx& tx, Event event);
  void end(Tx& tx);
  void begin(Tx& tx);
  void await_answer(Tx& tx);
  void await_sent(Tx& tx);
  void queue_writes(Tx& tx);
  void end_closed(Tx& tx);
  void go_on(Tx& tx);
  void write(Tx& tx);
  void end_if_last(Tx& tx);
  void end_quarantine(Tx& tx);

  void write_message(Tx& tx, std::uint8_t credits);
  void choose_kind(Tx& tx);
  void bring_payload(Tx& tx);
  void keep_sink(Tx& tx, const RemoteBuffer& sink);
  [[nodiscard]] Message message_of(const Tx& tx) const;
  [[nodiscard]] std::size_t make_chain(Tx& tx);
  enum class Posting : std::uint8_t { kDone, kNotYet, kNoRoom };
  [[nodiscard]] Posting post(Connection& connection, Tx& tx, bool costs_credit);
  [[nodiscard]] Posting post_next(Connection& connection);
  void send_noop(Connection& connection);
  [[nodiscard]] Tx* new_reply(Connection& connection, Kind kind, Inbound* inbound);
  void enqueue(Tx& tx);
  [[nodiscard]] Credits::Waiting waiting(const Connection& connection) const;
  [[nodiscard]] bool noop_is_due(const Connection& connection) const;

  static const std::array<Handler, kTxActions> kHandlers;

  Environment& environment_;
  TxPool& pool_;
  Connections& connections_;
  InboundEnds& ends_;
  IntrusiveList<Tx> outgoing_;  // taken from the core, not looked at yet
  IntrusiveList<Tx> given_up_;  // cancelled, not told yet
  std::array<WorkRequest, kFragmentsMax + 1> chain_;
};

}  // namespace plnet::o2iblnd
