// SPDX-License-Identifier: BSD-3-Clause
#include "lib/lnet/control/gateway.hpp"

#include <ranges>

#include "lib/base/check.hpp"

namespace plnet::lnet {

Nid target_of_check(const PeerRecord& peer, Gateway::Turn& turn) {
  const PeerView& seen = peer.seen();
  PLNET_CHECK(seen.net(turn.net) != nullptr,
              "a check asks an interface on a network of the gateway");
  const auto there = seen.on(*seen.net(turn.net));
  const auto count = static_cast<std::uint32_t>(there.size());
  PLNET_CHECK(count > 0, "a network of a peer has a peer NI");
  const auto primary = std::ranges::find(there, peer.primary, &PeerNi::nid);
  const auto first = primary == there.end() ? std::uint32_t{0}
                                            : static_cast<std::uint32_t>(primary - there.begin());
  if (turn.asked >= count) {  // all were asked: a second round, from another NI of ours
    turn.asked = 0;
    ++turn.by;
  }
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::uint32_t at = (turn.asked + i) % count;
    const PeerNi* const ni = there[(first + at) % count];
    if (ni->status.get() != kNiUp) continue;
    turn.asked = at;
    return ni->nid;
  }
  PLNET_CHECK(turn.asked < count, "a check asks an interface of the gateway");
  return there[(first + turn.asked) % count]->nid;
}

Nid source_of_check(std::span<Ni* const> ours, Gateway::Turn& turn) {
  PLNET_CHECK(!ours.empty(), "a network has an NI");
  const auto well = [](const Ni* ni) { return !ni->fatal.get(); };
  const auto count = static_cast<std::uint32_t>(std::ranges::count_if(ours, well));
  if (count == 0) return ours.front()->nid;
  turn.by %= count;
  auto left = turn.by;
  for (const Ni* const ni : ours) {
    if (well(ni) && left-- == 0) return ni->nid;
  }
  return ours.front()->nid;
}

bool is_silent(const PeerNi& ni) {
  return record_of(ni).silent && ni.status.get() != kNiUp;
}

bool is_reachable(const Gateway& gateway) {
  PLNET_CHECK(gateway.peer != nullptr, "a gateway is a peer");
  return std::ranges::any_of(gateway.peer->seen().nis, [&gateway](const PeerNi* ni) {
    return ni->status.get() == kNiUp && gateway.turn_of(ni->net) != nullptr;
  });
}

}  // namespace plnet::lnet
