// SPDX-License-Identifier: BSD-3-Clause
#include "lib/lnet/paths/udsp.hpp"

#include "lib/base/check.hpp"

namespace plnet::lnet {

Outcome<Udsp> complete_udsp(Udsp udsp) {
  if (!udsp.source && !udsp.destination && !udsp.router)
    return failure(Errc::kMissing, "a policy without src, dst and rte, expected one of them");
  if (udsp.router && udsp.source)
    return failure(Errc::kInvalid, "src and rte in one policy, expected dst with one of them");
  if (udsp.router && !udsp.destination)
    return failure(Errc::kInvalid, "rte alone, expected also dst: who is sent to through them");
  if (udsp.is_priority() && !udsp.priority) udsp.priority = 0;
  if (!udsp.is_priority() && udsp.priority) {
    return failure(Errc::kInvalid,
                   "a priority with dst and another, expected it with src or dst alone");
  }
  PLNET_CHECK(udsp.is_priority() == udsp.priority.has_value(), "a priority policy has a number");
  return udsp;
}

}  // namespace plnet::lnet
