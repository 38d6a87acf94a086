// SPDX-License-Identifier: BSD-3-Clause
// Router buffers for forwarded messages. A next hop takes another buffer of a class while it holds
// fewer than are free there: a hop that takes nothing holds half of them, ten such hops hold a
// tenth each and leave a tenth. A message without a buffer waits in the queue of its hop and class;
// hops with waiting messages are served in turn.
//
// A buffer comes with the promise of a Message record, of which there may be fewer than buffers. So
// no message that was received waits for a record behind those that a dead hop holds.
#pragma once

#include <cstddef>
#include <cstdint>

#include "lib/lnet/api/lnd.hpp"
#include "lib/lnet/flow/forward_share.hpp"
#include "lib/lnet/move/receive.hpp"

namespace plnet::lnet {

struct ShardCore;

class HopBuffers {
 public:
  // Hops of a class that step() looks at while a buffer is free.
  static constexpr std::uint32_t kHopsAtOnce = 32;

  explicit HopBuffers(ShardCore& core) : core_(core) {}

  // Hot. For a message with a path. kPark: it waits, and its decision comes later.
  [[nodiscard]] RxDecision take_buffer(Receive& receive, std::uint32_t length);
  // Hot. Returns the buffer and its promise. Nothing if the message has no buffer.
  void give_buffer(Receive& receive);
  // Hot. The payload is complete and the message leaves: its hop is responsible for the time from
  // now on. The caller takes the promised record.
  void on_payload_complete(Receive& receive);
  // The message waits for a buffer: takes it out of its queue.
  void leave_queue(Receive& receive);
  // The message has a buffer and another next hop now. Null: the shard has no port for it.
  void move_to(Receive& receive, PeerPort* hop);
  // The buffer of the message counts for no hop any more.
  void discharge(Receive& receive);
  // Calls visit(receive) for each message that waits; the visit may take it out of its queue.
  template <class Visit>
  void for_each_waiting(Visit&& visit) {
    for (const BufferClass each : kAllBufferClasses) {
      in_turn_[each].for_each([&](HopQueue& queue) { queue.waiting.for_each(visit); });
    }
  }

  // Message records that belong to messages with a buffer.
  [[nodiscard]] std::size_t promised() const { return promised_; }
  // Hot. A Message or Receive record is free again.
  void on_record_free() {
    if (wants_records_) [[unlikely]]
      look_for_records();
  }
  // There are more buffers than before.
  void look_again() { to_look_at_ = hops_waiting_; }
  // Gives out buffers that have come back. Once a turn; returns the number of served messages.
  unsigned step();
  [[nodiscard]] bool has_work() const;

 private:
  [[nodiscard]] RxDecision hold(Receive& receive, HopQueue& queue, std::uint32_t length);
  [[nodiscard]] RxDecision wait_for_buffer(Receive& receive, HopQueue& queue);
  [[nodiscard]] bool may_hold(const HopQueue& queue);
  [[nodiscard]] bool has_records(const HopShare& hop) const;
  void look_for_records();
  [[nodiscard]] bool is_captured() const;
  [[nodiscard]] bool leaves_from_here(const Forwarding& path, std::uint32_t length);
  void charge(Receive& receive, PeerPort& hop);
  void count_handed(HopShare& hop) const;
  unsigned serve(BufferClass of);
  void start(Receive& receive);

  ShardCore& core_;
  ByBufferClass<IntrusiveList<HopQueue>> in_turn_;  // queues with waiting messages
  BufferCounts hops_waiting_;
  BufferCounts to_look_at_;  // of these, since a buffer or a record came back
  std::size_t promised_ = 0;
  bool wants_records_ = false;  // some hop waits because records are short
};

}  // namespace plnet::lnet
