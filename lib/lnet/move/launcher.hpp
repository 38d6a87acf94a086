// SPDX-License-Identifier: BSD-3-Clause
// Gives made messages their path at the end of a turn: looks up the peer NI, has it created or
// discovered where that is needed, selects NI and next hop, and sends the message to the home of
// that hop. A message that waited for the coordinator, or is sent again, comes here again.
#pragma once

#include <span>

#include "lib/base/check.hpp"
#include "lib/base/pipeline.hpp"
#include "lib/lnet/move/message.hpp"
#include "lib/lnet/move/shard_core.hpp"

namespace plnet::lnet {

class Sender;

class Launcher {
 public:
  Launcher(ShardCore& core, Sender& sender) : core_(core), sender_(sender) {}

  // The message, in kMade, gets its path at the end of the turn.
  void add(Message& message) {
    PLNET_DEBUG_CHECK(message.state.get() == SendState::kMade && message.ni == nullptr,
                      "a message is launched before it has a path");
    made_.push_back(message);
  }
  [[nodiscard]] bool empty() const { return made_.empty(); }
  // Once a turn, early enough for messages to leave in the same turn. Returns how many.
  unsigned launch_all();
  // Without a path, a message waits until the coordinator has made or discovered its peer.
  void ask_coordinator(Message& message, SendState wait, ParcelStep step);
  // The coordinator has answered.
  void wait_over(Message& message);

 private:
  void launch(Message& message);
  void launch(Message& message, PeerNi* target);
  unsigned launch_burst(Message& first);
  void launch_together(std::span<Message* const> burst);
  template <std::size_t kStep>
  void approach_target(const PeerNi& target, PipelineStep<kStep> step) const;
  [[nodiscard]] static bool must_be_discovered(const Message& message, const PeerNi& target);
  void discover(Message& message, const PeerNi& peer);
  void choose_path(Message& message, PeerNi* target);
  void compare_paths(Message& message, PeerNi* target);
  void set_path(Message& message, Ni& ni, PeerNi* hop, const Nid& destination);
  void refuse(Message& message, Errc code, Health health, Cause cause);

  ShardCore& core_;
  Sender& sender_;
  WaitQueue<Message> made_;
};

}  // namespace plnet::lnet
