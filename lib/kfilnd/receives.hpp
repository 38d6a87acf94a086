// SPDX-License-Identifier: BSD-3-Clause
// Messages of peers: received from a buffer, offered to the core, and ended as it decides, for bulk
// requests by an operation at the peer. lustre-release lnet/klnds/kfilnd/kfilnd_tn.c:
// kfilnd_tn_process_rx_event(), kfilnd_tn_state_imm_recv().
#pragma once

#include <cstdint>
#include <span>

#include "lib/kfilnd/backlog.hpp"
#include "lib/kfilnd/environment.hpp"
#include "lib/kfilnd/hellos.hpp"
#include "lib/kfilnd/machine.hpp"
#include "lib/kfilnd/message_store.hpp"
#include "lib/kfilnd/peers.hpp"
#include "lib/kfilnd/releases.hpp"
#include "lib/kfilnd/senders.hpp"
#include "lib/kfilnd/transactions.hpp"

namespace plnet::kfilnd {

class Receives {
 public:
  Receives(Environment& environment, Transactions& transactions, Peers& peers, Hellos& hellos,
           Senders& senders, MessageStore& store, Releases& releases, Machine& machine)
      : environment_(environment),
        transactions_(transactions),
        peers_(peers),
        hellos_(hellos),
        senders_(senders),
        store_(store),
        releases_(releases),
        machine_(machine),
        backlog_(environment.config.backlog_max) {}

  // A message has arrived in a receive buffer, or the NIC is done with the buffer.
  void on_buffer(const FabricCompletion& completion);
  unsigned run_backlog();
  [[nodiscard]] bool has_backlog() const { return backlog_.size() > 0; }
  // The decision for a parked message.
  void resume(lnet::RxHandle rx, const lnet::RxDecision& decision);

  // --- Actions ---
  // Offers the message to the core, or waits for the HELLO of its sender.
  void offer(Transaction& one, const EventStatus& what);
  void act_on_decision(Transaction& one, const EventStatus& what);
  // Reads the payload of a PUT from the peer, or writes that of a GET to it.
  void move_payload(Transaction& one, const EventStatus& what);
  void answer_without_payload(Transaction& one, const EventStatus& what);
  void remote_done(Transaction& one, const EventStatus& what);
  void remote_failed(Transaction& one, const EventStatus& what);

 private:
  using State = TransactionState;
  using Event = TransactionEvent;
  using Id = KfiLndCounters::Id;

  // Messages of the backlog that are put off again in one turn.
  static constexpr unsigned kPutOffAtOnce = 64;

  // False: the message has to stay in its buffer for now.
  [[nodiscard]] bool accept(std::uint32_t buffer, std::span<const std::byte> bytes);
  void put_off(std::uint32_t buffer, std::uint32_t offset, std::uint32_t length);
  void begin(Transaction& one, std::uint32_t buffer, std::span<const std::byte> bytes);
  // False: the sender has introduced itself. True: the message waits for that, or has ended.
  [[nodiscard]] bool wait_for_hello(Transaction& one);
  void receive_immediate(Transaction& one);
  void park(Transaction& one);
  void refuse_to_park(Transaction& one);
  [[nodiscard]] static Tag remote_tag(const Transaction& one);
  [[nodiscard]] static Target bulk_target(const Transaction& one);
  void on_posted(Transaction& one, Result<void> posted, State next, Event again);

  Environment& environment_;
  Transactions& transactions_;
  Peers& peers_;
  Hellos& hellos_;
  Senders& senders_;
  MessageStore& store_;
  Releases& releases_;
  Machine& machine_;
  Backlog backlog_;
};

}  // namespace plnet::kfilnd
