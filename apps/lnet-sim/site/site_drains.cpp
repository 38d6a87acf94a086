// SPDX-License-Identifier: BSD-3-Clause
// An operator takes one router after another out of service during traffic.
#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "apps/lnet-sim/site/site.hpp"

namespace plnet::sim {

using namespace lnet;

namespace {

constexpr Duration kStepEvery = std::chrono::milliseconds(10);
constexpr Duration kAskAgain = std::chrono::milliseconds(500);
// Steps until an operator cancels a drain.
constexpr std::uint64_t kPatience = 400;
// Encoding of an event's second number: the end of the drain, whether it has been drained, and
// steps. Before the begin, the middle bits are the faults that accompany it.
constexpr std::uint32_t kHowBits = 2;
constexpr std::uint32_t kDrainedBit = 1U << kHowBits;
constexpr std::uint32_t kStepsShift = kHowBits + 1;
constexpr std::uint32_t kBesideBits = kMishaps;
// Within the time in which peers are notified, or remaining messages leave.
constexpr std::uint64_t kTroubleSoonMs = 1000;

}  // namespace

// Draws for each drain its end, and the number of steps until it is cancelled.
void Site::schedule_drains(std::span<const std::uint32_t> routers) {
  for (unsigned i = 0; i < config_.faults.drains; ++i) {
    const std::uint32_t router = routers[random_.below(routers.size())];
    schedule_drain(router, sometime(), {});
  }
}

void Site::schedule_drain(std::uint32_t router, Instant when, std::span<const Mishap> beside) {
  std::uint32_t word = static_cast<std::uint32_t>(random_.below(kPatience)) << kBesideBits;
  for (const Mishap mishap : beside) {
    if (mishap != Mishap::kDrain) word |= 1U << static_cast<unsigned>(mishap);
  }
  schedule(when, Fault::kDrain, router,
           word << kHowBits | static_cast<std::uint32_t>(random_.below(kDrainEnds)));
}

// The operator's view: every node that uses it knows another router that runs and forwards.
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
  const Instant latest = loop_.now() + router.drain();
  world_->drains.begin(router.number(), router.cookie(), loop_.now(), latest,
                       router.counted(Cause::kDroppedNotRouting));
  for (const auto& other : world_->hosts) {
    const bool reached = !cuts_.is_cut(other->id(), router.id()) &&
                         !cuts_.is_cut(router.id(), other->id()) &&
                         !cuts_.is_slow(other->id(), router.id());
    if (!reached) world_->drains.trouble(other->number(), router.number(), loop_.now());
    if (troubled_[other->number()] > 0) world_->drains.trouble(other->number(), loop_.now());
  }
  if (drains_.begun <= config_.faults.drains_in_trouble) make_trouble(router);
  const std::uint32_t beside = b >> kHowBits & ((1U << kBesideBits) - 1);
  for (unsigned i = 0; i < kMishaps; ++i) {
    if ((beside >> i & 1U) != 0) apply_mishap(static_cast<Mishap>(i), router.number(), soon());
  }
  const std::uint32_t steps = b >> (kHowBits + kBesideBits);
  const std::uint32_t how = b & ((1U << kHowBits) - 1);
  schedule(loop_.now() + kStepEvery, Fault::kDrainStep, router.number(),
           steps << kStepsShift | how);
}

Instant Site::soon() {
  return loop_.now() + std::chrono::milliseconds(random_.below(kTroubleSoonMs));
}

void Site::make_trouble(const Host& router) {
  static constexpr std::array kTroubles{Mishap::kPartition, Mishap::kOneWay, Mishap::kSlow};
  apply_mishap(kTroubles[drains_.begun % kTroubles.size()], router.number(), soon());
}

void Site::step_drain(Host& router, std::uint32_t b) {
  if (world_->stopping || router.state() != Host::State::kUp) return;
  if (!world_->drains.is_draining(router.number(), router.cookie())) return;
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
    record_drain_end(router);
    return go_on(leisure(router, how), kDrainedBit);
  }
  if (!over) return go_on(steps - 1, kDrainedBit);
  if (how != DrainEnd::kRestart) {
    ++drains_.undrained;
    return end_drain(router);
  }
  ++drains_.restarts;
  router.kill();
  look_at_routes();
  schedule(loop_.now() + kStepEvery, Fault::kDestroy, router.number(), 0);
}

// Steps of an outage's length. A restart may follow at once; a planned one does.
std::uint32_t Site::leisure(const Host& router, DrainEnd how) {
  if (const auto planned = planned_.find(router.number()); planned != planned_.end()) {
    return how == DrainEnd::kRestart
               ? 0
               : static_cast<std::uint32_t>((end_of_planned(router.number()) - loop_.now()) /
                                            kStepEvery);
  }
  const auto steps =
      static_cast<std::uint32_t>((end_of_outage(loop_.now()) - loop_.now()) / kStepEvery);
  return how == DrainEnd::kRestart ? static_cast<std::uint32_t>(random_.below(steps + 1)) : steps;
}

// The router reports that it is drained. If it has cut off no messages, it must have none of other
// nodes any more.
void Site::record_drain_end(Host& router) {
  const std::size_t cut_off = router.standing().cut_off;
  if (world_->drains.promise(router.number(), loop_.now(), cut_off)) ++drains_.in_time;
  const std::string held = router.what_routing_holds();
  if (cut_off != 0 || held.empty()) return;
  ledger_.violate(
      fmt::format("router {} has reported that it is drained: {}", router.number(), held));
}

void Site::end_drain(Host& router) {
  world_->drains.end(router.number(), router.counted(Cause::kDroppedNotRouting));
  router.undrain();
  look_at_routes();
}

}  // namespace plnet::sim
