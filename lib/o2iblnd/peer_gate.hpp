// SPDX-License-Identifier: BSD-3-Clause
// The access rules, as the o2ib LND asks for them.
#pragma once

#include "lib/lnet/names/nid.hpp"

namespace plnet::o2iblnd {

class PeerGate {
 public:
  virtual ~PeerGate() = default;
  // Cold: once for each request to connect, from inside a poll. False: it is rejected.
  [[nodiscard]] virtual bool admits(const lnet::Nid& peer) = 0;
};

}  // namespace plnet::o2iblnd
