// SPDX-License-Identifier: BSD-3-Clause
// The faults of a site, their times and durations.
#include <algorithm>

#include "apps/lnet-sim/site/site.hpp"

namespace plnet::sim {

using namespace lnet;

namespace {

constexpr Duration kLookEvery = std::chrono::seconds(1);
constexpr Duration kDestroyEvery = std::chrono::milliseconds(1);

}  // namespace

void Site::schedule(Instant when, Fault fault, std::uint32_t a, std::uint32_t b) {
  loop_.schedule(when, *this, static_cast<std::uint64_t>(fault) << 56 | std::uint64_t{a} << 28 | b);
}

void Site::begin_looking() {
  looking_ = true;
  schedule(loop_.now() + kLookEvery, Fault::kLook, 0, 0);
}

Instant Site::sometime() {
  return loop_.now() + Duration{static_cast<std::int64_t>(
                           random_.below(static_cast<std::uint64_t>(config_.time.count()) + 1))};
}

Instant Site::end_of_outage(Instant begin) {
  const FaultPlan& plan = config_.faults;
  Duration lasting = plan.outage;
  if (plan.outage_max > plan.outage) {
    lasting += Duration{static_cast<std::int64_t>(
        random_.below(static_cast<std::uint64_t>((plan.outage_max - plan.outage).count()) + 1))};
  }
  outages_end_ = std::max(outages_end_, begin + lasting);
  return begin + lasting;
}

void Site::schedule_pairs(unsigned count, Fault begin, Fault end) {
  for (unsigned i = 0; i < count; ++i) {
    const auto a = static_cast<std::uint32_t>(random_.below(config_.nodes));
    const std::uint32_t b = config_.groups.empty()
                                ? static_cast<std::uint32_t>(random_.below(config_.nodes))
                                : layout_.neighbour(a, random_);
    if (a == b) continue;
    const Instant when = sometime();
    schedule(when, begin, a, b);
    schedule(end_of_outage(when), end, a, b);
  }
}

void Site::schedule_faults() {
  const FaultPlan& plan = config_.faults;
  const auto some_host = [this] {
    return static_cast<std::uint32_t>(random_.below(config_.nodes));
  };
  // Never two draws in one argument list: their order would depend on the compiler.
  for (unsigned i = 0; i < plan.kills; ++i) {
    const Instant when = sometime();
    schedule(when, Fault::kKill, some_host(), 0);
  }
  schedule_pairs(plan.partitions, Fault::kPart, Fault::kMeet);
  for (unsigned i = 0; i < plan.peer_deletes; ++i) {
    const Instant when = sometime();
    const std::uint32_t at = some_host();
    schedule(when, Fault::kDeletePeer, at, some_host());
  }
  schedule_pairs(plan.one_way, Fault::kCut, Fault::kJoin);
  schedule_pairs(plan.slow, Fault::kSlow, Fault::kFast);
  schedule_cables();
  schedule_events();
  faults_end_ = loop_.now() + config_.time;
  const std::vector<std::uint32_t> routers = layout_.routers();
  if (routers.empty()) return;
  const auto some_router = [&] { return routers[random_.below(routers.size())]; };
  for (unsigned i = 0; i < plan.router_kills; ++i) {
    const std::uint32_t router = some_router();
    apply_mishap(Mishap::kCrash, router, sometime());
  }
  for (unsigned i = 0; i < plan.flaps; ++i) {
    const std::uint32_t router = some_router();
    apply_mishap(Mishap::kFlap, router, sometime());
  }
  schedule_drains(routers);
  schedule_episodes(routers);
}

void Site::on_event(std::uint64_t word) {
  const auto fault = static_cast<Fault>(word >> 56);
  const auto a = static_cast<std::uint32_t>(word >> 28 & 0xfffffff);
  const auto b = static_cast<std::uint32_t>(word & 0xfffffff);
  if (fault == Fault::kLook) return look();
  if (fault == Fault::kPlanned) return begin_planned(config_.faults.events[a]);
  // Changes without an event, such as a router that begins to forward again, must be seen before
  // they end.
  const bool is_step = fault == Fault::kDestroy || fault == Fault::kDrainStep;
  if (!is_step) look_at_routes();
  if (fault < Fault::kPart) {
    power(fault, a, b);
  } else if (!world_->stopping) {
    disturb(fault, *world_->hosts[a], b);
  }
  if (mishaps_ && fault != Fault::kDestroy) mishaps_->look(loop_.now());
  if (!is_step) look_at_routes();
}

void Site::look_at_routes() {
  if (watching_routes_ && routes_) routes_->look(loop_.now());
}

void Site::power(Fault fault, std::uint32_t number, std::uint32_t b) {
  Host& host = *world_->hosts[number];
  switch (fault) {
    case Fault::kKill:
      if (host.state() != Host::State::kUp || world_->stopping) return;
      ++kills_;
      if (mishaps_) mishaps_->begin(Mishap::kCrash, number, number);
      world_->drains.end(number, host.counted(Cause::kDroppedNotRouting));
      world_->drains.trouble(number, loop_.now());
      host.kill();
      return schedule(loop_.now() + kDestroyEvery, Fault::kDestroy, number, 0);
    case Fault::kDestroy: return destroy(host);
    case Fault::kRestart:
      if (host.state() != Host::State::kOff) return;
      if (mishaps_) mishaps_->end(Mishap::kCrash, number, number);
      world_->drains.end(number, host.counted(Cause::kDroppedNotRouting));
      world_->drains.trouble(number, loop_.now());
      network_.set_present(host.id(), true);
      return host.start();
    case Fault::kDrain: return begin_drain(host, b);
    case Fault::kDrainStep: return step_drain(host, b);
    default: PLNET_CHECK(false, "disturb() and looks handle the other faults");
  }
}

void Site::destroy(Host& host) {
  if (host.state() != Host::State::kDying) return;
  if (!host.gone()) {
    return schedule(loop_.now() + kDestroyEvery, Fault::kDestroy, host.number(), 0);
  }
  if (const std::string missing = host.what_is_missing(); !missing.empty()) {
    return ledger_.violate("not home after a kill: " + missing);
  }
  if (const std::string wrong = host.what_is_unbalanced(); !wrong.empty()) {
    return ledger_.violate("mismatched counts after a kill: " + wrong);
  }
  host.destroy();
  schedule(end_of_planned(host.number()), Fault::kRestart, host.number(), 0);
}

// The end of faults at the healing is not repeated.
void Site::disturb(Fault fault, Host& host, std::uint32_t b) {
  const auto other = [&] { return world_->hosts[b]->id(); };
  if (fault < Fault::kLinkDown || fault == Fault::kDeletePeer) {
    world_->drains.trouble(host.number(), b, loop_.now());
  } else {
    world_->drains.trouble(host.number(), loop_.now());
  }
  note_mishap(fault, host.number(), b);
  switch (fault) {
    case Fault::kPart: return cuts_.cut_both(host.id(), other());
    case Fault::kMeet: return cuts_.join_both(host.id(), other());
    case Fault::kCut: return cuts_.cut(host.id(), other());
    case Fault::kJoin: return cuts_.join(host.id(), other());
    case Fault::kSlow: return cuts_.slow_down(host.id(), other());
    case Fault::kFast: return cuts_.speed_up(host.id(), other());
    case Fault::kLinkDown: return set_link(host, b, false);
    case Fault::kLinkUp: return set_link(host, b, true);
    case Fault::kMove:
    case Fault::kPutBack:
    case Fault::kStorm:
    case Fault::kStormOver: return disturb_cable(fault, host, b);
    case Fault::kDeletePeer: return delete_peer(host, b);
    default: PLNET_CHECK(false, "power faults and looks are handled elsewhere");
  }
}

// A fault between two nodes.
void Site::note_mishap(Fault fault, std::uint32_t a, std::uint32_t b) {
  if (!mishaps_) return;
  switch (fault) {
    case Fault::kPart: return mishaps_->begin(Mishap::kPartition, a, b);
    case Fault::kMeet: return mishaps_->end(Mishap::kPartition, a, b);
    case Fault::kCut: return mishaps_->begin(Mishap::kOneWay, a, b);
    case Fault::kJoin: return mishaps_->end(Mishap::kOneWay, a, b);
    case Fault::kSlow: return mishaps_->begin(Mishap::kSlow, a, b);
    case Fault::kFast: return mishaps_->end(Mishap::kSlow, a, b);
    default: return;
  }
}

// The deleted peer may be a gateway, or a user of this gateway: its state begins anew.
void Site::delete_peer(Host& host, std::uint32_t other) {
  if (!host.forget(*world_->hosts[other])) return;
  ++peers_deleted_;
  if (mishaps_) mishaps_->deleted(host.number(), other, loop_.now());
  if (routes_) routes_->disturbed(host.number(), other, loop_.now());
}

// The fault of an interface's link: nodes reachable by no other network are unreachable; so are
// nodes that are also on another network with it.
void Site::set_link(Host& host, std::uint32_t which, bool up) {
  const Nid& nid = host.nids()[which];
  if (!up && !host.has_link(nid)) return;  // comes up with the first of them
  if (up && host.has_link(nid)) return;
  if (!up) ++flaps_;
  if (mishaps_ && up) mishaps_->end(Mishap::kFlap, host.number(), host.number());
  if (mishaps_ && !up) mishaps_->begin(Mishap::kFlap, host.number(), host.number());
  host.set_link(nid, up);
  for (const auto& other : world_->hosts) {
    if (other.get() == &host || !layout_.is_on(other->number(), nid.net())) continue;
    if (up) {
      cuts_.join_both(host.id(), other->id());
    } else {
      cuts_.cut_both(host.id(), other->id());
    }
  }
}

void Site::look() {
  if (!looking_) return;
  const Operation* const oldest = ledger_.oldest();
  if (oldest != nullptr && oldest->deadline < loop_.now()) {
    return ledger_.violate("did not end by its deadline: " + describe(ledger_, *oldest));
  }
  if (world_->wire.relayed_twice > 0) {
    return ledger_.violate("a message went through a router twice");
  }
  if (!world_->drains.wrong().empty()) return ledger_.violate(world_->drains.wrong());
  look_at_routes();
  schedule(loop_.now() + kLookEvery, Fault::kLook, 0, 0);
}

void Site::heal() {
  cuts_.heal();
  if (mishaps_) mishaps_->heal();
  world_->troubles = 0;
  for (const auto& host : world_->hosts) {
    world_->drains.end(host->number(), host->counted(Cause::kDroppedNotRouting));
    host->calm();
  }
  if (!world_->drains.wrong().empty()) ledger_.violate(world_->drains.wrong());
}

}  // namespace plnet::sim
