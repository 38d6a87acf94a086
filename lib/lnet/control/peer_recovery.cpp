// SPDX-License-Identifier: BSD-3-Clause
#include "lib/lnet/control/peer_recovery.hpp"

#include <algorithm>

#include "lib/lnet/paths/health_rules.hpp"

namespace plnet::lnet {

namespace {

// What it says of its interfaces is not looked at: the least room that a ping has, which is what
// the kernel's recovery pings have (LNET_PING_INFO_MIN_SIZE).
constexpr std::uint32_t kPingInterfaces = 1;

}  // namespace

// 1 s, 2 s, 4 s, …
Duration PeerRecovery::interval_after(unsigned pings) const {
  const Duration set = std::chrono::seconds(parameters_.max_recovery_ping_interval_s.get());
  const Duration most = std::max(kFirst, std::min(set, kIntervalMax));
  return pings < 10 ? std::min(kFirst * (1U << pings), most) : most;
}

void PeerRecovery::want(const Nid& nid, Instant now) {
  const auto is_it = [&nid](const Entry& entry) { return entry.used && entry.target.nid == nid; };
  if (const auto known = std::ranges::find_if(entries_, is_it); known != entries_.end()) {
    known->wanted = now;
    return;
  }
  const auto is_free = [](const Entry& entry) { return !entry.used && !entry.under_way; };
  const auto place = std::ranges::find_if(entries_, is_free);
  if (place == entries_.end()) return counters_.add(RecoveryCounter::kNoRoom);
  place->used = true;
  place->pings = 0;
  place->heard = false;
  place->target = {nid, kLustrePid};
  place->wanted = now;
  place->next = now + interval_after(0);
  next_look_ = std::min(next_look_, place->next);
  counters_.add(RecoveryCounter::kBegun);
  counters_.add(RecoveryCounter::kPeerNis);
}

std::vector<Nid> PeerRecovery::targets() const {
  std::vector<Nid> nids;
  for (const Entry& entry : entries_)
    if (entry.used) nids.push_back(entry.target.nid);
  return nids;
}

bool PeerRecovery::is_over(const Entry& entry, Instant now) {
  const PeerNi* const ni = directory_.find(entry.target.nid);
  const bool ill = ni != nullptr && wants_recovery(*ni, parameters_);
  if (ni != nullptr && ni->status.get() == kNiUp && !ill) {
    counters_.add(RecoveryCounter::kRecovered);
    return true;
  }
  bool over = ni == nullptr || (!ill && now - entry.wanted > kWantedFor);
  if (const auto limit = std::chrono::seconds(parameters_.recovery_limit_s.get());
      !over && limit.count() > 0) {
    over = ni->last_alive_ns.get() < (now - limit).time_since_epoch().count();
  }
  if (over) counters_.add(RecoveryCounter::kLetGo);
  return over;
}

// Whoever wants it from now on is heard, though somebody was in this very second.
void PeerRecovery::let_go(Entry& entry) {
  entry.used = false;
  counters_.subtract(RecoveryCounter::kPeerNis);
  if (PeerNi* const ni = directory_.find(entry.target.nid)) ni->wanted_back_s.set(0);
}

unsigned PeerRecovery::step(Instant now) {
  if (now < next_look_) return 0;
  next_look_ = Instant::max();
  unsigned begun = 0;
  const std::size_t first = turn_;
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    const std::size_t at = (first + i) % entries_.size();
    Entry& entry = entries_[at];
    if (!entry.used || entry.under_way) continue;
    if (entry.next <= now) {
      if (is_over(entry, now)) {
        let_go(entry);
        continue;
      }
      if (entry.heard) {  // and not well yet
        entry.heard = false;
        entry.pings = 0;
        entry.next = now + interval_after(0);
        next_look_ = std::min(next_look_, entry.next);
        continue;
      }
      // Who has no turn now has one when a ping of these is over.
      if (under_way_ == kUnderWayMax) continue;
      begin_ping(entry, now);
      turn_ = at + 1;
      ++begun;
      continue;
    }
    next_look_ = std::min(next_look_, entry.next);
  }
  return begun;
}

void PeerRecovery::begin_ping(Entry& entry, Instant now) {
  entry.timeout = kPingTimeout;
  entry.interfaces = kPingInterfaces;
  entry.recovery = true;
  entry.next = now + interval_after(++entry.pings);
  entry.under_way = true;
  ++under_way_;
  counters_.add(RecoveryCounter::kPings);
  pings_.start(entry, now, kPingInterfaces);
}

// Inside a step or an event. Whatever it says of its interfaces: this one is there.
void PeerRecovery::answered(Entry& entry, Result<void> outcome, const PingView* buffer) {
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
