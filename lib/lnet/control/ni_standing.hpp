// SPDX-License-Identifier: BSD-3-Clause
// The state of a local NI that peers see: up or down, and the cause. Pure. Checked against
// lustre-release at v2_17_0: lnet/lnet/router.c: lnet_update_ni_status_locked(),
// lnet/include/lnet/lib-lnet.h: lnet_dec_ni_healthv_locked(), lnet_inc_ni_healthv(),
// lnet/lnet/lib-move.c: lnet_parse().
//
// Departures from the kernel: when its device is back, the NI of a router is up at once, not with
// the next ping; a ping does not take up an NI without health; with routing off silence is no
// cause; and the time of a network counts from the start of routing, even if the network existed
// before.
#pragma once

#include <cstdint>
#include <string_view>

namespace plnet::lnet {

// X(name, text); the first is up.
#define PLNET_NI_CAUSES(X)                                                                        \
  X(kNone, "")                                                                                    \
  X(kDevice, "its device, link or address has failed")                                            \
  X(kDriver, "its network driver says so")                                                        \
  X(kSilence,                                                                                     \
    "no node of its network has pinged this router for too long; it works, and other nodes take " \
    "down their routes to that network by it")                                                    \
  X(kHealth, "its health has come to 0 and is not back at its maximum")                           \
  X(kBounces, "its health comes to 0 again and again and has to stay at its maximum for 15 s")

enum class NiCause : std::uint8_t {
#define PLNET_X(name, text) name,
  PLNET_NI_CAUSES(PLNET_X)
#undef PLNET_X
};

[[nodiscard]] std::string_view text_of(NiCause cause);

struct NiFacts {
  bool fatal = false;     // by the report of the device
  bool lnd_down = false;  // by the report of its LND, though it may still work
  bool pinged = false;    // on a router: a ping has arrived since the last look
  bool routing = false;
  bool silent = false;  // on a router: no ping has arrived on its network for too long
  std::int32_t health = 0;
};

// The cause why it is down now. `was`: the cause before.
[[nodiscard]] NiCause judge_ni(NiCause was, const NiFacts& facts);

}  // namespace plnet::lnet
