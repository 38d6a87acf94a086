// SPDX-License-Identifier: BSD-3-Clause
// An operator who takes one router after another out of service, while all goes on.
#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "apps/lnet-sim/site.hpp"

namespace plnet::sim {

using namespace lnet;

namespace {

constexpr Duration kStepEvery = std::chrono::milliseconds(10);
constexpr Duration kAskAgain = std::chrono::milliseconds(500);
// Of steps: until an operator thinks better of it.
constexpr std::uint64_t kPatience = 400;
// Of steps: for how long it stays drained at most, while all goes on past it.
constexpr std::uint64_t kLeisure = 300;
// Of an event's second number: how it goes on, whether it has been drained, and steps.
constexpr std::uint32_t kHowBits = 2;
constexpr std::uint32_t kDrainedBit = 1U << kHowBits;
constexpr std::uint32_t kStepsShift = kHowBits + 1;
// While peers are told, or what is left leaves.
constexpr std::uint64_t kTroubleSoonMs = 1000;

}  // namespace

// What is drawn for each: how it goes on, and after how many steps it is called off.
void Site::schedule_drains(std::span<const std::uint32_t> routers) {
  for (unsigned i = 0; i < config_.faults.drains; ++i) {
    const std::uint32_t router = routers[random_.below(routers.size())];
    const auto how = static_cast<std::uint32_t>(random_.below(kDrainEnds));
    const auto steps = static_cast<std::uint32_t>(random_.below(kPatience));
    schedule(sometime(), Fault::kDrain, router, steps << kStepsShift | how);
  }
}

// As an operator sees it: whoever sends through it knows another router that is there and forwards.
bool Site::has_second_way(const Host& router) const {
  const auto leads_past = [&](const Route& route) {
    const Host& gateway = *world_->hosts[Layout::node_of(route.spec.gateway)];
    return route.alive.get() && &gateway != &router && gateway.is_forwarding();
  };
  return std::ranges::all_of(world_->hosts, [&](const auto& host) {
    if (host->state() != Host::State::kUp) return true;
    const auto& all = host->node().coordinator().routes().routes();
    return std::ranges::all_of(host->routes(), [&](const RouteSetup& wanted) {
      return !router.has(wanted.gateway) || std::ranges::any_of(all, [&](const auto& route) {
        return route->spec.net == wanted.net && leads_past(*route);
      });
    });
  });
}

void Site::begin_drain(Host& router, std::uint32_t b) {
  if (world_->stopping) return;
  if (!router.is_forwarding() || !has_second_way(router)) {
    if (loop_.now() < faults_end_)
      schedule(loop_.now() + kAskAgain, Fault::kDrain, router.number(), b);
    return;
  }
  ++drains_.begun;
  seen_beside_[router.number()] = 0;
  const Instant latest = loop_.now() + router.drain();
  world_->drains.begin(router.number(), router.cookie(), loop_.now(), latest,
                       router.counted(Cause::kDroppedNotRouting));
  for (const auto& other : world_->hosts) {
    const bool reached = !cuts_.is_cut(other->id(), router.id()) &&
                         !cuts_.is_cut(router.id(), other->id()) &&
                         !cuts_.is_slow(other->id(), router.id());
    if (!reached) world_->drains.trouble(other->number(), router.number(), loop_.now());
  }
  if (drains_.begun <= config_.faults.drains_in_trouble) make_trouble(router);
  schedule(loop_.now() + kStepEvery, Fault::kDrainStep, router.number(), b);
}

void Site::make_trouble(const Host& router) {
  static constexpr std::array<std::pair<Fault, Fault>, 3> kTroubles{
      {{Fault::kPart, Fault::kMeet}, {Fault::kCut, Fault::kJoin}, {Fault::kSlow, Fault::kFast}}};
  const std::uint32_t other = layout_.neighbour(router.number(), random_);
  if (other == router.number()) return;
  const auto& [begin, end] = kTroubles[drains_.begun % kTroubles.size()];
  const Instant when = loop_.now() + std::chrono::milliseconds(random_.below(kTroubleSoonMs));
  schedule(when, begin, router.number(), other);
  schedule(when + config_.faults.outage, end, router.number(), other);
}

void Site::step_drain(Host& router, std::uint32_t b) {
  if (world_->stopping || router.state() != Host::State::kUp) return;
  if (!world_->drains.is_draining(router.number(), router.cookie())) return;
  look_beside(router);
  const auto how = static_cast<DrainEnd>(b & ((1U << kHowBits) - 1));
  const std::uint32_t steps = b >> kStepsShift;
  const auto go_on = [&](std::uint32_t left, std::uint32_t drained) {
    schedule(loop_.now() + kStepEvery, Fault::kDrainStep, router.number(),
             left << kStepsShift | drained | static_cast<std::uint32_t>(how));
  };
  const bool over = steps == 0;
  if (router.standing().phase != DrainPhase::kDrained) {
    if (how == DrainEnd::kCalledOff && over) {
      ++drains_.called_off;
      return end_drain(router);
    }
    return go_on(over ? 0 : steps - 1, 0);
  }
  if ((b & kDrainedBit) == 0) {
    hear_promise(router);
    return go_on(leisure(), kDrainedBit);
  }
  if (!over) return go_on(steps - 1, kDrainedBit);
  if (how != DrainEnd::kRestart) {
    ++drains_.undrained;
    return end_drain(router);
  }
  ++drains_.restarts;
  router.kill();
  schedule(loop_.now() + kStepEvery, Fault::kDestroy, router.number(), 0);
}

// In steps; whatever is to come of it comes before the time of the faults is over.
std::uint32_t Site::leisure() {
  const std::uint64_t drawn = random_.below(kLeisure);
  const Duration left = std::max(faults_end_ - loop_.now(), Duration{});
  const auto most = static_cast<std::uint64_t>(left / kStepEvery);
  return static_cast<std::uint32_t>(std::min(drawn, most > 0 ? most - 1 : 0));
}

// It says that it is drained. If it has cut nobody off, it has nothing of others any more.
void Site::hear_promise(Host& router) {
  const std::size_t cut_off = router.standing().cut_off;
  if (world_->drains.promise(router.number(), loop_.now(), cut_off)) ++drains_.in_time;
  const std::string held = router.what_routing_holds();
  if (cut_off != 0 || held.empty()) return;
  ledger_.violate(fmt::format("router {} has said that it is drained: {}", router.number(), held));
}

void Site::note_beside(const Host& router, Beside what) {
  const auto number = static_cast<unsigned>(what);
  unsigned& seen = seen_beside_[router.number()];
  if ((seen >> number & 1U) == 0) ++drains_.beside[number];
  seen |= 1U << number;
}

// Of the router itself and its neighbours. That it fails itself is seen where it does.
void Site::look_beside(const Host& router) {
  const auto has_links = [](const Host& host) {
    return std::ranges::all_of(host.nids(), [&](const Nid& nid) { return host.has_link(nid); });
  };
  if (router.is_exhausted()) note_beside(router, Beside::kExhaustion);
  for (const auto& other : world_->hosts) {
    if (other->state() != Host::State::kUp) note_beside(router, Beside::kCrash);
    if (!has_links(*other)) note_beside(router, Beside::kFlap);
    if (cuts_.is_slow(router.id(), other->id())) note_beside(router, Beside::kSlow);
    const bool there = cuts_.is_cut(router.id(), other->id());
    const bool back = cuts_.is_cut(other->id(), router.id());
    if (there != back) note_beside(router, Beside::kOneWay);
    if (there && back && has_links(router) && has_links(*other))
      note_beside(router, Beside::kPartition);
  }
}

void Site::end_drain(Host& router) {
  world_->drains.end(router.number(), router.counted(Cause::kDroppedNotRouting));
  router.undrain();
}

}  // namespace plnet::sim
