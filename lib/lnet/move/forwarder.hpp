// SPDX-License-Identifier: BSD-3-Clause
// A forwarded message between its header and its next hop: a client credit, a path, a router
// buffer; then a message that leaves by the sender. A message that cannot take a step waits there
// with its payload unread. Steps and results: lustre-release lnet/lnet/lib-move.c:
// lnet_post_routed_recv_locked(). Unlike the kernel, the path comes before the buffer, so that each
// next hop has a share of the buffers (hop_buffers.hpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "lib/base/check.hpp"
#include "lib/lnet/api/lnd.hpp"
#include "lib/lnet/move/client_queues.hpp"
#include "lib/lnet/move/forward_paths.hpp"
#include "lib/lnet/move/hop_buffers.hpp"
#include "lib/lnet/move/hop_stalls.hpp"
#include "lib/lnet/move/message.hpp"
#include "lib/lnet/move/receive.hpp"

namespace plnet::lnet {

struct ShardCore;
class Sender;

class Forwarder {
 public:
  explicit Forwarder(ShardCore& core)
      : paths(core), clients(core), hops(core), stalls(core), core_(core) {}
  Forwarder(const Forwarder&) = delete;
  Forwarder& operator=(const Forwarder&) = delete;
  // Before the first message.
  void connect(Sender& sender) {
    PLNET_CHECK(sender_ == nullptr, "the forwarder gets its sender once");
    sender_ = &sender;
  }

  // Hot. The header of the message has arrived.
  void begin(Receive& receive);
  // Messages that have begun and not ended.
  [[nodiscard]] std::uint32_t under_way() const { return under_way_; }

  // Hot. The sender of the message is a known peer NI. kPark: the message comes here again, or its
  // decision is among those of the shard. `header`: the offered one, or the record's own.
  [[nodiscard]] RxDecision admit(Receive& receive, const MessageHeader& header);
  // Hot. The payload is complete: makes the message that leaves. Ends in Receiver::on_answered().
  void send(Receive& receive);
  // Hot. At the end of the turn: sends the message to the home of its next hop.
  void launch(Message& message);
  // Drops a message that has no next hop.
  void drop(Message& message, Errc code, Cause cause);
  // Hot. Returns all that the message holds.
  void give_back(Receive& receive);

  // Hot. Moves a payload that the receiving LND keeps into the buffer.
  static void bring(Receive& receive) {
    PLNET_DEBUG_CHECK(receive.forwarding.keeper == nullptr || receive.forwarding.has_buffer,
                      "a payload is kept for a message with a buffer");
    PayloadKeeper* const keeper = std::exchange(receive.forwarding.keeper, nullptr);
    if (keeper != nullptr && !keeper->bring(receive.rx)) receive.forwarding.lost = true;
  }
  static void bring_source(Message& message) {
    if (!message.kept) return;
    PLNET_DEBUG_CHECK(message.routed && message.answers != nullptr,
                      "only the payload of a forwarded message is kept");
    message.kept = false;
    bring(*message.answers);
    message.lost = message.answers->forwarding.lost;
  }

  // The connection of the message is gone. True: it waited here, and is the caller's.
  [[nodiscard]] bool leave(Receive& receive);
  // The link of its sender is gone. True: it waited for a client credit, and is the caller's.
  [[nodiscard]] bool leave_client(Receive& receive);
  // The port is about to be free; messages that came from it, or were to go to it, may stay.
  void forget(PeerPort& peer);

  // A next hop or a route is lost: messages that wait for a buffer take another path, or end.
  void end_down();
  // Routing is off: messages that wait end. Those with a buffer go on.
  void end_waiting();
  [[nodiscard]] bool something_waits() const;

  // For the parts below.
  // The message is judged again from the start.
  void admit_again(Receive& receive);
  // The LND hears the decision at the end of the turn.
  void decide(Receive& receive, const RxDecision& decision);
  // The next hop is down: the message takes another path, or is dropped.
  void on_hop_lost(Receive& receive);
  [[nodiscard]] RxDecision refuse_down(Receive& receive);

  ForwardPaths paths;
  ClientQueues clients;
  HopBuffers hops;
  HopStalls stalls;

 private:
  [[nodiscard]] RxDecision find_path(Receive& receive, const MessageHeader& header);
  [[nodiscard]] bool find_other_path(Receive& receive, PeerNi& destination);
  void give_all(Receive& receive);

  ShardCore& core_;
  Sender* sender_ = nullptr;
  std::uint32_t under_way_ = 0;
};

}  // namespace plnet::lnet
