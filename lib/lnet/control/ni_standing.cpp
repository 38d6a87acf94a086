// SPDX-License-Identifier: BSD-3-Clause
#include "lib/lnet/control/ni_standing.hpp"

#include "lib/base/check.hpp"
#include "lib/lnet/peers/health.hpp"

namespace plnet::lnet {

std::string_view text_of(NiCause cause) {
  switch (cause) {
#define PLNET_X(name, text) \
  case NiCause::name: return text;
    PLNET_NI_CAUSES(PLNET_X)
#undef PLNET_X
  }
  return "";
}

NiCause judge_ni(NiCause was, const NiFacts& facts) {
  PLNET_CHECK(facts.health >= 0 && facts.health <= kHealthMax, "health has a range");
  if (facts.fatal) return NiCause::kDevice;
  if (!facts.pinged) {  // a ping has arrived, which refutes these
    if (facts.lnd_down) return NiCause::kDriver;
    if (facts.routing && (facts.silent || was == NiCause::kSilence)) return NiCause::kSilence;
  }
  const bool ill = facts.health == 0 || (was == NiCause::kHealth && facts.health < kHealthMax);
  return ill ? NiCause::kHealth : NiCause::kNone;
}

}  // namespace plnet::lnet
