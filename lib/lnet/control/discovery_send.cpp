// SPDX-License-Identifier: BSD-3-Clause
// The sending half of discovery: our pings and pushes, and their slots.
#include <algorithm>
#include <cstring>

#include "lib/base/check.hpp"
#include "lib/lnet/control/discovery.hpp"

namespace plnet::lnet {

namespace {

// A check uses one slot, and an LND may still have an earlier one that was given up.
constexpr std::size_t kSlotsOfGateway = 2;

}  // namespace

// Some slots stay free for others: for pushes to this node, and for checks of gateways. A slot for
// a silent peer is used for as long as a transaction may take, and routes must not wait for a
// hundred clients without power, nor for each other.
bool Discovery::may_take(const PeerDiscovery& state, std::size_t free) const {
  const std::size_t slots = exchanges_.capacity();
  const std::size_t for_heard = std::max(slots / 8, std::size_t{1});
  if (state.is_check()) return free > for_heard;
  const std::size_t for_checks = std::clamp(kSlotsOfGateway * gateways_, slots / 4, slots / 2);
  PLNET_DEBUG_CHECK(for_heard + for_checks <= slots, "some slots are for discovery");
  return free > for_heard + for_checks - std::min(for_checks, exchanges_.checks());
}

// Pings of users and of recovery free slots, too, and do not know the waiting peers.
void Discovery::wake_starved() {
  std::size_t free = exchanges_.free_count();
  for (; !starved_.empty() && may_take(*starved_.front(), free); --free)
    place(*starved_.front(), DiscoveryPlace::kRequested);
}

// Behind a gateway there are none: a lost connection is that of the gateway, and the timeout ends
// the exchange.
std::uint32_t Discovery::losses_of(const PeerRecord& peer) {
  PLNET_CHECK(!peer.dead, "a living peer has connections");
  std::uint32_t sum = 0;
  for (const PeerNi* const ni : peer.seen().nis)
    sum += ni->losses.get();
  return sum;
}

// The connection of the exchange has ended, or the node has restarted: there may be no answer, and
// all messages for the peer would wait until the transaction timeout, as in the kernel.
void Discovery::ask_again_if_lost(PeerDiscovery& state) {
  const PingExchange* const sent = state.ping != nullptr ? state.ping : state.push;
  if (sent == nullptr || sent->losses == losses_of(*state.peer)) return;
  if (state.retries == kRetriesMax) return;
  ++state.retries;
  ask_again(state);
}

void Discovery::on_network_removed(PeerRecord& peer) {
  PeerDiscovery& state = state_of(peer);
  const bool asked = state.peer == &peer && (state.ping != nullptr || state.push != nullptr);
  if (asked && !shut_) ask_again(state);
}

void Discovery::ask_again(PeerDiscovery& state) {
  PLNET_CHECK(state.peer != nullptr && (state.ping != nullptr || state.push != nullptr),
              "an exchange under way is repeated");
  counters_.add(DiscoveryCounter::kAskedAgain);
  PeerRecord& peer = *state.peer;
  if (state.ping != nullptr) peer.add_state(kPeerForcePing);
  if (state.push != nullptr) peer.add_state(kPeerForcePush);
  peer.drop_state(kPeerPingSent | kPeerPushSent);
  abandon(state.ping);
  abandon(state.push);
  attend(state, false);
}

// Its events find no owner from now on.
void Discovery::abandon(PingExchange*& exchange) {
  if (exchange == nullptr) return;
  PingExchange& left = *exchange;
  exchange = nullptr;
  PLNET_CHECK(left.held, "an exchange is given up once");
  left.left_by = left.owner;
  left.owner = nullptr;
  left.held = false;
  if (left.linked && !left.md.is_none()) {
    (void)operations_.unlink(left.md);  // the unlink may end it inside the call
  } else {
    exchanges_.release(left);
  }
}

// Keeps the results that were not reported yet.
void Discovery::abandon_all(PeerDiscovery& state) {
  abandon(state.ping);
  abandon(state.push);
  state.peer->drop_state(kPeerPingSent | kPeerPushSent | kPeerPingFailed | kPeerPushFailed);
  state.ping_error = state.push_error = {};
}

void Discovery::drop_data(PeerDiscovery& state) {
  if (state.data == nullptr) return;
  PingExchange& data = *state.data;
  PLNET_CHECK(data.held, "received data have a slot");
  state.data = nullptr;
  data.owner = nullptr;  // its descriptor may still have an event to come
  data.held = false;
  exchanges_.release(data);
}

PingExchange* Discovery::slot_to_send(PeerDiscovery& state, ExchangeKind kind) {
  if (may_take(state, exchanges_.free_count())) {
    if (PingExchange* const slot = exchanges_.take(kind, &state)) return slot;
  }
  counters_.add(DiscoveryCounter::kStarved);
  place(state, DiscoveryPlace::kStarved);
  return nullptr;
}

// This node has too many messages just now: that is no fault of the peer, and a gateway must not go
// down for it.
Discovery::Step Discovery::wait_for_record(PeerDiscovery& state, std::uint32_t to_send) {
  counters_.add(DiscoveryCounter::kShort);
  state.peer->add_state(to_send);
  place(state, DiscoveryPlace::kShort);
  return {Verdict::kWait, {}};
}

Discovery::Step Discovery::send_ping(PeerDiscovery& state) {
  PeerRecord& peer = *state.peer;
  if (state.ping != nullptr) return {Verdict::kWait, {}};  // its answer will do
  PingExchange* ping = slot_to_send(state, ExchangeKind::kPing);
  if (ping == nullptr) return {Verdict::kWait, {}};
  ping->fragment.length =
      std::clamp<std::uint32_t>(state.data_bytes, kPingBytesMin, kPingSlotBytes);
  PLNET_CHECK(ping->fragment.length <= ping->room.size(), "a reply fits into its slot");
  const auto bound = operations_.bind({.fragments = std::span(&ping->fragment, 1),
                                       .length = ping->fragment.length,
                                       .threshold = 2,  // GET and REPLY
                                       .options = kMdTruncate | kMdTrackResponse,
                                       .user = ping,
                                       .handler = this});
  peer.drop_state(kPeerForcePing);
  if (!bound) {
    abandon(ping);
    if (state.is_check()) return wait_for_record(state, kPeerForcePing);
    return {Verdict::kEnd, std::unexpected(bound.error())};
  }
  PLNET_CHECK(ping->held && !ping->linked, "a slot has one descriptor at a time");
  peer.add_state(kPeerPingSent);
  ping->md = *bound;
  ping->losses = losses_of(peer);
  ping->linked = true;
  ++out_;
  state.ping = ping;
  if (state.is_check()) exchanges_.becomes_check(*ping, state.check_target);
  const Nid target = state.check_target.is_any() ? peer.primary : state.check_target;
  const auto sent = operations_.get(ping->md, {.target = {target, kLustrePid},
                                               .from = state.check_from,
                                               .portal = kPingPortal,
                                               .match_bits = kPingMatchBits});
  if (!sent) {
    peer.drop_state(kPeerPingSent | kPeerPingFailed);
    abandon(state.ping);
    if (sent.error() == Errc::kNoMemory) return wait_for_record(state, kPeerForcePing);
    counters_.add(DiscoveryCounter::kPingsFailed);
    return {Verdict::kEnd, sent};
  }
  state.asked = true;
  counters_.add(DiscoveryCounter::kPingsSent);
  return {Verdict::kWait, {}};
}

Discovery::Step Discovery::send_push(PeerDiscovery& state) {
  PeerRecord& peer = *state.peer;
  if (state.push != nullptr) return {Verdict::kWait, {}};
  PingExchange* push = slot_to_send(state, ExchangeKind::kPush);
  if (push == nullptr) return {Verdict::kWait, {}};
  // A copy: the pushed buffer is the one of its sequence number, regardless of later changes.
  const auto ours = ping_target_.bytes();
  PLNET_CHECK(ours.size() <= push->room.size(), "a slot holds every ping buffer");
  if (!ours.empty()) std::memcpy(push->room.data(), ours.data(), ours.size());
  push->fragment.length = static_cast<std::uint32_t>(ours.size());
  push->sequence = ping_target_.sequence();
  const auto bound = operations_.bind({.fragments = std::span(&push->fragment, 1),
                                       .length = push->fragment.length,
                                       .threshold = 2,  // PUT and ACK
                                       .options = kMdTrackResponse,
                                       .user = push,
                                       .handler = this});
  peer.drop_state(kPeerForcePush);
  if (!bound) {
    abandon(push);
    if (state.is_check()) return wait_for_record(state, kPeerForcePush);
    return {Verdict::kEnd, std::unexpected(bound.error())};
  }
  PLNET_CHECK(push->held && !push->linked, "a slot has one descriptor at a time");
  peer.add_state(kPeerPushSent);
  push->md = *bound;
  push->losses = losses_of(peer);
  push->linked = true;
  ++out_;
  state.push = push;
  const Nid target = state.target.is_any() ? peer.primary : state.target;
  const Nid from = state.source;
  // The path of the ping is for the push after it, not for later ones.
  state.source = state.target = Nid::any();
  const auto sent = operations_.put(push->md, {.target = {target, kLustrePid},
                                               .from = from,
                                               .portal = kPingPortal,
                                               .match_bits = kPingMatchBits,
                                               .ack = true});
  if (!sent) {
    peer.drop_state(kPeerPushSent | kPeerPushFailed);
    abandon(state.push);
    if (sent.error() == Errc::kNoMemory) return wait_for_record(state, kPeerForcePush);
    counters_.add(DiscoveryCounter::kPushesFailed);
    return {Verdict::kEnd, sent};
  }
  counters_.add(DiscoveryCounter::kPushesSent);
  return {Verdict::kWait, {}};
}

}  // namespace plnet::lnet
