// SPDX-License-Identifier: BSD-3-Clause
#include "lib/lnet/control/peer_recovery.hpp"

#include <algorithm>

#include "lib/base/check.hpp"
#include "lib/lnet/control/gateway.hpp"
#include "lib/lnet/paths/health_rules.hpp"
#include "lib/lnet/paths/route_aliveness.hpp"

namespace plnet::lnet {

namespace {

// The list of interfaces in the answer is not used: the ping has the least room, like the kernel's
// recovery pings (LNET_PING_INFO_MIN_SIZE).
constexpr std::uint32_t kPingInterfaces = 1;
// Doublings of the interval: 2^31 s are more than any setting.
constexpr unsigned kDoublings = 31;
// Places of the directory in one step.
constexpr std::uint32_t kNumbersAtOnce = 256;

}  // namespace

Duration PeerRecovery::interval_max(const PeerNi* ni) const {
  const Duration set = std::max(
      kFirst, Duration(std::chrono::seconds(parameters_.max_recovery_ping_interval_s.get())));
  if (ni == nullptr) return set;
  const auto* const peer = static_cast<const PeerRecord*>(ni->peer.load(std::memory_order_acquire));
  const bool is_gateway = peer != nullptr && peer->gateway_refs > 0;
  const bool is_hop = ni->status.get() != kNiUp || is_gateway;
  return is_hop ? std::min(set, kHopIntervalMax) : set;
}

// 1 s, 2 s, 4 s, …
Duration PeerRecovery::interval_after(const Entry& entry) const {
  const Duration most = interval_max(directory_.find(entry.target.nid));
  return entry.pings <= kDoublings ? std::min(kFirst * (Duration::rep{1} << entry.pings), most)
                                   : most;
}

PeerRecovery::Entry* PeerRecovery::find(const Nid& nid) {
  const auto known = std::ranges::find_if(
      entries_, [&nid](const Entry& entry) { return entry.used && entry.target.nid == nid; });
  return known == entries_.end() ? nullptr : &*known;
}

void PeerRecovery::add(const Nid& nid, Instant now) {
  PLNET_CHECK(!nid.is_any(), "a recovery ping asks one NID");
  if (Entry* const known = find(nid)) {
    add_known(*known, now);
  } else if (!begin(nid, now)) {
    request_look_at_all();
    counters_.add(RecoveryCounter::kNoRoom);
  }
}

// The NI may have changed its state since its next ping was scheduled.
void PeerRecovery::add_known(Entry& entry, Instant now) {
  entry.wanted = now;
  const PeerNi* const ni = directory_.find(entry.target.nid);
  if (ni == nullptr || entry.under_way) return;
  if (ni->last_alive_ns.get() > entry.begun.time_since_epoch().count()) {
    entry.pings = 0;
    entry.next = std::min(entry.next, now + kFirst);
  }
  entry.next = std::min(entry.next, now + interval_max(ni));
  next_look_ = std::min(next_look_, entry.next);
}

void PeerRecovery::keep(const Nid& nid, Instant now) {
  if (find(nid) == nullptr && !begin(nid, now)) request_look_at_all();
}

bool PeerRecovery::begin(const Nid& nid, Instant now) {
  PLNET_CHECK(find(nid) == nullptr, "an NI is pinged by one entry");
  Entry* const entry = place(now);
  if (entry == nullptr) return false;
  PLNET_CHECK(!entry->used && !entry->under_way, "a free entry is taken");
  entry->used = true;
  entry->pings = 0;
  entry->heard = false;
  entry->target = {nid, kLustrePid};
  entry->wanted = now;
  entry->begun = Instant::min();
  entry->next = now + kFirst;
  next_look_ = std::min(next_look_, entry->next);
  counters_.add(RecoveryCounter::kBegun);
  counters_.add(RecoveryCounter::kPeerNis);
  return true;
}

// Silent entries that have only lost health give way to others; the next look at all peers adds
// them again.
PeerRecovery::Entry* PeerRecovery::place(Instant now) {
  Entry* oldest = nullptr;
  for (Entry& entry : entries_) {
    if (entry.under_way) continue;
    if (!entry.used) return &entry;
    if (oldest == nullptr || entry.wanted < oldest->wanted) oldest = &entry;
  }
  if (oldest == nullptr || now - oldest->wanted <= kWantedFor) return nullptr;
  counters_.add(RecoveryCounter::kLetGo);
  remove(*oldest);
  request_look_at_all();
  return oldest;
}

bool PeerRecovery::lacks_health(const PeerNi& ni) const {
  const auto* const peer = static_cast<const PeerRecord*>(ni.peer.load(std::memory_order_acquire));
  const bool is_gateway = peer != nullptr && peer->gateway_refs > 0;
  const bool rivals = peer != nullptr && (peer->ni_count > 1 || is_gateway);
  // Checks ask it if no other NI of the gateway on its network is up.
  const bool is_left = is_gateway && is_silent(ni) && has_ni_up(peer->seen(), ni.net);
  return is_left || needs_recovery(ni, rivals, parameters_);
}

// False: there is no room for more.
bool PeerRecovery::begin_ill_of(const PeerRecord& peer, Instant now) {
  return std::ranges::all_of(peer.seen().nis, [&](const PeerNi* ni) {
    return !lacks_health(*ni) || find(ni->nid) != nullptr || begin(ni->nid, now);
  });
}

void PeerRecovery::look_at_all(Instant now) {
  PLNET_CHECK(look_at_ <= directory_.numbers(), "the look stays in the table");
  const std::uint32_t end = std::min(directory_.numbers(), look_at_ + kNumbersAtOnce);
  for (; look_at_ < end; ++look_at_) {
    const PeerRecord* const peer = directory_.by_number(look_at_);
    if (peer == nullptr || begin_ill_of(*peer, now)) continue;
    next_look_at_all_ = now + kLookAtAll;
    return;
  }
  if (end < directory_.numbers()) return;
  look_at_ = 0;
  look_at_all_ = false;
  next_look_at_all_ = now + kLookAtAll;
}

std::vector<Nid> PeerRecovery::targets() const {
  std::vector<Nid> nids;
  for (const Entry& entry : entries_)
    if (entry.used) nids.push_back(entry.target.nid);
  return nids;
}

std::vector<PeerRecovery::Effort> PeerRecovery::efforts() const {
  std::vector<Effort> all;
  for (const Entry& entry : entries_)
    if (entry.used)
      all.push_back({.nid = entry.target.nid, .pings = entry.pings, .next = entry.next});
  return all;
}

bool PeerRecovery::is_over(const Entry& entry, Instant now) {
  const PeerNi* const ni = directory_.find(entry.target.nid);
  const bool ill = ni != nullptr && lacks_health(*ni);
  if (ni != nullptr && ni->status.get() == kNiUp && !ill) {
    counters_.add(RecoveryCounter::kRecovered);
    return true;
  }
  bool over = ni == nullptr || (!ill && now - entry.wanted > kWantedFor);
  if (const auto limit = std::chrono::seconds(parameters_.recovery_limit_s.get());
      !over && limit.count() > 0 && !is_silent(*ni)) {
    over = ni->last_alive_ns.get() < (now - limit).time_since_epoch().count();
  }
  if (over) counters_.add(RecoveryCounter::kLetGo);
  return over;
}

// A later request counts even within the same second.
void PeerRecovery::remove(Entry& entry) {
  PLNET_CHECK(entry.used && !entry.under_way, "an entry goes after its ping");
  entry.used = false;
  counters_.subtract(RecoveryCounter::kPeerNis);
  if (PeerNi* const ni = directory_.find(entry.target.nid)) ni->recovery_requested_s.set(0);
}

// The LND may still try to send a ping that has ended in time: another one would only wait behind
// it.
bool PeerRecovery::may_begin(Entry& entry, Instant now) {
  // The end of one of these pings gives the entry its turn.
  if (under_way_ >= under_way_max()) return false;
  const bool waits = now < entry.begun + kLndWait && pings_.has_left(entry);
  if (!waits && pings_.out() < out_max()) return true;
  entry.next = now + kFirst;
  next_look_ = std::min(next_look_, entry.next);
  return false;
}

unsigned PeerRecovery::step(Instant now) {
  unsigned begun = 0;
  if (look_at_all_ && now >= next_look_at_all_) {
    look_at_all(now);
    ++begun;
  }
  if (now < next_look_) return begun;
  next_look_ = Instant::max();
  const std::size_t first = turn_;
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    const std::size_t at = (first + i) % entries_.size();
    Entry& entry = entries_[at];
    if (!entry.used || entry.under_way) continue;
    if (is_over(entry, now)) {
      remove(entry);
      continue;
    }
    if (entry.heard) {  // and it lacks health
      entry.heard = false;
      entry.pings = 0;
      entry.next = now + kFirst;
    }
    if (entry.next <= now && may_begin(entry, now)) {
      begin_ping(entry, now);
      turn_ = at + 1;
      ++begun;
    } else if (entry.next > now) {
      next_look_ = std::min({next_look_, entry.next, now + kLookAtLeast});
    }
  }
  return begun;
}

