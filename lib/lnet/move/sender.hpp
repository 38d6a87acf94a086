// SPDX-License-Identifier: BSD-3-Clause
// The parts of a shard that send messages, in the order in which a message passes them: it is made,
// given a path, takes a peer credit at the home of its next hop and an NI credit on its lane, goes
// to the LND, and ends with its originator.
#pragma once

#include "lib/base/check.hpp"
#include "lib/lnet/move/hop_credits.hpp"
#include "lib/lnet/move/lane_poster.hpp"
#include "lib/lnet/move/launcher.hpp"
#include "lib/lnet/move/message_ends.hpp"
#include "lib/lnet/move/originator.hpp"
#include "lib/lnet/move/send_verdicts.hpp"
#include "lib/lnet/move/shard_core.hpp"

namespace plnet::lnet {

class Receiver;

class Sender {
 public:
  explicit Sender(ShardCore& core)
      : originator(core, *this),
        launcher(core, *this),
        hops(core, *this),
        lanes(core, *this),
        verdicts(core),
        ends(core, *this),
        core_(core) {}
  Sender(const Sender&) = delete;
  Sender& operator=(const Sender&) = delete;

  // Does the step of a message from a mailbox, or from this shard's own inbox.
  void deliver(Message& message);

  // The message goes to another shard, or this one's own inbox. That shard finds the payload of a
  // forwarded message in its buffer.
  void cross(Message& message, ShardId to, ParcelStep step) {
    Forwarder::bring_source(message);
    core_.post(message, to, step);
  }
  // The message has its result and goes back to `to`.
  void send_back(Message& message, ShardId to, ParcelStep step) {
    PLNET_DEBUG_CHECK(to != core_.id && to < core_.shared.shards,
                      "a message comes back from another shard");
    message.enter(SendState::kComesBack);
    core_.post(message, to, step);
  }

  // Once a turn: responses get messages, made messages a path. Returns how many left.
  unsigned launch_all() {
    originator.answer_waiting();
    return launcher.launch_all();
  }
  // launch_all() has work.
  [[nodiscard]] bool has_made() const { return !launcher.empty() || originator.may_answer(); }
  // A next hop or a route is lost: messages that wait for it take another path, or end.
  void end_down() {
    hops.end_down();
    lanes.end_down();
  }

  Originator originator;
  Launcher launcher;
  HopCredits hops;
  LanePoster lanes;
  SendVerdicts verdicts;
  MessageEnds ends;

 private:
  ShardCore& core_;
};

}  // namespace plnet::lnet
