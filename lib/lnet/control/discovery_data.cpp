// SPDX-License-Identifier: BSD-3-Clause
// The receiving half of discovery: replies, acknowledgements, pushes of other nodes, and the merge
// of their data into peers. lustre-release lnet/lnet/peer.c: lnet_discovery_event_handler(),
// lnet_peer_push_event(), lnet_peer_data_present(), lnet_peer_set_primary_data().
#include <algorithm>
#include <cstring>
#include <utility>

#include "lib/base/check.hpp"
#include "lib/lnet/control/discovery.hpp"

namespace plnet::lnet {

namespace {

std::uint32_t bytes_said(const PingView& buffer) {
  return static_cast<std::uint32_t>(std::min<std::size_t>(buffer.total_bytes(), UINT32_MAX));
}

std::uint32_t interfaces_max(const Parameters& parameters) {
  return static_cast<std::uint32_t>(std::max(parameters.max_interfaces.get(), 1));
}

}  // namespace

// Events of our pings and pushes

void Discovery::on_event(const Event& event) {
  PLNET_CHECK(event.user != nullptr, "the descriptor of an exchange names it");
  PingExchange& exchange = *static_cast<PingExchange*>(event.user);
  if (event.unlinked) {
    PLNET_CHECK(out_ > 0 && exchange.linked, "a descriptor ends once");
    exchange.linked = false;
    --out_;
  }
  auto* state = static_cast<PeerDiscovery*>(exchange.owner);
  if (state == nullptr) {
    if (event.kind == EventKind::kReply || event.kind == EventKind::kAck)
      counters_.add(DiscoveryCounter::kLateEvents);
  } else {
    exchange.kind == ExchangeKind::kPush ? push_event(exchange, event)
                                         : ping_event(exchange, event);
    const bool news = event.kind != EventKind::kSend || !event.status;
    if (news && !up_to_date(*state)) attend(*state, false);
  }
  exchanges_.release(exchange);
}

void Discovery::fail_ping(PeerDiscovery& state, Result<void> why) {
  PLNET_CHECK(state.peer != nullptr, "a ping is that of a peer");
  state.peer->drop_state(kPeerPingSent);
  state.peer->add_state(kPeerPingFailed);
  state.ping_error = why;
  if (!why) counters_.add(DiscoveryCounter::kPingsFailed);
}

void Discovery::ping_event(PingExchange& exchange, const Event& event) {
  auto& state = *static_cast<PeerDiscovery*>(exchange.owner);
  // The received data are kept; the descriptor may still have an event to come.
  const bool open = state.ping == &exchange && state.peer->has(kPeerPingSent);
  if (!open) return;
  if (event.kind == EventKind::kReply) {
    reply_event(state, exchange, event);
  } else if (event.kind == EventKind::kSend) {
    if (!event.status) fail_ping(state, event.status);
  } else if (event.kind == EventKind::kUnlink) {
    fail_ping(state, std::unexpected(Errc::kTimedOut));
  }
}

void Discovery::push_event(PingExchange& exchange, const Event& event) {
  auto& state = *static_cast<PeerDiscovery*>(exchange.owner);
  PeerRecord& peer = *state.peer;
  if (state.push != &exchange || !peer.has(kPeerPushSent)) return;
  Result<void> status = event.status;
  if (event.kind == EventKind::kUnlink) {
    status = std::unexpected(Errc::kTimedOut);
  } else if (event.kind == EventKind::kSend && status) {
    return;
  }
  peer.drop_state(kPeerPushSent);
  if (!status) {
    peer.add_state(kPeerPushFailed);
    state.push_error = status;
    counters_.add(DiscoveryCounter::kPushesFailed);
    return;
  }
  state.acked_sequence = exchange.sequence;
  counters_.add(DiscoveryCounter::kPushesAcked);
  // A SEND event may still come and is ignored.
  state.push = nullptr;
  exchange.owner = nullptr;
  exchange.held = false;
}

// lustre-release lnet/lnet/peer.c: lnet_discovery_event_reply()
void Discovery::reply_event(PeerDiscovery& state, PingExchange& exchange, const Event& event) {
  PeerRecord& peer = *state.peer;
  PLNET_CHECK(state.ping == &exchange && exchange.held, "a reply is to the ping under way");
  state.source = event.target.nid;
  state.target = event.source.nid;
  if (!event.status) return fail_ping(state, event.status);
  counters_.add(DiscoveryCounter::kReplies);
  exchange.length = std::min(event.accepted_length, exchange.fragment.length);
  PLNET_CHECK(exchange.length <= exchange.room.size(), "a reply stays within its slot");
  const auto buffer = PingView::parse(exchange.received(), interfaces_max(parameters_));
  if (!buffer) {
    counters_.add(DiscoveryCounter::kRepliesCorrupt);
    return fail_ping(state, {});
  }
  state.answered = state.asked;
  store_reply_features(peer, *buffer);
  const std::uint32_t said = bytes_said(*buffer);
  state.data_bytes = std::max(state.data_bytes, std::min(said, kPingSlotBytes));
  if (buffer->truncated()) {
    counters_.add(DiscoveryCounter::kRepliesTruncated);
    wanted_push_bytes_ = std::max(wanted_push_bytes_, std::min(said, kPingSlotBytes));
    if (said > kPingSlotBytes) return fail_ping(state, std::unexpected(Errc::kTooBig));
    return fail_ping(state, {});
  }
  const auto primary = buffer->primary();
  if (buffer->has(kPingMultiRail) && primary && *primary == peer.primary)
    state.peer_sequence = buffer->sequence();
  drop_data(state);
  state.ping = nullptr;
  state.data = &exchange;
  peer.drop_state(kPeerPingSent);
  peer.add_state(kPeerDataPresent);
}

void Discovery::store_multi_rail(PeerRecord& peer) {
  // Configured values stay; with discovery off at either end no peer is multi-rail.
  if (peer.has(kPeerMultiRail | kPeerConfigured | kPeerNoDiscovery)) return;
  if (parameters_.discovery.get() != 0) PeerRules::become_multi_rail(peer);
}

void Discovery::store_reply_features(PeerRecord& peer, const PingView& buffer) {
  if (!buffer.has(kPingDiscovery) || parameters_.discovery.get() == 0) {
    // The peer had discovery on, or counts as multi-rail without its own report: discard that, and
    // begin anew.
    if (!peer.has(kPeerConfigured | kPeerNoDiscovery) && peer.has(kPeerDiscovered | kPeerMultiRail))
      peer.add_state(kPeerMarkDeletion);
    peer.add_state(kPeerNoDiscovery);
  } else {
    peer.drop_state(kPeerNoDiscovery);
  }
  if (buffer.has(kPingMultiRail)) return store_multi_rail(peer);
  if (!peer.multi_rail() || peer.is(kPeerConfigured)) return;
  counters_.add(DiscoveryCounter::kMultiRailLost);
  peer.drop_state(kPeerMultiRail);
}

// Pushes of other nodes

void Discovery::store_push_features(PeerRecord& peer, const PingView& buffer) {
  if (!buffer.has(kPingDiscovery)) {
    // The kernel forgets a configured peer here, though not because of a reply. Here it stays in
    // both cases.
    if (!peer.has(kPeerNoDiscovery | kPeerDiscovering | kPeerConfigured) &&
        peer.is(kPeerDiscovered))
      peer.add_state(kPeerMarkDeletion);
    peer.add_state(kPeerNoDiscovery);
  } else {
    peer.drop_state(kPeerNoDiscovery);
  }
  store_multi_rail(peer);
}

// The push comes from its own node, or from a gateway on another network.
bool Discovery::may_report(const Nid& sender, const PeerRecord& peer, const Nid& source) const {
  if (sender.is_any() || sender == source) return true;
  const PeerRecord* const by = directory_.peer_of(sender);
  if (by == nullptr) return false;
  return by == &peer || (source.net() != sender.net() && by->gateway_refs > 0);
}

void Discovery::on_push(const Event& event, std::span<const std::byte> bytes) {
  counters_.add(DiscoveryCounter::kPushesHeard);
  PeerRecord* peer = directory_.peer_of(event.source.nid);
  if (peer == nullptr || shut_) return counters_.add(DiscoveryCounter::kPushesUnknown);
  const bool is_its_own = may_report(event.sender, *peer, event.source.nid);
  PeerDiscovery& state = state_of(*peer);
  state.peer = peer;
  const auto discover_instead = [peer] {
    peer->drop_state(kPeerNidsUpToDate);
    peer->add_state(kPeerForcePing);
  };
  const auto buffer = PingView::parse(bytes, interfaces_max(parameters_));
  if (!is_its_own) {
    counters_.add(DiscoveryCounter::kPushesForeign);
    directory_.complaints().add(event.sender, "pushes_foreign");
    discover_instead();
  } else if (!event.status || !buffer) {
    counters_.add(DiscoveryCounter::kPushesCorrupt);
    discover_instead();
  } else {
    const std::uint32_t said = bytes_said(*buffer);
    state.data_bytes = std::max(state.data_bytes, std::min(said, kPingSlotBytes));
    if (!buffer->has(kPingMultiRail)) {
      counters_.add(DiscoveryCounter::kPushesNotMultiRail);
    } else {
      store_push_features(*peer, *buffer);
      if (event.accepted_length < event.requested_length || buffer->truncated()) {
        counters_.add(DiscoveryCounter::kPushesTruncated);
        wanted_push_bytes_ = std::max(wanted_push_bytes_, std::min(said, kPingSlotBytes));
        discover_instead();
      } else {
        keep_push(state, *buffer, bytes);
      }
    }
  }
  if (!up_to_date(state)) attend(state, true);
}

void Discovery::keep_push(PeerDiscovery& state, const PingView& buffer,
                          std::span<const std::byte> bytes) {
  PeerRecord& peer = *state.peer;
  state.peer_sequence = buffer.sequence();
  peer.drop_state(kPeerNidsUpToDate);
  const std::size_t length = std::min(buffer.total_bytes(), bytes.size());
  PLNET_CHECK(length <= kPingSlotBytes, "a slot holds every push");
  PLNET_CHECK(!peer.is(kPeerDataPresent) || state.data != nullptr,
              "data that are present have a slot");
  if (peer.is(kPeerDataPresent)) {
    // A race with a ping or an earlier push: the newer data count.
    const auto there = PingView::parse(state.data->received(), interfaces_max(parameters_));
    if (there && buffer.sequence() <= there->sequence()) return;
  } else {
    state.data = exchanges_.take(ExchangeKind::kHeard, &state);
    if (state.data == nullptr) {
      counters_.add(DiscoveryCounter::kPushesNoSlot);
      return peer.add_state(kPeerForcePing);
    }
    peer.add_state(kPeerDataPresent);
  }
  std::memcpy(state.data->room.data(), bytes.data(), length);
  state.data->length = static_cast<std::uint32_t>(length);
}

// Merging

// lustre-release lnet/lnet/peer.c: lnet_peer_data_present()
Discovery::Step Discovery::process_data(PeerDiscovery& state) {
  PLNET_CHECK(state.data != nullptr && state.data->held, "data that are present have a slot");
  PeerRecord& peer = *state.peer;
  PingExchange& data = *state.data;
  state.data = nullptr;  // still held, so that its contents stay until the end
  data.owner = nullptr;
  peer.drop_state(kPeerDataPresent);
  peer.add_state(kPeerNidsUpToDate);
  const auto buffer = PingView::parse(data.received(), interfaces_max(parameters_));
  const auto primary = buffer ? buffer->primary() : std::nullopt;
  Step step{Verdict::kAgain, {}};
  // 0@lo, a wildcard or a malformed NID names no node.
  if (primary && !primary->is_any() && primary->is_well_formed() && !primary->is_loopback())
    step = merge_by_primary(state, *buffer, *primary);
  directory_.commit();
  request_claims();
  data.held = false;
  exchanges_.release(data);
  return state.peer == nullptr ? Step{Verdict::kGone, {}} : step;
}

// Asks peers whose NIDs other peers have listed as their own.
void Discovery::request_claims() {
  for (const Nid& nid : std::exchange(merge_.to_ask(), {})) {
    PeerRecord* const peer = directory_.peer_of(nid);
    if (peer == nullptr || shut_) continue;
    make_stale(*peer, false);
    PeerDiscovery& state = state_of(*peer);
    state.peer = peer;
    attend(state, false);
  }
}

bool Discovery::lists_primary(const PeerRecord& peer, const PingView& buffer) const {
  auto walk = buffer.walk();
  while (const auto entry = walk.next()) {
    if (entry->nid == peer.primary) return true;
  }
  return false;
}

Discovery::Step Discovery::merge_by_primary(PeerDiscovery& state, const PingView& buffer,
                                            const Nid& primary) {
  PeerRecord& peer = *state.peer;
  PeerFlags flags = kPeerDiscovered;
  if (buffer.has(kPingMultiRail)) flags |= kPeerMultiRail;
  // Place for a primary NID that the upper layer requests (lp_merge_primary_nid).
  const bool same = peer.primary == primary;
  const bool ours_is_listed = discovery_is_off(peer, parameters_) && lists_primary(peer, buffer);
  if (!peer.primary.is_loopback() && (same || ours_is_listed)) {
    merge_.note_word(peer, primary);
    return merge(state, buffer);
  }
  PeerRecord* owner = directory_.peer_of(primary);
  if (owner != nullptr && owner != &peer && !peer.primary.is_loopback()) {
    if (!merge_.may_join(peer, *owner)) return {Verdict::kAgain, {}};
    return hand_over(state, *owner, buffer);
  }
  merge_.note_word(peer, primary);
  const auto renamed = rules_.set_primary(peer, primary, flags);
  if (!renamed) {
    const PeerError why = renamed.error();
    // The primary NID is set later, or not at all without room: the rest is merged now.
    if (why == PeerError::kAgain || why == PeerError::kNoMemory) return merge(state, buffer);
    return {Verdict::kEnd, std::unexpected(info_of(why).code)};
  }
  counters_.add(DiscoveryCounter::kPrimaryChanged);
  return merge(state, buffer);
}

Discovery::Step Discovery::merge(PeerDiscovery& state, const PingView& buffer) {
  const bool later = merge_.merge(*state.peer, buffer);
  if (state.peer != nullptr && later) state.incomplete = incomplete_ = true;
  return {Verdict::kAgain, {}};
}

// The reported primary NID belongs to another peer: that peer takes the data, and usually the
// interface that they came by.
Discovery::Step Discovery::hand_over(PeerDiscovery& state, PeerRecord& to, const PingView& buffer) {
  PeerRecord& from = *state.peer;
  PeerDiscovery& owner = state_of(to);
  PLNET_CHECK(&from != &to && !to.dead, "the data go to another living peer");
  owner.peer = &to;
  counters_.add(DiscoveryCounter::kHandedOver);
  if (!from.is(kPeerNoDiscovery)) to.drop_state(kPeerNoDiscovery);
  if (from.multi_rail()) PeerRules::become_multi_rail(to);
  if (!state.source.is_any()) {
    owner.source = state.source;
    owner.target = state.target;
  }
  attend(owner, true);
  // The peer may have newer data of its own.
  bool newer_is_there = false;
  if (to.multi_rail()) {
    if (owner.peer_sequence < buffer.sequence()) {
      owner.peer_sequence = buffer.sequence();
    } else {
      newer_is_there = to.is(kPeerDataPresent);
    }
  }
  if (!newer_is_there) {
    to.drop_state(kPeerDataPresent);
    drop_data(owner);
  }
  if (to.is(kPeerPingFailed)) {
    abandon(owner.ping);
    to.drop_state(kPeerPingFailed);
    owner.ping_error = {};
  }
  to.drop_state(kPeerForcePing);
  to.add_state(kPeerNidsUpToDate);
  Step step{Verdict::kAgain, {}};
  if (!newer_is_there) step = merge(owner, buffer);  // else the next turn of that peer merges it
  if (state.peer != nullptr && owner.peer != nullptr) observer_.on_handed_over(from, to);
  return step;
}

}  // namespace plnet::lnet
