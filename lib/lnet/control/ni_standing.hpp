// SPDX-License-Identifier: BSD-3-Clause
// What is said of a local NI to whoever pings: up or down, and why. Pure.
// Checked against lustre-release at v2_17_0: lnet/lnet/router.c: lnet_update_ni_status_locked(),
// lnet/include/lnet/lib-lnet.h: lnet_dec_ni_healthv_locked(), lnet_inc_ni_healthv(),
// lnet/lnet/lib-move.c: lnet_parse().
//
// Where it departs from the kernel: when the device is back the NI of a router is up at once, not
// with the next ping; a ping says nothing of an NI whose health has come to 0; with routing off
// silence is no reason any more; and a network has its time from when routing began, however long
// it was there before.
#pragma once

#include <cstdint>
#include <string_view>

namespace plnet::lnet {

// X(name, text); the first is up.
#define PLNET_NI_CAUSES(X)                                                 \
  X(kNone, "")                                                             \
  X(kDevice, "its device, link or address has failed")                     \
  X(kDriver, "its network driver says so")                                 \
  X(kSilence, "nobody has pinged this router on its network for too long") \
  X(kHealth, "its health has come to 0 and is not back at its maximum")    \
  X(kBounces, "its health comes to 0 again and again and has to stay at its maximum for 15 s")

enum class NiCause : std::uint8_t {
#define PLNET_X(name, text) name,
  PLNET_NI_CAUSES(PLNET_X)
#undef PLNET_X
};

[[nodiscard]] std::string_view text_of(NiCause cause);

struct NiFacts {
  bool fatal = false;     // the device says so
  bool lnd_down = false;  // its LND does, though it may still work
  bool pinged = false;    // of a router: a ping came in since it was looked at last
  bool routing = false;
  bool silent = false;  // of a router: its network has not been pinged for too long
  std::int32_t health = 0;
};

// Why it is down now, if it was so for `was` before.
[[nodiscard]] NiCause judge_ni(NiCause was, const NiFacts& facts);

}  // namespace plnet::lnet
