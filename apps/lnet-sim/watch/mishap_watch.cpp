// SPDX-License-Identifier: BSD-3-Clause
#include "apps/lnet-sim/watch/mishap_watch.hpp"

#include <utility>

namespace plnet::sim {

namespace {

// The time for which a momentary fault counts as lasting, since it affects messages under way.
constexpr Duration kMomentLasts = std::chrono::seconds(1);

}  // namespace

MishapWatch::MishapWatch(const World& world) : world_(world) {
  for (const std::uint32_t node : world.layout.routers())
    routers_.push_back({.node = node});
}

void MishapWatch::begin(Mishap what, std::uint32_t a, std::uint32_t b) {
  ++active_[{what, a, b}];
  changed_ = true;
}

void MishapWatch::end(Mishap what, std::uint32_t a, std::uint32_t b) {
  const auto at = active_.find({what, a, b});
  if (at == active_.end()) return;
  if (--at->second == 0) active_.erase(at);
  changed_ = true;
}

void MishapWatch::deleted(std::uint32_t a, std::uint32_t b, Instant now) {
  for (OfRouter& router : routers_) {
    if (router.node != a && router.node != b) continue;
    router.deleted_until = now + kMomentLasts;
  }
}

// Nodes that are off come back by themselves.
void MishapWatch::heal() {
  std::erase_if(active_, [](const auto& each) { return each.first.what != Mishap::kCrash; });
  changed_ = true;
}

bool MishapWatch::concerns(const Active& active, std::uint32_t router) const {
  if (active.a == router || active.b == router) return true;
  return active.a == active.b && world_.layout.are_neighbours(active.a, router);
}

void MishapWatch::collect() {
  for (OfRouter& router : routers_) {
    router.told = 0;
    for (const auto& [active, times] : active_)
      router.told |= concerns(active, router.node) ? bit(active.what) : 0;
  }
}

MishapWatch::Set MishapWatch::seen_of(OfRouter& router, Instant now) const {
  const Host& host = *world_.hosts[router.node];
  Set seen = router.told;
  if (now < router.deleted_until) seen |= bit(Mishap::kPeerDelete);
  if (world_.drains.is_draining(router.node, host.cookie())) seen |= bit(Mishap::kDrain);
  if (host.state() != Host::State::kOff) {
    const std::uint64_t waited = host.waited_for_buffers();
    if (std::exchange(router.waited, waited) < waited) router.short_until = now + kMomentLasts;
  }
  return now < router.short_until ? seen | bit(Mishap::kExhaustion) : seen;
}

// Also pairs of which the first ends when the second begins: a crash ends a drain.
void MishapWatch::count(OfRouter& router, Set now) {
  const Set lasting = now | router.before;
  const Set fresh = now & ~router.before;
  Pairs pairs = 0;
  for (unsigned i = 0; i < kMishaps; ++i) {
    if ((fresh >> i & 1U) != 0) tally_.add(static_cast<Mishap>(i));
    for (unsigned j = i + 1; j < kMishaps; ++j) {
      if ((lasting >> i & lasting >> j & 1U) == 0) continue;
      const Pairs pair = Pairs{1} << (i * kMishaps + j);
      pairs |= pair;
      if ((router.pairs & pair) == 0) tally_.add(static_cast<Mishap>(i), static_cast<Mishap>(j));
    }
  }
  router.before = now;
  router.pairs = pairs;
}

void MishapWatch::look(Instant now) {
  if (std::exchange(changed_, false)) collect();
  for (OfRouter& router : routers_)
    count(router, seen_of(router, now));
}

}  // namespace plnet::sim
