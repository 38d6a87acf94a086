// SPDX-License-Identifier: BSD-3-Clause
// Several simultaneous faults of one router.
#include <algorithm>

#include "apps/lnet-sim/site/site.hpp"

namespace plnet::sim {

using namespace lnet;

namespace {

// The longest time between the first fault of an episode and the others; all last longer. While a
// router drains, peers have been notified by then, or remaining messages leave.
constexpr std::uint64_t kApartMs = 1000;
constexpr unsigned kDeletions = 6;  // of peers, in an outage

}  // namespace

// Each episode gets a part of the time and begins early in it, since recovery takes time.
void Site::schedule_episodes(std::span<const std::uint32_t> routers) {
  for (const EpisodePlan& plan : config_.faults.episodes) {
    for (unsigned i = 0; i < plan.count; ++i) {
      const Duration part = config_.time / plan.count;
      const auto early = static_cast<std::uint64_t>(part.count()) / 4 + 1;
      const Instant when =
          loop_.now() + i * part + Duration{static_cast<std::int64_t>(random_.below(early))};
      const std::uint32_t router = routers[random_.below(routers.size())];
      if (std::ranges::find(plan.mishaps, Mishap::kDrain) != plan.mishaps.end()) {
        schedule_drain(router, when, plan.mishaps);
        continue;
      }
      for (const Mishap mishap : plan.mishaps)
        apply_mishap(mishap, router, when + std::chrono::milliseconds(random_.below(kApartMs)));
    }
  }
}

// A drain does not end by itself as an outage does: see schedule_drain().
void Site::apply_mishap(Mishap what, std::uint32_t router, Instant when) {
  switch (what) {
    case Mishap::kCrash: return schedule(when, Fault::kKill, router, 0);
    case Mishap::kFlap: return fail_link(router, when);
    case Mishap::kPartition: return fail_pair(router, when, Fault::kPart, Fault::kMeet);
    case Mishap::kOneWay: return fail_pair(router, when, Fault::kCut, Fault::kJoin);
    case Mishap::kSlow: return fail_pair(router, when, Fault::kSlow, Fault::kFast);
    case Mishap::kPeerDelete: return fail_peers(router, when);
    case Mishap::kExhaustion:
    case Mishap::kDrain: return;
  }
}

void Site::fail_pair(std::uint32_t router, Instant when, Fault begin, Fault end) {
  const std::uint32_t other = layout_.neighbour(router, random_);
  if (other == router) return;
  const bool turned = random_.chance(0.5);
  const std::uint32_t a = turned ? other : router;
  const std::uint32_t b = turned ? router : other;
  schedule(when, begin, a, b);
  schedule(end_of_outage(when), end, a, b);
}

void Site::fail_link(std::uint32_t router, Instant when) {
  const auto nid = static_cast<std::uint32_t>(random_.below(world_->hosts[router]->nids().size()));
  schedule(when, Fault::kLinkDown, router, nid);
  schedule(end_of_outage(when), Fault::kLinkUp, router, nid);
}

void Site::fail_peers(std::uint32_t router, Instant when) {
  const Duration lasting = end_of_outage(when) - when;
  for (unsigned i = 0; i < kDeletions; ++i) {
    const std::uint32_t other = layout_.neighbour(router, random_);
    const bool turned = random_.chance(0.5);
    // Close together at first, so that some come before the accompanying fault of the router.
    schedule(when + i * i * lasting / (kDeletions * kDeletions), Fault::kDeletePeer,
             turned ? other : router, turned ? router : other);
  }
}

}  // namespace plnet::sim
