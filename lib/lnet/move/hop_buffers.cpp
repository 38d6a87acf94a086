// SPDX-License-Identifier: BSD-3-Clause
#include "lib/lnet/move/hop_buffers.hpp"

#include <algorithm>

#include "lib/base/check.hpp"
#include "lib/lnet/flow/parked_share.hpp"
#include "lib/lnet/move/shard_core.hpp"

namespace plnet::lnet {

RxDecision HopBuffers::take_buffer(Receive& receive, std::uint32_t length) {
  PLNET_CHECK(!receive.forwarding.has_buffer, "a message takes one buffer");
  PLNET_DEBUG_CHECK(receive.forwarding.next_hop != nullptr && receive.forwarding.hop == nullptr,
                    "a message that takes a buffer has a next hop and counts for none");
  PeerPort* const hop = core_.peers.get(*receive.forwarding.next_hop);
  if (hop == nullptr) return core_.drop(receive, Cause::kDroppedForwardNoPeer);
  if (ForwardPaths::is_down(receive)) return core_.forwarder.refuse_down(receive);
  const BufferClass of = buffer_class_of(length);
  if (core_.buffers.total(of) == 0) return core_.drop(receive, Cause::kDroppedNoBuffers);
  HopQueue& queue = hop->hop.queues[of];
  PLNET_DEBUG_CHECK(hop->hop.is_settled(), "a hop holds the buffers that are counted for it");
  if (!queue.linked() && may_hold(queue)) return hold(receive, queue, length);
  if (hop->hop.stalled) return core_.drop(receive, Cause::kDroppedHopStalled);
  return wait_for_buffer(receive, queue);
}

inline bool HopBuffers::may_hold(const HopQueue& queue) {
  if (queue.held >= core_.buffers.free_count(queue.of)) return false;
  if (has_records(queue.port->hop)) [[likely]]
    return true;
  wants_records_ = true;
  return false;
}

// A Message record for this message and, unless the hop holds nothing else, more records for
// others.
inline bool HopBuffers::has_records(const HopShare& hop) const {
  PLNET_CHECK(core_.messages.free_count() >= promised_, "a promised record is free");
  return hop.held < core_.messages.free_count() - promised_ &&
         hop.held <= core_.receives.free_count();
}

void HopBuffers::look_for_records() {
  wants_records_ = false;
  look_again();
}

inline RxDecision HopBuffers::hold(Receive& receive, HopQueue& queue, std::uint32_t length) {
  Forwarding& forwarding = receive.forwarding;
  forwarding.buffer = core_.buffers.take(queue.of);
  forwarding.has_buffer = true;
  ++promised_;
  PLNET_DEBUG_CHECK(promised_ <= core_.messages.free_count(), "each promise has a free record");
  charge(receive, *queue.port);
  if (queue.port->hop.stalled) core_.forwarder.clients.give_credit(receive);
  return {.verdict = RxVerdict::kReceive,
          .target = core_.buffers.payload(forwarding.buffer, length),
          .length = length,
          .may_keep = length > 0 && !is_captured() && leaves_from_here(forwarding, length),
          .link = receive.link};
}

bool HopBuffers::is_captured() const {
  const MessageTap* const tap = core_.tap();
  return tap != nullptr && tap->wants_payload();
}

// The message leaves on this shard by an LND that accepts kept payloads. A large message to a hop
// with lanes on other shards most likely takes one of those.
bool HopBuffers::leaves_from_here(const Forwarding& path, std::uint32_t length) {
  PLNET_DEBUG_CHECK(path.ni != nullptr && path.next_hop != nullptr,
                    "a message with a buffer has a path");
  const NiPort* const port = core_.ports[path.ni->number];
  if (path.next_hop->home != core_.id || port == nullptr) return false;
  const LndTraits& traits = port->lnd().traits();
  if (!traits.takes_kept || length < traits.bulk_bytes_min) return traits.takes_kept;
  const LndLink* const link = core_.peers.find_link(*path.next_hop, path.ni->number);
  return link == nullptr || link->lanes == 0 || !core_.peers.lanes(*link).any_but(core_.id);
}

// The core keeps the hop's share of the LND's receives: a message that waits for a credit of its
// client is parked before it has a next hop.
RxDecision HopBuffers::wait_for_buffer(Receive& receive, HopQueue& queue) {
  if (!may_park(queue.port->hop.waiting_count(), receive.port->lnd().receives_free())) {
    core_.complaints->add(queue.port->peer_ni->nid, "dropped_hop_parked");
    return core_.drop(receive, Cause::kDroppedHopParked);
  }
  const bool records_short =
      queue.held < core_.buffers.free_count(queue.of) && !has_records(queue.port->hop);
  core_.causes.add(records_short ? Cause::kHeldRecords : Cause::kHeldHopShare);
  PLNET_DEBUG_CHECK(!receive.forwarding.has_buffer && receive.forwarding.hop == nullptr,
                    "a message that waits for a buffer has none");
  receive.forwarding.hop = queue.port;
  core_.waits.begin(receive, ReceiveState::kBufferWait);
  queue.waiting.push_back(receive);
  ++queue.waiting_count;
  core_.buffers.begin_wait(queue.of);
  core_.sweep_wanted = true;
  if (!queue.linked()) {
    in_turn_[queue.of].push_back(queue);
    ++hops_waiting_[queue.of];
  }
  return {.verdict = RxVerdict::kPark};
}

void HopBuffers::leave_queue(Receive& receive) {
  PLNET_CHECK(receive.is(ReceiveState::kBufferWait), "the message waits for a buffer");
  const BufferClass of = buffer_class_of(receive.header.payload_length);
  PLNET_DEBUG_CHECK(receive.forwarding.hop != nullptr,
                    "a message that waits for a buffer counts for a hop");
  HopQueue& queue = receive.forwarding.hop->hop.queues[of];
  PLNET_CHECK(queue.waiting_count > 0, "a message that waits is counted");
  receive.unlink();
  --queue.waiting_count;
  core_.waits.end(receive);
  receive.forwarding.hop = nullptr;
  core_.buffers.end_wait(of);
  if (!queue.waiting.empty()) return;
  PLNET_DEBUG_CHECK(queue.waiting_count == 0 && hops_waiting_[of] > 0,
                    "a hop whose last message leaves is counted");
  queue.unlink();
  --hops_waiting_[of];
}

void HopBuffers::on_payload_complete(Receive& receive) {
  PLNET_CHECK(receive.forwarding.has_buffer && promised_ > 0,
              "a forwarded message has a buffer and the promise of a record");
  --promised_;
  receive.enter(ReceiveState::kLeaving);
  if (PeerPort* const hop = receive.forwarding.hop) count_handed(hop->hop);
}

// Only the first message says when the hop began to hold something; later ones do not prove that it
// takes any.
inline void HopBuffers::count_handed(HopShare& hop) const {
  PLNET_DEBUG_CHECK(hop.held > 0, "a hop is handed buffers that it holds");
  if (hop.handed++ == 0) hop.moved = core_.now;
}

inline void HopBuffers::charge(Receive& receive, PeerPort& hop) {
  PLNET_CHECK(receive.forwarding.hop == nullptr, "a buffer counts for one hop");
  receive.forwarding.hop = &hop;
  ++hop.hop.held;
  if (receive.is(ReceiveState::kLeaving)) count_handed(hop.hop);
  ++hop.hop.queues[receive.forwarding.buffer.of].held;
  PLNET_DEBUG_CHECK(hop.hop.is_settled(), "a hop holds the buffers that are counted for it");
}

void HopBuffers::discharge(Receive& receive) {
  PeerPort* const hop = receive.forwarding.hop;
  if (hop == nullptr) return;
  HopQueue& queue = hop->hop.queues[receive.forwarding.buffer.of];
  PLNET_CHECK(hop->hop.held > 0 && queue.held > 0, "the hop holds this buffer");
  receive.forwarding.hop = nullptr;
  --hop->hop.held;
  --queue.held;
  if (!receive.is(ReceiveState::kLeaving)) return;  // not yet handed to the hop
  PLNET_DEBUG_CHECK(hop->hop.handed > 0, "a message that leaves was handed to its hop");
  --hop->hop.handed;
  hop->hop.moved = core_.now;
  hop->hop.stalled = false;
}

void HopBuffers::move_to(Receive& receive, PeerPort* hop) {
  PLNET_CHECK(receive.forwarding.has_buffer, "a message without a buffer counts for no hop");
  PLNET_CHECK(receive.is(ReceiveState::kLeaving), "a message moves to another hop when it leaves");
  if (hop == receive.forwarding.hop) return;
  discharge(receive);
  // The hop holds less, so its waiting messages get a turn.
  const BufferClass of = receive.forwarding.buffer.of;
  to_look_at_[of] = hops_waiting_[of];
  if (hop == nullptr) return;
  charge(receive, *hop);
  if (hop->hop.stalled) core_.forwarder.clients.give_credit(receive);
}

void HopBuffers::give_buffer(Receive& receive) {
  Forwarding& forwarding = receive.forwarding;
  if (!forwarding.has_buffer) return;
  forwarding.has_buffer = false;
  if (!receive.is(ReceiveState::kLeaving)) {  // the promise was not used
    PLNET_DEBUG_CHECK(promised_ > 0, "a buffer comes with a promise");
    --promised_;
  }
  const BufferClass of = forwarding.buffer.of;
  core_.buffers.give(forwarding.buffer);
  discharge(receive);
  to_look_at_[of] = hops_waiting_[of];
}

bool HopBuffers::has_work() const {
  return std::ranges::any_of(to_look_at_.of_, [](std::uint32_t hops) { return hops > 0; });
}

unsigned HopBuffers::step() {
  unsigned served = 0;
  for (const BufferClass each : kAllBufferClasses) {
    if (to_look_at_[each] > 0) served += serve(each);
  }
  return served;
}

// Each hop gets one buffer in turn. Only a buffer that comes back, or goes to another hop, changes
// what a hop may hold; each hop is looked at once after that.
unsigned HopBuffers::serve(BufferClass of) {
  unsigned served = 0;
  for (std::uint32_t looked = 0; looked < kHopsAtOnce && to_look_at_[of] > 0; ++looked) {
    --to_look_at_[of];
    HopQueue* const queue = in_turn_[of].front();
    if (queue == nullptr) break;
    PLNET_DEBUG_CHECK(!queue->waiting.empty(), "hops in turn have waiting messages");
    queue->unlink();
    in_turn_[of].push_back(*queue);
    if (!may_hold(*queue)) continue;
    start(*queue->waiting.front());
    ++served;
    to_look_at_[of] = hops_waiting_[of];
  }
  return served;
}

void HopBuffers::start(Receive& receive) {
  const BufferClass of = buffer_class_of(receive.header.payload_length);
  HopQueue& queue = receive.forwarding.hop->hop.queues[of];
  leave_queue(receive);
  if (!core_.forwarder.paths.has_path(receive)) return core_.forwarder.admit_again(receive);
  if (ForwardPaths::is_down(receive)) return core_.forwarder.on_hop_lost(receive);
  core_.forwarder.decide(receive, hold(receive, queue, receive.header.payload_length));
}

}  // namespace plnet::lnet
