// SPDX-License-Identifier: BSD-3-Clause
// Makes the messages of this node: PUT and GET of its programs, ACK and REPLY to received messages.
// A response waits for a free message; a request is refused without one.
#pragma once

#include "lib/lnet/api/data_operations.hpp"
#include "lib/lnet/move/message.hpp"
#include "lib/lnet/move/shard_core.hpp"

namespace plnet::lnet {

class Sender;

class Originator {
 public:
  Originator(ShardCore& core, Sender& sender) : core_(core), sender_(sender) {}

  // kNoMemory: no message is free. kIo: a fault rule fails the call. kInvalid: no such portal.
  [[nodiscard]] Result<void> put(MdHandle md, const PutSpec& put);
  [[nodiscard]] Result<void> get(MdHandle md, const GetSpec& get);
  // Answers `receive`, which is for this node, by ACK or REPLY. Ends in Receiver::on_answered().
  void answer(Receive& receive);

  // A message is free, or a promise of the forwarder is void: makes responses that wait for one.
  void answer_waiting() {
    if (!answers_.empty()) [[unlikely]]
      make_waiting();
  }
  // answer_waiting() would make one.
  [[nodiscard]] bool may_answer() const { return !answers_.empty() && has_spare(); }

 private:
  // A free message is not promised to the forwarder.
  [[nodiscard]] bool has_spare() const {
    return core_.messages.free_count() > core_.forwarder.hops.promised();
  }
  // Null: there is no spare one.
  Message* make(MessageType type);
  [[nodiscard]] bool is_failed_by_rule(const Nid& target) const;
  [[nodiscard]] Result<void> begin(Message& message, MdHandle md, bool ack);
  void fill_answer(Message& message, Receive& receive);
  void make_waiting();

  ShardCore& core_;
  Sender& sender_;
  WaitQueue<Receive> answers_;  // the response of each waits for a message
};

}  // namespace plnet::lnet
