// SPDX-License-Identifier: BSD-3-Clause
// The state of a peer in LNet's numbers, and the parts that each message needs. Checked against
// lustre-release lnet/lnet/peer.c: lnet_peer_is_uptodate_locked().
#pragma once

#include <cstddef>
#include <cstdint>

namespace plnet::lnet {

// lp_state, as `peer state` of `lnetctl peer show -v 3` prints it (numbers of 2.13 and later).
enum PeerState : std::uint32_t {
  kPeerMultiRail = 1U << 0,
  kPeerNoDiscovery = 1U << 1,
  kPeerRouterEnabled = 1U << 2,
  kPeerConfigured = 1U << 3,
  kPeerDiscovered = 1U << 4,
  kPeerRediscover = 1U << 5,
  kPeerDiscovering = 1U << 6,
  kPeerDataPresent = 1U << 7,
  kPeerNidsUpToDate = 1U << 8,
  kPeerPingSent = 1U << 9,
  kPeerPushSent = 1U << 10,
  kPeerPingFailed = 1U << 11,
  kPeerPushFailed = 1U << 12,
  kPeerForcePing = 1U << 13,
  kPeerForcePush = 1U << 14,
  kPeerRouterNiForceDelete = 1U << 15,
  kPeerRouterDiscovery = 1U << 16,
  kPeerRouterDiscovered = 1U << 17,
  kPeerMarkDeletion = 1U << 18,
  kPeerMarkDeleted = 1U << 19,
  kPeerLockPrimary = 1U << 20,
  kPeerBadConfig = 1U << 21,
};

// The kernel also compares the sequence number that the peer has acknowledged. Here the state has
// that information: an increase of the node's sequence number sets kPeerDiscovering on all peers
// that must learn it.
[[nodiscard]] constexpr bool is_up_to_date(std::uint32_t state) {
  constexpr std::uint32_t kUnsettled =
      kPeerDiscovering | kPeerForcePing | kPeerForcePush | kPeerRediscover;
  constexpr std::uint32_t kSettled = kPeerDiscovered | kPeerNidsUpToDate;
  return (state & kUnsettled) == 0 && (state & kSettled) == kSettled;
}

// A message need not wait for discovery of its peer. A message does not start another discovery of
// a gateway that is being checked.
[[nodiscard]] constexpr bool is_ready(std::uint32_t state) {
  return (state & kPeerRouterDiscovery) != 0 || is_up_to_date(state);
}

// The facts about its peer that each interface stores. Absent: read the peer.
enum PeerTrait : std::uint8_t {
  kTraitAlone = 1U << 0,      // its only interface
  kTraitMultiRail = 1U << 1,  // kPeerMultiRail
  kTraitReady = 1U << 2,      // is_ready()
};

[[nodiscard]] constexpr std::uint8_t peer_traits(std::uint32_t state, std::size_t interfaces) {
  unsigned traits = 0;
  if (interfaces == 1) traits |= kTraitAlone;
  if ((state & kPeerMultiRail) != 0) traits |= kTraitMultiRail;
  if (is_ready(state)) traits |= kTraitReady;
  return static_cast<std::uint8_t>(traits);
}
static_assert(!is_ready(0) && is_up_to_date(kPeerDiscovered | kPeerNidsUpToDate) &&
                  !is_up_to_date(kPeerDiscovered | kPeerNidsUpToDate | kPeerForcePush),
              "only a discovered peer without requests is up to date");

}  // namespace plnet::lnet
