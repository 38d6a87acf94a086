// SPDX-License-Identifier: BSD-3-Clause
// The way of a message out, top to bottom: made, given a path, home of its next hop (peer credit),
// lane (NI credit), LND; and back: credits home, then its originator.
#pragma once

#include "lib/base/pipeline.hpp"
#include "lib/lnet/api/data_operations.hpp"
#include "lib/lnet/move/message.hpp"
#include "lib/lnet/move/shard_core.hpp"

namespace plnet::lnet {

class Receiver;

class Sender {
 public:
  explicit Sender(ShardCore& core) : core_(core) {}
  void connect(Receiver& receiver) { receiver_ = &receiver; }

  [[nodiscard]] Result<void> put(MdHandle md, const PutSpec& put);
  [[nodiscard]] Result<void> get(MdHandle md, const GetSpec& get);
  // Answers `receive` with an ACK or REPLY, or forwards it; ends in Receiver::on_answered().
  // Nothing is lost when all messages are in use: the answer waits for one. What is forwarded was
  // promised one.
  void answer(Receive& receive);

  // Sends off what put(), get() and answer() have made. Once a turn, and early enough for it to
  // leave in the same turn; returns how many.
  unsigned launch_all();
  [[nodiscard]] bool has_made() const { return !made_.empty() || may_answer(); }

  // A message that came out of a mailbox, or out of this shard's own inbox.
  void take(Message& message);

  // Upcalls of the LNDs. What the end of each of a burst looks at is fetched before the first.
  void fetch_ended(std::span<const Completion> burst) const;
  void on_sent(NiPort& port, const Completion& completion);
  void on_quarantine_over(Message& message);
  void on_bulk_lane(PeerLink& link, LaneId lane, bool up);

  // A rule held the message back, which ends so or, if all is well, goes on.
  void delay_over(Message& message, Health health, bool dropped);

  // Takes home what peers can no longer write to. Once a turn; returns how many.
  unsigned end_quarantines();
  // Ends what waited for credits past its deadline. Now and then.
  void expire(Instant now);
  // Some next hop went down: what waits for it goes another way, or ends if it was forwarded.
  void end_down();
  // Ends what waits for this peer NI or NI with an error: it is being taken away.
  void fail_waiting(PeerPort& peer, Errc cause);
  void fail_waiting(NiPort& port, Errc cause);
  // The same for what waits for peers and would leave through this NI.
  void fail_waiting(const Ni& ni, Errc cause);

 private:
  // Some message is free and promised to nobody.
  [[nodiscard]] bool has_spare() const {
    return core_.messages.free_count() > core_.forwarder.promised();
  }
  [[nodiscard]] bool may_answer() const { return !answers_.empty() && has_spare(); }
  // Null: there is no spare one.
  Message* make(MessageType type);
  Message& prepare(Message* message, MessageType type);
  void give_back(Message& message);

  // On the shard of the originator.
  [[nodiscard]] bool shall_fail(const Nid& target) const;
  [[nodiscard]] Result<void> begin(Message& message, MdHandle md, bool ack);
  void make_answer(Message& message, Receive& receive);
  void make_forward(Message& message, Receive& receive);
  void forward(Receive& receive);
  void answer_waiting();
  void launch(Message& message);
  void launch(Message& message, PeerNi* target);
  void launch_forward(Message& message);
  void drop_forward(Message& message, Errc code, Cause cause);
  unsigned launch_burst(Message& first);
  void launch_together(std::span<Message* const> burst);
  template <std::size_t kStep>
  void approach_target(const PeerNi& target, PipelineStep<kStep> step) const;
  [[nodiscard]] static bool must_be_discovered(const Message& message, const PeerNi& target);
  void discover(Message& message, const PeerNi& peer);
  void choose_path(Message& message, PeerNi* target);
  void compare_paths(Message& message, PeerNi* target);
  void take_path(Message& message, Ni& ni, PeerNi* hop, const Nid& destination);
  void wait_over(Message& message);
  void refuse(Message& message, Errc code, Health health, Cause cause);
  void ended(Message& message);
  void send_again(Message& message);
  [[nodiscard]] bool is_given_up(const Message& message) const;
  void request_ended(Message& message);
  void finish_placed_reply(const Message& message, const Grant& grant);
  void answered(Message& message);
  void quarantine(Message& message);
  void count_end(const Message& message);

  // On the home shard of the next hop.
  void to_home(Message& message);
  void at_home(Message& message);
  [[nodiscard]] bool may_borrow(const PeerPort& peer, const Message& message,
                                std::uint32_t under_way) const;
  [[nodiscard]] bool may_start(const PeerPort& peer) const;
  [[nodiscard]] bool still_wanted(Message& message);
  void drop_late(Message& message);
  static void bring_source(Message& message);
  void send_away(Message& message, ShardId to, ParcelStep step);
  [[nodiscard]] static bool is_routed_down(const Message& message);
  void drop_for_hop(Message& message);
  void end_for_other_way(Message& message);
  void send_back(Message& message, ShardId to, ParcelStep step);
  void send_to_lane(Message& message, ShardId lane);
  void ask_coordinator(Message& message, SendState wait, ParcelStep step);
  [[nodiscard]] static bool may_turn_back(const Message& message);
  [[nodiscard]] bool may_go_elsewhere(const Message& message) const;
  void lose_hop(Message& message);
  [[nodiscard]] bool has_lost_way(const Message& message) const;
  [[nodiscard]] bool stays_on_ni(const Message& message) const;
  [[nodiscard]] bool turn_back(Message& message);
  void end_down(NiPort& port);
  void count_drop(const Message& message, Cause cause);
  void to_lane(PeerPort& peer, Message& message);
  void end_at_home(Message& message);
  void end_at_home(Message& message, PeerPort* peer);
  void take_back_credit(PeerPort& peer, Message& message);
  [[nodiscard]] bool is_only_one(const PeerPort* peer, const Message& message) const;
  void start_waiting(PeerPort& peer);
  void remove(PeerPort& peer, Message& message);
  static void publish(PeerPort& peer);
  void home_to_originator(Message& message);

  // On the shard that hands it to the LND.
  void at_lane(Message& message);
  void at_lane(Message& message, PeerPort* peer);
  [[nodiscard]] PeerPort* posted_to(const Message& message);
  void settle_ni(NiPort& port, Message& message);
  void hand_over(NiPort& port, Message& message);
  [[nodiscard]] bool is_held_back(Message& message);
  [[nodiscard]] bool goes_by_other_lane(const LndLink& link, NiPort& port, Message& message);
  void leave_lane(Message& message);
  void back_from_lane(Message& message);

  static void end_with(Message& message, Errc code, Health health);
  void fail(Message& message, Errc code, Health health);
  void end_released(Message& message, Errc cause);
  void fail_released(Message& message);

  ShardCore& core_;
  Receiver* receiver_ = nullptr;
  WaitQueue<Message> made_;         // not yet sent off
  IntrusiveList<PeerPort> queued_;  // messages wait there, or did until lately
  WaitQueue<Receive> answers_;      // their answers wait for a message
  WaitQueue<Message> quarantined_;  // a peer may still reach their memory
};

}  // namespace plnet::lnet
