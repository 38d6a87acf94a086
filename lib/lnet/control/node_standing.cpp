// SPDX-License-Identifier: BSD-3-Clause
#include "lib/lnet/control/node_standing.hpp"

#include <algorithm>

#include "lib/base/check.hpp"

namespace plnet::lnet {

namespace {

std::int64_t ns_of(Instant when) {
  return when.time_since_epoch().count();
}

}  // namespace

Duration NodeStanding::notice() const {
  return parts_.parameters.router_notice();
}

// --- Routing ---

// Shards read the state, peers the bit.
void NodeStanding::publish(Instant now) {
  parts_.parameters.routing.set(static_cast<std::int32_t>(routing_.state()));
  next_look_ = now;
  (void)notes_.push({.nid = parts_.networks.view().loopback->nid,
                     .state = routing_.state(),
                     .phase = routing_.phase(),
                     .number = static_cast<std::uint32_t>(routing_.cut_off())});
}

void NodeStanding::announce(bool advertised_before) {
  if (routing_.advertised() == advertised_before) return;
  if (parts_.ping_target.set_routing(routing_.advertised())) parts_.discovery.push_to_all(true);
}

void NodeStanding::set_routing(bool on, bool push, Instant now) {
  const RoutingState before = routing_.state();
  routing_.set(on, now);
  if (routing_.state() != before) publish(now);
  const bool told = parts_.ping_target.set_routing(routing_.advertised());
  if (told && push) parts_.discovery.push_to_all(true);
}

Result<void> NodeStanding::enable(Instant now) {
  const RoutingState before = routing_.state();
  const bool advertised = routing_.advertised();
  if (auto enabled = routing_.enable(now); !enabled) return enabled;
  if (routing_.state() != before) publish(now);
  announce(advertised);
  return {};
}

void NodeStanding::disable(Instant now) {
  const RoutingState before = routing_.state();
  const bool advertised = routing_.advertised();
  routing_.disable(now, notice());
  if (routing_.state() == before) return;
  publish(now);
  announce(advertised);
  post_end_note();
}

Result<void> NodeStanding::drain(Instant now, Duration bound, bool full_notice) {
  const RoutingState before = routing_.state();
  const bool asked = routing_.notifies_peers();
  if (auto drained = routing_.drain(now, notice(), bound, full_notice); !drained) return drained;
  if (!asked) begin_asking(before, now);
  return {};
}

Result<void> NodeStanding::leave(Instant now, Duration bound, bool full_notice) {
  const RoutingState before = routing_.state();
  const bool asked = routing_.notifies_peers();
  if (auto left = routing_.leave(now, notice(), bound, full_notice); !left) return left;
  if (!asked) begin_asking(before, now);
  return {};
}

// Peers may have acknowledged the announcement of a stop already.
void NodeStanding::begin_asking(RoutingState before, Instant now) {
  if (!routing_.notifies_peers()) return;
  publish(now);
  announce(before == RoutingState::kEnabled);
  if (before != RoutingState::kStopping) post_end_note();
  told_ = counting_ = {};
  count_at_ = 0;
  unsent_known_ = false;
}

// A separate buffer, so that an acknowledgement of its number proves knowledge.
void NodeStanding::post_end_note() {
  end_sequence_ = parts_.ping_target.sequence() + 1;
  parts_.ping_target.renew();
  parts_.discovery.push_to_all(true);
}

Result<void> NodeStanding::undrain(Instant now) {
  const bool advertised = routing_.advertised();
  if (auto back = routing_.undrain(now); !back) return back;
  publish(now);
  announce(advertised);
  return {};
}

// A peer that was silent for longer than peers need to notice does not send through this node: it
// would have pinged this node.
void NodeStanding::count_peers(Instant now) {
  PLNET_CHECK(count_at_ <= parts_.directory.numbers(), "the count stays in the table");
  const std::int64_t heard_since = ns_of(now - notice());
  const std::uint32_t end = std::min(parts_.directory.numbers(), count_at_ + kPeersAtOnce);
  for (; count_at_ < end; ++count_at_) {
    const PeerRecord* const peer = parts_.directory.by_number(count_at_);
    if (peer == nullptr) continue;
    const bool heard = std::ranges::any_of(peer->seen().nis, [&](const PeerNi* ni) {
      return ni->last_alive_ns.get() >= heard_since && parts_.networks.has_net(ni->net);
    });
    if (!heard) continue;
    if (!peer->multi_rail()) {
      ++counting_.by_ping;
      continue;
    }
    ++counting_.pushed;
    if (parts_.discovery.has_acknowledged(*peer, end_sequence_)) ++counting_.acknowledged;
  }
  if (count_at_ < parts_.directory.numbers()) return;
  PLNET_CHECK(counting_.acknowledged <= counting_.pushed, "peers that acknowledge were pushed to");
  told_ = counting_;
  told_.counted = true;
  counting_ = {};
  count_at_ = 0;
}

// --- NIs ---

void NodeStanding::set_status(Ni& ni, std::uint32_t status, bool push) {
  PLNET_CHECK(status == kNiUp || status == kNiDown, "an NI is up or down");
  ni.status.set(status);
  if (parts_.ping_target.set_status(ni.nid, status) && push) parts_.discovery.push_to_all(true);
}

void NodeStanding::welcome(Ni& ni, Instant now) {
  PLNET_CHECK(ni.number < nis_.size(), "the number of an NI is dense");
  nis_[ni.number] = {};
  ni.pinged_ns.set(ns_of(now));
}

bool NodeStanding::is_silent(const Net& net, Instant now) const {
  std::int64_t latest = ns_of(routing_.began());
  for (const Ni* const ni : net.nis)
    latest = std::max(latest, ni->pinged_ns.get());
  return latest <= ns_of(now - notice());
}

// A failed device does not recover with time.
bool NodeStanding::may_heal(NiCause cause, const Ni& ni) {
  return ni.health.get() < kHealthMax && cause != NiCause::kDevice && cause != NiCause::kDriver;
}

bool NodeStanding::judge(Ni& ni, bool silent, Instant now) {
  PLNET_CHECK(ni.number < nis_.size(), "the number of an NI is dense");
  NiRecord& record = nis_[ni.number];
  const bool pinged = ni.revived.exchange(false);
  if (pinged) ni.lnd_down.set(false);
  record.judged = judge_ni(record.judged, {.fatal = ni.fatal.get(),
                                           .lnd_down = ni.lnd_down.get(),
                                           .pinged = pinged,
                                           .routing = parts_.parameters.routes(),
                                           .silent = silent,
                                           .health = ni.health.get()});
  (void)record.health_hold.see(record.judged != NiCause::kHealth, now);
  const bool by_health = record.judged == NiCause::kNone || record.judged == NiCause::kHealth;
  const bool bounces = by_health && record.health_hold.bounces();
  const NiCause cause = bounces ? NiCause::kBounces : record.judged;
  some_ill_ = some_ill_ || may_heal(cause, ni) || record.health_hold.held();
  const bool device = cause == NiCause::kDevice || record.cause == NiCause::kDevice;
  const bool was_up = ni.status.get() == kNiUp;
  const bool other_cause = cause != record.cause;
  record.cause = cause;
  const std::uint32_t status = cause == NiCause::kNone ? kNiUp : kNiDown;
  if (other_cause) {
    ++record.changes;
    (void)notes_.push({.nid = ni.nid, .cause = cause, .number = record.changes});
  }
  if (was_up == (status == kNiUp)) return false;
  set_status(ni, status, false);
  // As in the kernel at a change of a link: peers that cannot be reached now learn it later.
  if (device) parts_.ping_target.renew();
  return true;
}

Duration NodeStanding::remedy_interval() const {
  return std::chrono::seconds(std::max(parts_.parameters.recovery_interval_s.get(), 1));
}

void NodeStanding::look_at_nis(Instant now) {
  bool changed = false;
  if (!some_ill_) next_remedy_ = now + remedy_interval();
  some_ill_ = false;
  const bool routes = parts_.parameters.routes();
  for (const Net& net : parts_.networks.view().nets) {
    const bool silent = routes && is_silent(net, now);
    for (Ni* const ni : net.nis)
      changed = judge(*ni, silent, now) || changed;
  }
  if (changed) parts_.discovery.push_to_all(true);
}

// Peers and path selection avoid such an NI if there are others, so no message would ever restore
// it. The kernel pings it from itself (lustre-release lnet/lnet/lib-move.c:
// lnet_recover_local_nis()), which on most networks never leaves the machine and only proves that
// time has passed; here time restores its health at the same rate.
void NodeStanding::heal(Instant now) {
  const Parameters& parameters = parts_.parameters;
  PLNET_CHECK(some_ill_, "time heals an NI that lacks health");
  next_remedy_ = now + remedy_interval();
  for (Ni* const ni : parts_.networks.view().nis) {
    if (may_heal(nis_[ni->number].cause, *ni))
      (void)ni->health.raise(std::max(parameters.health_sensitivity.get(), 1));
  }
}

// --- Time ---

unsigned NodeStanding::step(Instant now, const RoutedLoad& load) {
  if (!watching() || now < next_look_) return 0;
  if (routing_.phase() != DrainPhase::kDrained) {  // the numbers at the end of the drain stay
    load_ = load;
    unsent_known_ = load.unsent_since >= routing_.quiet_since();
    if (!unsent_known_) load_.unsent = 0;  // they were counted for another drain
  }
  const bool draining = routing_.phase() != DrainPhase::kNone;
  if (routing_.notifies_peers() || (draining && !told_.counted)) count_peers(now);
  next_look_ = now + (draining ? kLookDraining : kLook);
  const bool advertised = routing_.advertised();
  if (routing_.step(now, load, told_)) {
    publish(now);
    announce(advertised);
  }
  if (some_ill_ && now >= next_remedy_) heal(now);
  look_at_nis(now);
  return 1;
}

StandingReport NodeStanding::report(Instant now) const {
  StandingReport report{.state = routing_.state(),
                        .phase = routing_.phase(),
                        .told = routing_.phase() == DrainPhase::kNone ? PeersTold{} : told_,
                        .load = load_,
                        .unsent_known = unsent_known_,
                        .cut_off = routing_.cut_off()};
  const auto seconds_until = [now](Instant end) {
    return std::max<std::int64_t>(0, std::chrono::ceil<std::chrono::seconds>(end - now).count());
  };
  if (report.state == RoutingState::kStopping) {
    report.seconds_least = report.is_drain() ? 0 : seconds_until(routing_.earliest());
    report.seconds_left = seconds_until(routing_.latest());
  }
  return report;
}

}  // namespace plnet::lnet
