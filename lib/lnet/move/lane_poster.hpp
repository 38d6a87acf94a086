// SPDX-License-Identifier: BSD-3-Clause
// The lane of a message: the shard that hands it to the LND. A message takes an NI credit there, or
// waits in the queue of the NI. Its completion brings the health verdict and returns the credit.
#pragma once

#include <span>

#include "lib/lnet/move/message.hpp"
#include "lib/lnet/move/ni_port.hpp"
#include "lib/lnet/move/shard_core.hpp"

namespace plnet::lnet {

class Sender;

class LanePoster {
 public:
  LanePoster(ShardCore& core, Sender& sender) : core_(core), sender_(sender) {}

  // On the home of the next hop, which serves the NI itself or sends the message to a shard that
  // does. `peer`: the port of the next hop.
  void to_lane(PeerPort& peer, Message& message);
  // On the shard that hands the message to the LND.
  void at_lane(Message& message) {
    at_lane(message, message.hop == nullptr ? nullptr : core_.peers.get(*message.hop));
  }
  // A completed message is back on the shard that chose its lane.
  void back_from_lane(Message& message);
  // A fault rule held the message back. It ends with `health`, or goes on if that is kOk.
  // `dropped`: its NI is being removed.
  void delay_over(Message& message, Health health, bool dropped);

  // Ends a message that has not reached the LND.
  void fail(Message& message, Errc code, Health health);
  // The same, because its NI or peer NI is being removed.
  void fail_released(Message& message);

  // Upcalls of the LNDs. fetch_ended() prefetches memory for the ends of a whole burst.
  void fetch_ended(std::span<const Completion> burst) const;
  void on_sent(NiPort& port, const Completion& completion);
  void on_bulk_lane(PeerLink& link, LaneId lane, bool up);

  // Ends all messages that wait for a credit of this NI or for its LND: the NI is being removed.
  void fail_waiting(NiPort& port, Errc cause);
  // A next hop or a route is lost: ends the messages that wait for it.
  void end_down();

 private:
  void at_lane(Message& message, PeerPort* peer);
  void send_to_lane(Message& message, ShardId lane);
  [[nodiscard]] bool is_only_one(const PeerPort* peer, const Message& message) const;
  [[nodiscard]] bool goes_by_other_lane(const LndLink& link, NiPort& port, Message& message);
  void hand_over(NiPort& port, Message& message);
  [[nodiscard]] bool is_held_back(Message& message);
  // The LND that kept the payload has lost it.
  void end_lost(NiPort& port, Message& message);
  [[nodiscard]] PeerPort* posted_to(const Message& message);
  void settle_ni(NiPort& port, Message& message);
  void leave_lane(Message& message);
  void end_down(NiPort& port);

  ShardCore& core_;
  Sender& sender_;
};

}  // namespace plnet::lnet
