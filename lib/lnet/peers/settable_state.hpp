// SPDX-License-Identifier: BSD-3-Clause
// The bits of a peer's state that `lnetctl peer set --state` may change; the kernel accepts any
// (lustre-release lnet/lnet/api-ni.c: LNetCtl(), IOC_LIBCFS_SET_PEER).
#pragma once

#include "lib/lnet/peers/peer_state.hpp"

namespace plnet::lnet {

// Bits that only record a fact or a request. The others stand for objects that exist with them: a
// place in a queue, a message under way, received data, the configuration, a check of a gateway.
inline constexpr std::uint32_t kPeerStateSettable =
    kPeerMultiRail | kPeerNoDiscovery | kPeerRouterEnabled | kPeerDiscovered | kPeerRediscover |
    kPeerNidsUpToDate | kPeerForcePing | kPeerForcePush | kPeerBadConfig;
static_assert((kPeerStateSettable & (kPeerDiscovering | kPeerDataPresent | kPeerPingSent |
                                     kPeerPushSent | kPeerConfigured | kPeerMarkDeleted)) == 0,
              "bits that stand for an object change with it alone");

// Bits of `wanted` that may not be set, and are not set now.
[[nodiscard]] constexpr std::uint32_t unfit_state(std::uint32_t now, std::uint32_t wanted) {
  return wanted & ~now & ~kPeerStateSettable;
}

// The settable bits of `wanted`, and the other bits unchanged.
[[nodiscard]] constexpr std::uint32_t settable_state(std::uint32_t now, std::uint32_t wanted) {
  return (now & ~kPeerStateSettable) | (wanted & kPeerStateSettable);
}

}  // namespace plnet::lnet
