// SPDX-License-Identifier: BSD-3-Clause
#include "lib/lnet/peers/peer_directory.hpp"

#include <algorithm>

#include "lib/base/check.hpp"

namespace plnet::lnet {

namespace {

using Id = PeerTable::Id;

// Peers that a search for an idle one looks at, each time that there is no room.
constexpr unsigned kEvictionLooks = 64;

ViewBlocks::Counts view_counts(const PeerLimits& limits) {
  return {limits.peers, limits.peers_over_2, limits.peers_over_8, limits.peers_over_40};
}

}  // namespace

PeerDirectory::PeerDirectory(const PeerLimits& limits, Qsbr& qsbr, Placement& placement,
                             PeerDirectoryHooks& hooks)
    : limits_(limits),
      qsbr_(qsbr),
      placement_(placement),
      hooks_(hooks),
      peers_(limits.peers),
      nis_(limits.peer_nis),
      nets_(limits.peer_nis),
      views_(view_counts(limits), qsbr),
      table_(limits.peer_nis, qsbr),
      accounts_(peers_.capacity()) {
  PLNET_CHECK(limits.peer_nis >= limits.peers, "every peer has an interface");
  PLNET_CHECK(limits.strangers_per_second > 0, "strangers become peers");
  PLNET_CHECK(limits.kept_for_own < limits.peers, "strangers become peers");
  PLNET_CHECK(limits.named_by_one > 0 && limits.named_per_second > 0, "named ones become peers");
}

// Empties the lists before the pools of their elements are destroyed.
PeerDirectory::~PeerDirectory() {
  for_each([](PeerRecord& peer) {
    while (PeerNetRecord* net = peer.nets.pop_front()) {
      while (net->nis.pop_front() != nullptr) {
      }
    }
  });
}

bool PeerDirectory::may_be_peer(const Nid& nid) const {
  return !nid.is_any() && nid.is_well_formed();
}

void PeerDirectory::net_added(NetId id) {
  const Net* net = local_->net(id);
  PLNET_CHECK(net != nullptr, "a network that was added is there");
  table_.for_each([&](const Nid& nid, PeerNi* ni) {
    if (nid.net() != id) return;
    PLNET_CHECK(!net->nis.empty(), "a network has an NI");
    const std::int32_t credits = net->nis.front()->tunables.peer_credits;
    ni->tx_credits_max.set(credits);
    ni->tx_credits.set(credits);
  });
}

void PeerDirectory::net_lost(PeerNetRecord& net) {
  net.nis.for_each([](PeerNiRecord& ni) {
    ni.tx_credits_max.set(0);
    ni.tx_credits.set(0);
  });
}

void PeerDirectory::remove_local(const Ni& gone) {
  table_.for_each([&](const Nid& /*nid*/, PeerNi* ni) {
    if (ni->preferred_ni.get() == &gone) ni->preferred_ni.set(nullptr);
  });
}

PeerNiRecord* PeerDirectory::lookup(const Nid& nid) const {
  PeerNi* ni = table_.lookup(nid).value_or(nullptr);
  return ni == nullptr || record_of(*ni).stage != PeerNiStage::kLive ? nullptr : &record_of(*ni);
}

PeerRecord* PeerDirectory::peer_of(const Nid& nid) const {
  const PeerNiRecord* ni = lookup(nid);
  return ni == nullptr ? nullptr : &peer_of(*ni);
}

PeerRecord* PeerDirectory::by_number(std::uint32_t number) {
  if (!peers_.is_lent(number)) return nullptr;
  PeerRecord& peer = peers_.at(number);
  return peer.dead ? nullptr : &peer;
}

// Strangers.

Duration PeerDirectory::each_stranger() const {
  return Duration(std::chrono::seconds(1)) / limits_.strangers_per_second;
}

bool PeerDirectory::stranger_in_time(Instant now) {
  const Duration each = each_stranger();
  next_stranger_ = std::max(next_stranger_, now);
  if (next_stranger_ - now > std::chrono::seconds(1) - each) return false;
  next_stranger_ += each;
  return true;
}

// nullptr: no peer answers for it.
PeerRecord* PeerDirectory::namer_of(const WantedPeer& wanted) const {
  const bool named = wanted.demand == PeerDemand::kOthers && wanted.named_by != wanted.nid;
  return named ? peer_of(wanted.named_by) : nullptr;
}

Result<void> PeerDirectory::permit(const WantedPeer& wanted, Instant now) {
  if (PeerRecord* const by = namer_of(wanted)) return permit_named(wanted, *by, now);
  if (wanted.demand != PeerDemand::kStranger || stranger_in_time(now)) return {};
  if (!wanted.again) counters_.add(Id::kLimited);
  return std::unexpected(Errc::kNoSpace);
}

// A gateway may name all the peers behind it.
Result<void> PeerDirectory::permit_named(const WantedPeer& wanted, PeerRecord& by, Instant now) {
  PLNET_CHECK(!by.dead, "a living peer answers for the peers that it names");
  const bool gateway = by.gateway_refs > 0;
  const std::size_t share = gateway ? limits_.named_by_gateway : limits_.named_by_one;
  if (accounts_.held_by(by.number) >= share) {
    const bool room_is_made = dead_count_ > 0;
    if (room_is_made || evict_one(now, by.number)) return std::unexpected(Errc::kAgain);
    counters_.add(Id::kShareUsed);
    complaints_.add(by.primary, "peers_share_used");
    return std::unexpected(Errc::kNoMemory);
  }
  const std::uint32_t rate = gateway ? limits_.strangers_per_second : limits_.named_per_second;
  PLNET_CHECK(rate > 0, "a peer that names others has a rate");
  const Duration each = Duration(std::chrono::seconds(1)) / rate;
  if (accounts_.in_time(by.number, each, now)) return {};
  if (!wanted.again) counters_.add(Id::kLimited);
  return std::unexpected(Errc::kNoSpace);
}

bool PeerDirectory::may_be_evicted(PeerRecord& peer, Instant now) const {
  constexpr std::uint32_t kBusy = kPeerConfigured | kPeerLockPrimary | kPeerDiscovering |
                                  kPeerRouterDiscovery | kPeerPingSent | kPeerPushSent;
  if (peer.has(kBusy) || peer.holds > 0 || peer.gateway_refs > 0) return false;
  const Instant limit = now - limits_.idle_before_eviction;
  if (peer.created > limit) return false;
  return std::ranges::all_of(peer.seen().nis, [limit](const PeerNi* ni) {
    return ni->last_alive_ns.get() < limit.time_since_epoch().count() &&
           ni->queued_bytes.get() == 0 && ni->connected_by.get() == 0;
  });
}

bool PeerDirectory::evict_one(Instant now, std::uint32_t payer) {
  for (unsigned look = 0; look < std::min<std::size_t>(kEvictionLooks, peers_.capacity()); ++look) {
    PLNET_CHECK(hand_ < numbers(), "the search for an idle peer stays in the table");
    PeerRecord* peer = by_number(hand_);
    hand_ = hand_ + 1 == numbers() ? 0 : hand_ + 1;
    if (peer == nullptr || !may_be_evicted(*peer, now)) continue;
    if (payer != PeerAccounts::kNobody && accounts_.payer_of(peer->number) != payer) continue;
    counters_.add(Id::kEvicted);
    destroy(*peer);
    commit();
    return true;
  }
  return false;
}

Result<PeerNi*> PeerDirectory::create_by_traffic(const WantedPeer& wanted, Instant now) {
  const Nid& nid = wanted.nid;
  if (PeerNiRecord* there = lookup(nid)) {
    if (wanted.demand != PeerDemand::kOthers) accounts_.discharge(peer_of(*there).number);
    return there;
  }
  if (!may_be_peer(nid)) {
    counters_.add(Id::kRefused);
    return std::unexpected(Errc::kInvalid);
  }
  const std::size_t kept = wanted.demand == PeerDemand::kOwn ? 0 : limits_.kept_for_own;
  const bool full = nis_.free_count() <= kept || peers_.free_count() <= kept;
  if (full) {
    const bool room_is_made = dead_count_ > 0;
    if (room_is_made || evict_one(now)) {
      if (!wanted.again) counters_.add(Id::kWaited);
      return std::unexpected(Errc::kAgain);
    }
    counters_.add(Id::kFull);
    return std::unexpected(Errc::kNoMemory);
  }
  if (const auto permitted = permit(wanted, now); !permitted)
    return std::unexpected(permitted.error());
  const auto peer = create(nid, now);
  if (!peer) {
    if (wanted.demand == PeerDemand::kStranger)
      next_stranger_ -= each_stranger();  // the request is repeated
    counters_.add(peer.error() == PeerError::kAgain ? Id::kWaited : Id::kFull);
    return std::unexpected(info_of(peer.error()).code);
  }
  PeerNi* made = lookup(nid);
  PLNET_CHECK(made != nullptr, "a new peer is found by its NID");
  PLNET_CHECK(made->nid == nid && !made->leaving.get(), "a new peer NI can be found");
  made->preferred_ni.set(wanted.received_on);
  if (PeerRecord* const by = namer_of(wanted)) accounts_.charge((*peer)->number, by->number);
  commit();
  return made;
}

// Peers and their parts.

PeerResult<PeerRecord*> PeerDirectory::create(const Nid& nid, Instant now) {
  if (!may_be_peer(nid)) return std::unexpected(PeerError::kInvalid);
  const PeerNi* there = table_.lookup(nid).value_or(nullptr);
  if (there != nullptr && static_cast<const PeerNiRecord*>(there)->stage > PeerNiStage::kDetached)
    return std::unexpected(PeerError::kAgain);
  std::uint8_t view_class = 0;
  if (peers_.free_count() == 0 || !views_.reserve(view_class, 1))
    return std::unexpected(PeerError::kNoMemory);
  ViewBlock* block = views_.take(view_class);
  if (block == nullptr) {
    views_.cancel(view_class);
    return std::unexpected(PeerError::kAgain);
  }
  PeerRecord* peer = peers_.take();
  PLNET_CHECK(peer != nullptr && peer->ni_count == 0, "a free peer has no interfaces");
  PLNET_CHECK(!peer->linked() && peer->nets.empty(),
              "a free peer is in no list and has no network");
  peer->number = peers_.index_of(peer);
  peer->state.set(nid.is_loopback() ? kPeerNoDiscovery : 0U);
  peer->alive.set(true);
  peer->primary = nid;
  peer->view_class = view_class;
  peer->dead = false;
  peer->holds = peer->gateway_refs = peer->leaving_nis = peer->lock_order = 0;
  peer->created = now;
  peer->block = block;
  block->view = {.primary = nid, .nets = {}, .nis = {}};
  peer->view.store(&block->view, std::memory_order_release);
  const auto ni = attach(*peer, nid);
  if (!ni) {
    views_.retire(block);
    views_.cancel(view_class);
    peers_.give(peer);
    return std::unexpected(ni.error());
  }
  counters_.add(Id::kCreated);
  counters_.add(Id::kPeers);
  return peer;
}

PeerResult<PeerNiRecord*> PeerDirectory::make_ni(const Nid& nid) {
  PeerNiRecord* ni = nis_.take();
  if (ni == nullptr) return std::unexpected(PeerError::kNoMemory);
  PLNET_CHECK(ni->stage == PeerNiStage::kFree && !ni->linked(), "a free peer NI is in no list");
  const HomePlace home = placement_.choose(nid, *local_);
  PLNET_CHECK(home.shard < kShardsMax, "a peer NI has a home");
  const Net* net = local_->net(nid.net());
  ni->nid = nid;
  ni->number = nis_.index_of(ni);
  ni->net = nid.net();
  ni->home = home.shard;
  ni->cpt = home.cpt;
  ni->health.set(kHealthMax);
  ni->status.set(kNiUp);
  ni->priority.set(kPriorityLowest);
  ni->tx_credits_max.set(net == nullptr ? 0 : net->nis.front()->tunables.peer_credits);
  ni->tx_credits.set(ni->tx_credits_max.get());
  ni->queued_bytes.set(0);
  ni->last_alive_ns.set(INT64_MIN);
  ni->recovery_requested_s.set(0);
  ni->connected_by.set(0);
  ni->preferred_ni.set(nullptr);
  ni->preferences.store(nullptr, std::memory_order_relaxed);
  ni->leaving.set(false);
  ni->traits.set(0);
  ni->stage = PeerNiStage::kLive;
  ni->silent = false;
  ni->in_net = nullptr;
  counters_.add(Id::kPeerNis);
  return ni;
}

void PeerDirectory::unmake(PeerNiRecord& ni) {
  PLNET_CHECK(ni.stage == PeerNiStage::kDetached || ni.stage == PeerNiStage::kGone,
              "a peer NI that is freed has left its peer");
  PLNET_CHECK(!ni.linked(), "a peer NI that is freed is in no list");
  placement_.leave({ni.cpt, ni.home});
  ni.stage = PeerNiStage::kFree;
  nis_.give(&ni);
  counters_.subtract(Id::kPeerNis);
}

PeerNetRecord* PeerDirectory::net_of(PeerRecord& peer, NetId id) {
  PeerNetRecord* found = nullptr;
  peer.nets.for_each([&](PeerNetRecord& net) {
    if (net.net == id) found = &net;
  });
  if (found != nullptr) return found;
  PeerNetRecord* fresh = nets_.take();
  if (fresh == nullptr) return nullptr;
  PLNET_CHECK(!fresh->linked() && fresh->nis.empty(), "a free network of a peer has no NI");
  fresh->net = id;
  fresh->priority = hooks_.priority_of_peer_net(id);
  fresh->count = 0;
  fresh->peer = &peer;
  return fresh;
}

bool PeerDirectory::has_room_in(PeerRecord& peer, NetId net) {
  if (!views_.may_exchange(peer.view_class, peer.ni_count + 1U)) return false;
  bool has_net = nets_.free_count() > 0;
  peer.nets.for_each([&](const PeerNetRecord& each) { has_net = has_net || each.net == net; });
  return has_net;
}

void PeerDirectory::link(PeerRecord& peer, PeerNetRecord& net, PeerNiRecord& ni) {
  PLNET_CHECK(net.peer == &peer && net.net == ni.net, "a peer NI is linked to its network");
  PLNET_CHECK(!peer.dead, "a peer that goes gets no interface");
  PLNET_CHECK(!ni.linked(), "a peer NI is in one network");
  const bool primary = peer.primary == ni.nid;
  primary ? net.nis.push_front(ni) : net.nis.push_back(ni);
  ++net.count;
  if (!net.linked()) primary ? peer.nets.push_front(net) : peer.nets.push_back(net);
  ++peer.ni_count;
  PLNET_CHECK(peer.ni_count <= kNisMax, "a peer has no more NIs than its largest view");
  ni.in_net = &net;
  ni.stage = PeerNiStage::kLive;
  // The view must exist before any reader can find the peer.
  if (peer.ni_count == 1) {
    fill(peer, *peer.block);
    peer.publish(peer.block->view);
  } else {
    mark_changed(peer);
  }
  ni.peer.store(&peer, std::memory_order_release);
}

PeerResult<PeerNiRecord*> PeerDirectory::attach(PeerRecord& peer, const Nid& nid) {
  if (!may_be_peer(nid)) return std::unexpected(PeerError::kInvalid);
  PLNET_CHECK(!peer.dead, "a peer that goes gets no interface");
  PeerNi* there = table_.lookup(nid).value_or(nullptr);
  PeerNiRecord* ni = there == nullptr ? nullptr : &record_of(*there);
  if (ni != nullptr && ni->stage == PeerNiStage::kLive && &peer_of(*ni) == &peer) return ni;
  if (ni != nullptr && ni->stage > PeerNiStage::kDetached)
    return std::unexpected(PeerError::kAgain);
  if (!views_.exchange(peer.view_class, peer.ni_count + 1U))
    return std::unexpected(PeerError::kNoMemory);
  PeerNetRecord* net = net_of(peer, nid.net());
  if (net == nullptr) return std::unexpected(PeerError::kNoMemory);
  if (ni == nullptr) {
    const auto made = make_ni(nid);
    if (!made) {
      if (!net->linked()) nets_.give(net);
      return std::unexpected(made.error());
    }
    ni = *made;
    link(peer, *net, *ni);
    if (!table_.insert(nid, ni)) {  // the table frees entries after readers have passed
      leave_net(*ni);
      ni->unlink();
      unmake(*ni);
      return std::unexpected(PeerError::kAgain);
    }
  } else {
    if (ni->stage == PeerNiStage::kLive) detach(*ni);
    ni->unlink();
    counters_.add(Id::kMoved);
    link(peer, *net, *ni);
  }
  hooks_.on_peer_ni_added(*ni);
  return ni;
}

void PeerDirectory::leave_net(PeerNiRecord& ni) {
  PLNET_CHECK(ni.in_net != nullptr && ni.stage == PeerNiStage::kLive,
              "a live peer NI leaves its network");
  PeerNetRecord& net = *ni.in_net;
  PLNET_CHECK(net.peer != nullptr, "the network of a peer NI has a peer");
  PeerRecord& peer = *net.peer;
  ni.unlink();
  ni.in_net = nullptr;
  ni.stage = PeerNiStage::kDetached;
  // The maker of the preferences can no longer find the interface.
  ni.preferences.store(nullptr, std::memory_order_relaxed);
  detached_.push_back(ni);
  PLNET_CHECK(peer.ni_count > 0 && net.count > 0, "interfaces are counted");
  --peer.ni_count;
  if (--net.count == 0) {
    net.unlink();
    nets_left_.push_back(net);
  }
}

void PeerDirectory::detach(PeerNiRecord& ni) {
  PLNET_CHECK(ni.stage == PeerNiStage::kLive, "only a live interface leaves its peer");
  PeerRecord& peer = peer_of(ni);
  leave_net(ni);
  if (peer.ni_count == 0) return release_peer(peer);
  const bool smaller = views_.exchange(peer.view_class, peer.ni_count);
  PLNET_CHECK(smaller, "fewer always have room");
  mark_changed(peer);
  if (peer.is(kPeerDiscovered)) hooks_.on_peer_lost_ni(peer);
}

void PeerDirectory::destroy(PeerRecord& peer) {
  PLNET_CHECK(!peer.dead, "destroyed twice");
  while (PeerNetRecord* net = peer.nets.front())
    leave_net(*net->nis.front());
  release_peer(peer);
}

void PeerDirectory::release_peer(PeerRecord& peer) {
  PLNET_CHECK(peer.ni_count == 0 && peer.nets.empty(), "a peer that goes has no interface left");
  if (peer.linked()) peer.unlink();
  peer.dead = true;
  peer.add_state(kPeerMarkDeleted);
  peer.grace = 0;
  dead_.push_back(peer);
  ++dead_count_;
  counters_.add(Id::kDeleted);
  counters_.subtract(Id::kPeers);
  hooks_.on_peer_gone(peer);
}

void PeerDirectory::rename(PeerRecord& peer, const Nid& primary) {
  PLNET_CHECK(!peer.dead && !primary.is_any(), "only a living peer gets a primary NID");
  peer.primary = primary;
  mark_changed(peer);
}

void PeerDirectory::bring_to_front(PeerNiRecord& ni) {
  PLNET_CHECK(ni.stage == PeerNiStage::kLive && ni.in_net != nullptr,
              "a live peer NI has its place");
  PeerNetRecord& net = *ni.in_net;
  PeerRecord& peer = *net.peer;
  if (peer.nets.front() == &net && net.nis.front() == &ni) return;
  net.unlink();
  peer.nets.push_front(net);
  ni.unlink();
  net.nis.push_front(ni);
  mark_changed(peer);
}

void PeerDirectory::set_priority(PeerNetRecord& net, std::uint32_t priority) {
  PLNET_CHECK(net.peer != nullptr && !net.peer->dead, "a network in use belongs to a living peer");
  net.priority = priority;
  mark_changed(*net.peer);
}

void PeerDirectory::transfer_gateway(PeerRecord& from, PeerRecord& to) {
  if (from.gateway_refs == 0 || &from == &to) return;
  PLNET_CHECK(!to.dead, "routes lead through a living peer");
  to.gateway_refs += from.gateway_refs;
  from.gateway_refs = 0;
  hooks_.on_gateway_moved(from, to);
}

}  // namespace plnet::lnet