void PeerRecovery::begin_ping(Entry& entry, Instant now) {
  PLNET_CHECK(entry.used && !entry.under_way, "an entry has one ping under way");
  PLNET_CHECK(under_way_ < under_way_max(), "recovery uses its part of the slots");
  entry.timeout = kPingTimeout;
  entry.interfaces = kPingInterfaces;
  entry.recovery = true;
  entry.begun = now;
  ++entry.pings;
  entry.next = now + interval_after(entry);
  entry.under_way = true;
  ++under_way_;
  counters_.add(RecoveryCounter::kPings);
  pings_.start(entry, now, kPingInterfaces);
}

// Inside a step or an event. A reply proves this NI reachable even if the ping buffer marks it
// down.
void PeerRecovery::answered(Entry& entry, Result<void> outcome, const PingView* buffer) {
  PLNET_CHECK(entry.under_way && under_way_ > 0, "a ping under way is answered once");
  entry.under_way = false;
  --under_way_;
  const bool there = outcome.has_value() || buffer != nullptr;
  counters_.add(there ? RecoveryCounter::kAnswered : RecoveryCounter::kFailed);
  if (there) {
    entry.heard = true;
    if (PeerNi* const ni = directory_.find(entry.target.nid)) ni->status.set(kNiUp);
    entry.next = Instant::min();
  }
  next_look_ = Instant::min();
}

}  // namespace plnet::lnet
