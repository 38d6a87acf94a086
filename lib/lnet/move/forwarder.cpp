// SPDX-License-Identifier: BSD-3-Clause
#include "lib/lnet/move/forwarder.hpp"

#include <algorithm>
#include <new>
#include <utility>

#include "lib/lnet/flow/parked_share.hpp"
#include "lib/lnet/move/shard_core.hpp"

namespace plnet::lnet {

namespace {
bool is_response(const MessageHeader& header) {
  return header.type == MessageType::kAck || header.type == MessageType::kReply;
}
}  // namespace

void Forwarder::begin(Receive& receive) {
  receive.forwarding = {};
  ++under_way_;
}

RxDecision Forwarder::admit(Receive& receive, const MessageHeader& header) {
  if (!core_.shared.parameters.routes()) [[unlikely]]
    return core_.drop(receive, Cause::kDroppedNotRouting);
  if (!receive.forwarding.has_credit && !take_credit(receive)) {
    return {.verdict = RxVerdict::kPark};
  }
  return find_way(receive, header);
}

void Forwarder::give_back(Receive& receive) {
  give_all(receive);
  --under_way_;
}

void Forwarder::give_all(Receive& receive) {
  bring(receive);
  if (receive.is(ReceiveState::kBufferWait)) leave_queue(receive);
  give_buffer(receive);
  give_credit(receive);
}

// --- The path ---

RxDecision Forwarder::find_way(Receive& receive, const MessageHeader& header) {
  const LookedAhead::Destination destination = core_.destination_of(header.destination);
  if (destination.peer_ni == nullptr) {
    // Whatever NID the header names would become a peer, though it is of no use.
    if (!leads_anywhere(header.destination.net()))
      return core_.drop(receive, Cause::kDroppedForwardNoPath);
    core_.waits.begin(receive, ReceiveState::kDestinationWait);
    core_.post(receive, core_.shared.coordinator, ParcelStep::kWantPeer);
    return {.verdict = RxVerdict::kPark};
  }
  if (!choose_way(receive, *destination.peer_ni, destination.gateway)) {
    return core_.drop(receive, Cause::kDroppedForwardNoPath);
  }
  if (is_forbidden(receive, *destination.peer_ni))
    return core_.drop(receive, Cause::kDroppedAccess);
  return take_buffer(receive, header.payload_length);
}

// Of a peer with this one NID, which is all that is known of a stranger.
bool Forwarder::leads_anywhere(NetId net) const {
  return core_.local().net(net) != nullptr || core_.routes().net(net) != nullptr;
}

// Discovery of the destination is not waited for, as it is in the kernel: who made the message has
// chosen the NID, and that is where it goes.
bool Forwarder::choose_way(Receive& receive, PeerNi& destination, const OnlyHop& ahead) {
  Forwarding& forwarding = receive.forwarding;
  const LocalView& local = core_.local();
  const auto go = [&](Ni& ni, PeerNi& next_hop, bool via_router) {
    forwarding.ni = &ni;
    forwarding.next_hop = &next_hop;
    forwarding.destination = destination.nid;
    forwarding.via_router = via_router;
    return true;
  };
  forwarding.chosen_at = static_cast<std::uint8_t>(core_.hops_lost_seen);
  if (ahead.ni != nullptr) {
    take_only_hop(ahead, local, core_.sequences);
    return go(*ahead.ni, *ahead.next_hop, true);
  }
  if (Ni* const ni = only_way(destination, false, local, core_.sequences)) {
    return go(*ni, destination, false);
  }
  if (const OnlyHop only = only_gateway(destination, local, core_.routes(), core_.sequences);
      only.ni != nullptr) {
    return go(*only.ni, *only.next_hop, true);
  }
  return compare_ways(receive, destination,
                      is_ill(destination) && may_take_any_nid(receive.header));
}

bool Forwarder::compare_ways(Receive& receive, PeerNi& destination, bool any_nid) {
  Forwarding& forwarding = receive.forwarding;
  const PathRequest request{.destination = &destination,
                            .forwarded = true,
                            .takes_any_answer = any_nid,
                            .response = is_response(receive.header),
                            .memory_cpt = core_.cpt,
                            .distances = core_.shared.distances,
                            .device_priorities = {}};
  const auto path =
      select_path(request, core_.local(), core_.routes(), core_.sequences, core_.shared.parameters);
  if (!path || path->loopback) return false;
  forwarding.ni = path->ni;
  forwarding.next_hop = path->next_hop;
  forwarding.destination = path->destination_nid();
  forwarding.via_router = path->via_router;
  return true;
}

// Of an answer nobody knows whether its NID matters to who gets it.
bool Forwarder::may_take_any_nid(const MessageHeader& header) const {
  if (is_response(header)) return false;
  const PeerNi* const known = core_.shared.directory->find(header.source);
  return takes_any_answer(header.source, known, core_.local());
}

// A peer of several NIDs may be sent to by another one than was asked for, of which the rules have
// not been asked.
bool Forwarder::is_forbidden_elsewhere(const Receive& receive) const {
  if (receive.forwarding.destination == receive.header.destination) [[likely]]
    return false;
  MessageHeader header = receive.header;
  header.destination = receive.forwarding.destination;
  return core_.forbids_to_forward(header, receive.port->ni());
}

// Then it goes where it was to go, however ill that is.
bool Forwarder::is_forbidden(Receive& receive, PeerNi& destination) {
  if (!is_forbidden_elsewhere(receive)) return false;
  return !compare_ways(receive, destination, false) || is_forbidden_elsewhere(receive);
}

// The pointer to the NI is looked for before it is followed: nothing keeps the NI there.
bool Forwarder::has_way(const Receive& receive) const {
  const Forwarding& way = receive.forwarding;
  if (way.next_hop == nullptr || way.next_hop->leaving.get()) return false;
  const std::vector<Ni*>& ours = core_.local().nis;
  return std::ranges::find(ours, way.ni) != ours.end() && way.ni->net == way.next_hop->net &&
         (way.chosen_at == static_cast<std::uint8_t>(core_.hops_lost_seen) || leads_on(way));
}

// Of what was chosen before some next hop was lost. A gateway that is drained says that it does not
// route, and does so yet: where there is no other it is as good as ever.
bool Forwarder::leads_on(const Forwarding& way) const {
  if (!way.via_router) return true;
  const ShardCore::Ways ways = core_.ways_to(way.destination.net(), *way.next_hop);
  return ways.by_hop || !ways.by_others;
}

bool Forwarder::find_other_way(Receive& receive, PeerNi& destination) {
  if (!choose_way(receive, destination, {}) || is_forbidden(receive, destination)) return false;
  PeerPort* const hop = core_.peers.get(*receive.forwarding.next_hop);
  if (hop == receive.forwarding.hop) return true;
  discharge(receive);
  // What waits for a buffer there has its turn.
  const BufferClass of = receive.forwarding.buffer.of;
  to_look_at_[of] = hops_waiting_[of];
  if (hop == nullptr) return true;
  charge(receive, *hop);
  if (hop->hop.stalled) give_credit(receive);
  return true;
}

// --- The buffer ---

RxDecision Forwarder::take_buffer(Receive& receive, std::uint32_t length) {
  const Forwarding& way = receive.forwarding;
  PeerPort* const hop = core_.peers.get(*way.next_hop);
  if (hop == nullptr) return core_.drop(receive, Cause::kDroppedForwardNoPeer);
  if (is_down(receive)) return refuse_down(receive);
  const BufferClass of = buffer_class_of(length);
  if (core_.buffers.total(of) == 0) return core_.drop(receive, Cause::kDroppedNoBuffers);
  HopQueue& queue = hop->hop.queues[of];
  if (!queue.linked() && may_hold(queue)) return hold(receive, queue, length);
  if (hop->hop.stalled) return core_.drop(receive, Cause::kDroppedHopStalled);
  return wait_for_buffer(receive, queue);
}

inline bool Forwarder::may_hold(const HopQueue& queue) {
  if (queue.held >= core_.buffers.free_count(queue.of)) return false;
  if (has_records(queue.port->hop)) [[likely]]
    return true;
  wants_records_ = true;
  return false;
}

// A message to leave with, and, unless it is the hop's only one, records for what comes next.
inline bool Forwarder::has_records(const HopShare& hop) const {
  return hop.held < core_.messages.free_count() - promised_ &&
         hop.held <= core_.receives.free_count();
}

void Forwarder::look_for_records() {
  wants_records_ = false;
  look_again();
}

void Forwarder::let_go(Receive& receive) {
  --promised_;
  receive.enter(ReceiveState::kLeaving);
  if (PeerPort* const hop = receive.forwarding.hop) hand(hop->hop);
}

// The first of them: what comes later is no sign of life.
void Forwarder::hand(HopShare& hop) const {
  if (hop.handed++ == 0) hop.moved = core_.now;
}

bool Forwarder::is_watched() const {
  const MessageTap* const tap = core_.tap();
  return tap != nullptr && tap->wants_payload();
}

RxDecision Forwarder::hold(Receive& receive, HopQueue& queue, std::uint32_t length) {
  Forwarding& forwarding = receive.forwarding;
  forwarding.buffer = core_.buffers.take(queue.of);
  forwarding.has_buffer = true;
  ++promised_;
  charge(receive, *queue.port);
  if (queue.port->hop.stalled) give_credit(receive);
  return {.verdict = RxVerdict::kReceive,
          .target = core_.buffers.payload(forwarding.buffer, length),
          .length = length,
          .may_keep = length > 0 && !is_watched() && leaves_from_here(forwarding, length),
          .link = receive.link};
}

// On this shard, by an LND that may know how to hand a payload on that nobody has unpacked. What
// may take a lane on another one most likely will.
bool Forwarder::leaves_from_here(const Forwarding& way, std::uint32_t length) {
  const NiPort* const port = core_.ports[way.ni->number];
  if (way.next_hop->home != core_.id || port == nullptr) return false;
  const LndTraits& traits = port->lnd().traits();
  if (!traits.takes_kept || length < traits.bulk_bytes_min) return traits.takes_kept;
  const LndLink* const link = core_.peers.find_link(*way.next_hop, way.ni->number);
  return link == nullptr || link->lanes == 0 || !core_.peers.lanes(*link).any_but(core_.id);
}

// The core keeps the hop's share of the LND's receives: a message that waits for a credit of its
// client is parked before it has a next hop.
RxDecision Forwarder::wait_for_buffer(Receive& receive, HopQueue& queue) {
  if (!may_park(queue.port->hop.waiting_count(), receive.port->lnd().receives_free())) {
    core_.complaints->tell(queue.port->peer_ni->nid, "dropped_hop_parked");
    return core_.drop(receive, Cause::kDroppedHopParked);
  }
  const bool records_short =
      queue.held < core_.buffers.free_count(queue.of) && !has_records(queue.port->hop);
  core_.causes.add(records_short ? Cause::kHeldRecords : Cause::kHeldHopShare);
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

void Forwarder::leave_queue(Receive& receive) {
  const BufferClass of = buffer_class_of(receive.header.payload_length);
  HopQueue& queue = receive.forwarding.hop->hop.queues[of];
  receive.unlink();
  --queue.waiting_count;
  core_.waits.end(receive);
  receive.forwarding.hop = nullptr;
  core_.buffers.end_wait(of);
  if (!queue.waiting.empty()) return;
  queue.unlink();
  --hops_waiting_[of];
}

void Forwarder::charge(Receive& receive, PeerPort& hop) {
  receive.forwarding.hop = &hop;
  ++hop.hop.held;
  if (receive.is(ReceiveState::kLeaving)) hand(hop.hop);
  ++hop.hop.queues[receive.forwarding.buffer.of].held;
}

void Forwarder::discharge(Receive& receive) {
  PeerPort* const hop = receive.forwarding.hop;
  if (hop == nullptr) return;
  receive.forwarding.hop = nullptr;
  --hop->hop.held;
  --hop->hop.queues[receive.forwarding.buffer.of].held;
  if (!receive.is(ReceiveState::kLeaving)) return;  // not yet handed to the hop
  --hop->hop.handed;
  hop->hop.moved = core_.now;
  hop->hop.stalled = false;
}

// Into the buffer, with what its LND has kept of it.
void Forwarder::bring(Receive& receive) {
  PayloadKeeper* const keeper = std::exchange(receive.forwarding.keeper, nullptr);
  if (keeper != nullptr) keeper->bring(receive.rx);
}

void Forwarder::give_buffer(Receive& receive) {
  Forwarding& forwarding = receive.forwarding;
  if (!forwarding.has_buffer) return;
  forwarding.has_buffer = false;
  if (!receive.is(ReceiveState::kLeaving)) --promised_;  // the promise was not used
  const BufferClass of = forwarding.buffer.of;
  core_.buffers.give(forwarding.buffer);
  discharge(receive);
  to_look_at_[of] = hops_waiting_[of];
}

bool Forwarder::is_down(const Receive& receive) {
  const Forwarding& way = receive.forwarding;
  return ShardCore::is_down_for(receive.header, *way.ni, *way.next_hop, way.via_router);
}

// Kernel: counted where it would have left, and at the expense of the next hop's health.
// lustre-release lnet/lnet/lib-move.c: lnet_post_send_locked()
RxDecision Forwarder::refuse_down(Receive& receive) {
  const Forwarding& way = receive.forwarding;
  core_.tap_drop(receive, Cause::kDroppedHopDown);
  core_.drop(Cause::kDroppedHopDown, receive.header.payload_length);
  core_.statistics.add(Statistic::kRemoteDropped);
  const LnetTraffic::Id dropped = traffic_id(TrafficWay::kDropped, receive.header.type);
  if (NiPort* const port = core_.ports[way.ni->number]) port->traffic.add(dropped);
  if (PeerPort* const hop = core_.peers.find(*way.next_hop)) hop->traffic.add(dropped);
  core_.judge_down(*way.ni, *way.next_hop);
  return {.verdict = RxVerdict::kDrop, .reason = Errc::kNoRoute, .link = receive.link};
}

// --- What waits ---

bool Forwarder::has_work() const {
  return std::ranges::any_of(to_look_at_.of_, [](std::uint32_t hops) { return hops > 0; });
}

unsigned Forwarder::step() {
  unsigned served = 0;
  for (const BufferClass each : kAllBufferClasses) {
    if (to_look_at_[each] > 0) served += serve(each);
  }
  return served;
}

// One for each hop in turn. Only a buffer that comes home, or goes to another hop, changes what a
// hop may have; each of the others is looked at once after that.
unsigned Forwarder::serve(BufferClass of) {
  unsigned served = 0;
  for (std::uint32_t looked = 0; looked < kHopsAtOnce && to_look_at_[of] > 0; ++looked) {
    --to_look_at_[of];
    HopQueue* const queue = in_turn_[of].front();
    if (queue == nullptr) break;
    queue->unlink();
    in_turn_[of].push_back(*queue);
    if (!may_hold(*queue)) continue;
    start(*queue->waiting.front());
    ++served;
    to_look_at_[of] = hops_waiting_[of];
  }
  return served;
}

void Forwarder::start(Receive& receive) {
  const BufferClass of = buffer_class_of(receive.header.payload_length);
  HopQueue& queue = receive.forwarding.hop->hop.queues[of];
  leave_queue(receive);
  if (!has_way(receive)) return ask_again(receive);
  if (is_down(receive)) return lose_hop(receive);
  decide(receive, hold(receive, queue, receive.header.payload_length));
}

void Forwarder::decide(Receive& receive, const Decision& decision) {
  ::new (&receive.decision) RxDecision(decision);
  core_.decide(receive);
}

void Forwarder::ask_again(Receive& receive) {
  receive.outcome = {};
  core_.post(receive, core_.id, ParcelStep::kWaitOver);
}

}  // namespace plnet::lnet
