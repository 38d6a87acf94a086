// SPDX-License-Identifier: BSD-3-Clause
// Peer credits at the home shard of the next hop. A message takes one and goes on to its lane, or
// waits in the queue of the peer NI. Its end returns the credit, and the next message goes on.
#pragma once

#include <cstdint>

#include "lib/base/intrusive_list.hpp"
#include "lib/lnet/move/message.hpp"
#include "lib/lnet/move/shard_core.hpp"

namespace plnet::lnet {

class Sender;

class HopCredits {
 public:
  HopCredits(ShardCore& core, Sender& sender) : core_(core), sender_(sender) {}

  // On the shard that chose the path.
  void to_home(Message& message);
  // On the home of the next hop.
  void at_home(Message& message);
  // Returns the credit of a message that has its result, and sends it to its originator.
  void end_at_home(Message& message) {
    end_at_home(message, message.hop == nullptr ? nullptr : core_.peers.find(*message.hop));
  }
  // `peer`: the port of the next hop; null: loopback, or the port is gone.
  void end_at_home(Message& message, PeerPort* peer);

  // Ends messages that wait past their deadline. Now and then.
  void expire(Instant now);
  // A next hop or a route is lost: ends the messages that wait for it.
  void end_down();
  // Ends all messages that wait for this peer NI, which is being removed.
  void fail_waiting(PeerPort& peer, Errc cause);
  // Ends all messages that wait for a credit and would leave by this NI, which is being removed.
  void fail_waiting(const Ni& ni, Errc cause);

 private:
  [[nodiscard]] bool may_borrow(const PeerPort& peer, const Message& message,
                                std::uint32_t under_way) const;
  [[nodiscard]] bool may_start(const PeerPort& peer) const;
  static void take_credit(PeerPort& peer, Message& message);
  static void return_credit(PeerPort& peer, Message& message);
  void wait(PeerPort& peer, Message& message);
  void start_waiting(PeerPort& peer);
  void remove(PeerPort& peer, Message& message);
  static void publish(PeerPort& peer);

  ShardCore& core_;
  Sender& sender_;
  IntrusiveList<PeerPort> queued_;  // peer NIs with a queue that is not empty, or was until lately
};

}  // namespace plnet::lnet
