// SPDX-License-Identifier: BSD-3-Clause
// The end of a message on the shard that made it, where all its credits are home: the message is
// counted and sent again, or its request or response ends and its record is free. A message whose
// memory the peer may still write to waits in quarantine.
#pragma once

#include "lib/base/check.hpp"
#include "lib/lnet/move/message.hpp"
#include "lib/lnet/move/shard_core.hpp"

namespace plnet::lnet {

class Receiver;
class Sender;

class MessageEnds {
 public:
  MessageEnds(ShardCore& core, Sender& sender) : core_(core), sender_(sender) {}
  void connect(Receiver& receiver) {
    PLNET_CHECK(receiver_ == nullptr, "the ends get their receiver once");
    receiver_ = &receiver;
  }

  // From any shard. The message has its result and no credit.
  void to_originator(Message& message);
  // On the shard that made the message.
  void end(Message& message);
  // Frees the record of a message that has no credit and no user.
  void release(Message& message);

  // Upcall of an LND on the shard that posted the message, which may be on its way home.
  void on_quarantine_over(Message& message);
  // Ends messages whose quarantine is over. Once a turn; returns how many.
  unsigned end_quarantines();

 private:
  [[nodiscard]] bool is_given_up(const Message& message) const;
  void send_again(Message& message);
  void end_answer(Message& message);
  void end_request(Message& message);
  void finish_placed_reply(const Message& message, const Grant& grant);
  void quarantine(Message& message);
  void count(const Message& message);

  ShardCore& core_;
  Sender& sender_;
  Receiver* receiver_ = nullptr;
  WaitQueue<Message> quarantined_;
};

}  // namespace plnet::lnet
