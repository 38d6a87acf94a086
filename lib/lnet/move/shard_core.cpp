// SPDX-License-Identifier: BSD-3-Clause
#include "lib/lnet/move/shard_core.hpp"

#include "lib/base/check.hpp"

namespace plnet::lnet {

namespace {

// Finer than any timeout of LNet's, coarser than a turn.
constexpr Duration kTimerTick = std::chrono::milliseconds(10);

// True: health has left its maximum, or has reached an end of its range.
bool change(HealthValue& health, HealthChange what, std::int32_t step) {
  HealthValue::Change done{};
  switch (what) {
    case HealthChange::kNone: return false;
    case HealthChange::kDemerit: done = health.lower(step); break;
    case HealthChange::kMerit: done = health.raise(step); break;
    case HealthChange::kFull: health.set(kHealthMax); return false;
  }
  const bool left_maximum = done.from == kHealthMax;
  return done.from != done.to && (left_maximum || done.to == 0 || done.to == kHealthMax);
}

}  // namespace

ShardCore::ShardCore(NodeShared& node, ShardId number, std::uint16_t cpt_number, Instant start,
                     const PeerIdentity& identity, MatchHooks& hooks)
    : shared(node),
      id(number),
      cpt(cpt_number),
      tap_slot(number < node.taps.size() ? node.taps[number] : kNoTap),
      now(start),
      messages(node.limits.messages),
      receives(node.limits.receives),
      peers(node.peer_nis, node.limits.peer_ports, node.limits.extra_links,
            node.shards == 1 ? 0 : node.limits.lane_sets),
      timers(start, kTimerTick),
      sequences(
          {.peer_nets = node.peer_nis, .peer_nis = node.peer_nis, .routes = node.limits.routes}),
      outbox(node.mail, number, node.shards),
      match({.shard = number,
             .interface_cookie = node.interface_cookie,
             .own_pid = node.pid,
             .descriptors = node.limits.descriptors,
             .entries = node.limits.match_entries},
            *node.portals, timers, identity, hooks),
      buffers(number < node.router_memory.size() ? node.router_memory[number] : RouterMemory{}) {
  PLNET_CHECK(number < node.shards && node.shards <= kShardsMax, "a shard is one of the node");
  PLNET_CHECK(node.coordinator < node.shards, "the coordinator is on a shard of the node");
  PLNET_CHECK(node.shards == 1 || node.mail != nullptr, "several shards have mailboxes");
}

void ShardCore::post(Parcel& parcel, ShardId to, ParcelStep step) {
  PLNET_CHECK(to < shared.shards && !parcel.linked(), "a parcel goes to a shard of this node");
  parcel.step = step;
  if (to == id) return inbox.push_back(parcel);
  outbox.add(parcel, to);
}

// The kernel sends a forwarded message again by the class of its failure, and after the removal of
// a peer or an interface. Some bytes may have left, and the receiver could not recognize a second
// copy: here a forwarded message is sent again only if its LND reports that no byte has left.
bool ShardCore::may_go_again(const Message& message) const {
  PLNET_CHECK(message.hop != nullptr, "a message with a path may go again");
  const Ending& result = message.result;
  if (result.quarantined || result.status) return false;
  if (result.status.error() == Errc::kShutdown) return false;
  return !message.routed || (result.unsent && has_other_path(message));
}

// For a forwarded message: another NI of this node, another NID of the hop's peer, or another
// gateway.
bool ShardCore::has_other_path(const Message& message) const {
  const PeerNi& hop = *message.hop;
  const Net* const net = local().net(hop.net);
  if (net != nullptr && net->nis.size() > 1) return true;
  if (!message.next_hop_is_router) return forwarder.paths.may_avoid(hop, false, message.header);
  return has_others(hop) || routes_to(message.header.destination.net(), hop).by_others;
}

void ShardCore::judge_sent_slowly(Ni& ni, Message& message) {
  PLNET_CHECK(message.hop != nullptr && message.ni == &ni, "a message is judged by its path");
  MessageEnd end{.health = message.result.health,
                 .failed = !message.result.status.has_value(),
                 .sent = true,
                 .late = now > message.deadline,
                 .unsent = message.result.unsent,
                 .ni_works = ni.heard_ns.get() > message.since.get().time_since_epoch().count(),
                 .recovery = message.recovery,
                 .no_resend = !may_go_again(message),
                 .forwarded = message.routed,
                 .retries = message.retries};
  const HealthVerdict verdict = judge(end, ni, *message.hop);
  message.result.again = verdict.resend;
  if (verdict.retries_exhausted) statistics.add(Statistic::kFailedResends);
}

void ShardCore::judge_received_slowly(Ni& ni, PeerNi& peer_ni, Result<void> status, Health health) {
  MessageEnd end{.health = health, .failed = !status.has_value(), .received = true};
  (void)judge(end, ni, peer_ni);
}

bool ShardCore::reaches(const PeerView& gateway, NetId from) const {
  if (from != kNetAny) return gateway.net(from) != nullptr;
  return std::ranges::any_of(
      gateway.nets, [this](const PeerNetView& on) { return local().net(on.net) != nullptr; });
}

ShardCore::LiveRoutes ShardCore::routes_to(NetId net, const PeerNi& hop, NetId from) const {
  LiveRoutes live;
  const RemoteNet* const remote = routes().net(net);
  if (remote == nullptr) return live;
  const Peer* const gateway = hop.peer.load(std::memory_order_acquire);
  for (const Route* const route : remote->routes) {
    if (!route->alive.get()) continue;
    const Peer* const by = route->gateway.load(std::memory_order_acquire);
    if (by == gateway) {
      live.by_hop = true;
    } else if (reaches(by->seen(), from)) {
      live.by_others = true;
    }
  }
  return live;
}

void ShardCore::judge_down(Ni& ni, PeerNi& hop) {
  MessageEnd end{.health = Health::kRemoteDropped, .failed = true, .sent = true};
  (void)judge(end, ni, hop);
  (void)request_recovery(hop);
}

void ShardCore::request_recovery_if_needed(PeerNi& ni) {
  const Peer* const peer = ni.peer.load(std::memory_order_acquire);
  request_recovery_if_needed(
      ni, peer != nullptr && (!peer->single.get() || routes().is_gateway(*peer)));
}

// No message asks again for this peer NI, so a request that finds no room makes the coordinator
// look at all peer NIs.
void ShardCore::request_recovery_if_needed(PeerNi& ni, bool rivals) {
  if (!needs_recovery(ni, rivals, shared.parameters)) return;
  if (!request_recovery(ni)) shared.recovery_overflow.store(true, std::memory_order_release);
}

// Once a second for each peer NI, which is the shortest interval of pings.
bool ShardCore::request_recovery(PeerNi& hop) {
  const auto second = static_cast<std::uint16_t>(  // 0: none
      now.time_since_epoch() / std::chrono::seconds(1) % UINT16_MAX + 1);
  if (hop.recovery_requested_s.get() == second) return true;
  if (!recovery_requests->push(hop.nid)) return false;
  hop.recovery_requested_s.set(second);
  if (!shared.recovery_requested.exchange(true, std::memory_order_release))
    shared.doorbells[shared.coordinator]->ring();
  return true;
}

void ShardCore::count_failure(Health health, const Ni& ni, const PeerNi& peer_ni) {
  if (health == Health::kOk) return;
  PLNET_DEBUG_CHECK(ni.number < ports.size(), "numbers of NIs are dense");
  if (NiPort* const port = ports[ni.number]) port->failures.add(failure_id(health));
  if (PeerPort* const port = peers.find(peer_ni)) port->failures.add(failure_id(health));
}

HealthVerdict ShardCore::judge(MessageEnd& end, Ni& ni, PeerNi& peer_ni) {
  if (end.failed && !end.late) count_failure(end.health, ni, peer_ni);
  const LocalView& ours = local();
  const Peer* const peer = peer_ni.peer.load(std::memory_order_acquire);
  end.node_routes = shared.parameters.routes();
  end.local_nis = static_cast<std::uint32_t>(ours.nis.size());
  end.peer_is_router = peer != nullptr && routes().is_gateway(*peer);
  end.peer_ni_is_ours = ours.ni(peer_ni.nid) != nullptr;
  end.peer_nis = peer == nullptr ? 0 : static_cast<std::uint32_t>(peer->seen().nis.size());
  end.retries_max =
      std::min(static_cast<std::uint32_t>(shared.parameters.retry_count.get()), kRetriesMax);
  const HealthVerdict verdict = lnet::judge(end);
  const std::int32_t step = shared.parameters.health_sensitivity.get();
  if (change(ni.health, verdict.local, step)) notify_ni_changed();
  PLNET_DEBUG_CHECK(step >= 0 && end.retries_max <= kRetriesMax,
                    "settings that messages use are in their range");
  (void)change(peer_ni.health, verdict.peer, step);
  if (verdict.recover_peer)
    request_recovery_if_needed(peer_ni, end.peer_is_router || end.peer_nis > 1);
  return verdict;
}

void ShardCore::notify_ni_changed() const {
  shared.ni_changed.store(true, std::memory_order_release);
  PLNET_DEBUG_CHECK(shared.coordinator < shared.doorbells.size(), "the coordinator has a doorbell");
  shared.doorbells[shared.coordinator]->ring();
}

}  // namespace plnet::lnet
