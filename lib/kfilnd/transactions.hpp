// SPDX-License-Identifier: BSD-3-Clause
// The transactions of one LND: a bounded number of each kind, the lists and timers in which they
// wait, the posting of untagged messages, and how each transaction ends.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "lib/base/intrusive_list.hpp"
#include "lib/base/pool.hpp"
#include "lib/base/timer_wheel.hpp"
#include "lib/kfilnd/environment.hpp"
#include "lib/kfilnd/keys.hpp"
#include "lib/kfilnd/message_store.hpp"
#include "lib/kfilnd/peer_cache.hpp"
#include "lib/kfilnd/statistics.hpp"
#include "lib/kfilnd/transaction.hpp"

namespace plnet::kfilnd {

class Transactions {
 public:
  using State = TransactionState;
  using Event = TransactionEvent;

  Transactions(Environment& environment, PeerCache& peers, MessageStore& store);

  // --- Begin ---
  // nullptr: as many of this kind are under way as may be.
  [[nodiscard]] Transaction* begin(Quota quota);
  // A transaction that has begun nothing is dropped.
  void drop(Transaction& one) { give_back(one); }
  // The transaction is one with this peer.
  void set_peer(Transaction& one, Peer& peer);
  // 0: all keys are in use.
  [[nodiscard]] std::uint16_t take_key() { return keys_.take(); }
  // The transaction came before the HELLO of its sender.
  void set_early(Transaction& one);
  // There are so many early transactions that a HELLO might find none.
  [[nodiscard]] bool early_crowded() const {
    return early_ >= (environment_.config.receives_max + 1) / 2;
  }
  [[nodiscard]] std::size_t room(Quota quota) const { return limit(quota) - used_[place(quota)]; }
  [[nodiscard]] bool has_room(Quota quota) const { return room(quota) > 0; }
  [[nodiscard]] std::size_t under_way() const { return pool_.capacity() - pool_.free_count(); }

  // --- Names ---
  [[nodiscard]] std::uint64_t cookie_of(const Transaction& one) const;
  // nullptr: the NIC has no such operation of ours.
  [[nodiscard]] Transaction* find(std::uint64_t cookie, std::uint8_t operation);
  [[nodiscard]] lnet::RxHandle handle_of(const Transaction& one) const {
    return {pool_.index_of(&one), one.generation};
  }
  // nullptr: the message does not wait for a decision.
  [[nodiscard]] Transaction* find_parked(lnet::RxHandle rx);
  [[nodiscard]] std::uint32_t index_of(const Transaction& one) const {
    return pool_.index_of(&one);
  }
  // The transaction of a message that the core has lent.
  [[nodiscard]] Transaction& of_message(const lnet::Transmit& transmit);
  template <class Visit>
  void for_each(Visit&& visit) {
    pool_.for_each_lent(visit);
  }

  // --- Wait ---
  // The next turn runs it.
  void run_soon(Transaction& one) {
    if (one.linked()) one.unlink();
    turn_.push_back(one);
  }
  void run_soon(IntrusiveList<Transaction, ForTurn>& all) { turn_.splice_back(all); }
  void take_turn(IntrusiveList<Transaction, ForTurn>& to) { to.splice_back(turn_); }
  [[nodiscard]] bool has_turn() const { return !turn_.empty(); }
  // The NIC has no room: the transaction runs `again` later.
  void block(Transaction& one, Event again);
  [[nodiscard]] IntrusiveList<Transaction, ForTurn>& blocked() { return blocked_; }
  // Its peer has to answer a HELLO first.
  void throttle(Transaction& one);

  void start_timer(Transaction& one, Instant when) { timers_.start(one.timer, when); }
  void stop_timer(Transaction& one) { (void)timers_.cancel(one.timer); }
  unsigned run_timers(Instant now) { return timers_.advance(now); }
  // When blocked transactions or timers run next.
  [[nodiscard]] Instant next_deadline() const;

  // --- Act ---
  void enter(Transaction& one, State state);
  // Posts an untagged message to the peer of the transaction.
  [[nodiscard]] Result<void> post_message(Transaction& one, const Message& message,
                                          const lnet::Payload& payload);
  // An operation was posted under the cookie of the transaction, or has ended.
  static void set_posted(Transaction& one, Transaction::Outstanding operation) {
    PLNET_CHECK((one.outstanding & operation) == 0, "one operation of a kind at a time");
    one.outstanding = static_cast<std::uint8_t>(one.outstanding | operation);
  }

  // --- End ---
  // The transaction is over for us. Its place is free when the NIC has no operation of it.
  void end(Transaction& one);
  void fail(Transaction& one, Errc cause, Health health);
  // Waits for the NIC to return a buffer, but not for long.
  void start_grace(Transaction& one) { start_timer(one, environment_.now + kCancelGrace); }
  // Tells the core the end of its message.
  void tell_core(Transaction& one);
  // True once after a transaction has ended.
  [[nodiscard]] bool any_ended() const { return any_ended_; }
  void clear_ended() { any_ended_ = false; }

  // Each transaction runs in this machine.
  void set_machine(Machine& machine);

  [[nodiscard]] const Statistics& statistics() const { return statistics_; }
  void reset_statistics() { statistics_ = {}; }

 private:
  static constexpr Duration kTick = std::chrono::milliseconds(1);
  static constexpr Duration kReplayInterval = std::chrono::milliseconds(100);
  // After this time the core hears of the end though the NIC still has a buffer.
  static constexpr Duration kCancelGrace = std::chrono::seconds(1);

  [[nodiscard]] static std::size_t place(Quota quota) { return static_cast<std::size_t>(quota); }
  [[nodiscard]] std::size_t limit(Quota quota) const { return limits_[place(quota)]; }
  [[nodiscard]] SideStatistics& side_of(const Transaction& one) {
    return one.initiator ? statistics_.initiator : statistics_.target;
  }
  void finalize(Transaction& one);
  void give_back(Transaction& one);

  Environment& environment_;
  PeerCache& peers_;
  MessageStore& store_;
  const std::array<std::size_t, kQuotas> limits_;
  Pool<Transaction> pool_;  // before the lists and timers that refer to its transactions
  TimerWheel timers_;
  IntrusiveList<Transaction, ForTurn> turn_;
  IntrusiveList<Transaction, ForTurn> blocked_;
  KeyAllocator keys_;
  std::array<std::size_t, kQuotas> used_{};
  std::size_t early_ = 0;  // of Quota::kReceives: came before a HELLO
  bool any_ended_ = false;
  Statistics statistics_;
};

}  // namespace plnet::kfilnd
