// SPDX-License-Identifier: BSD-3-Clause
// The access rules, as the kfi LND asks for them.
#pragma once

#include "lib/lnet/names/nid.hpp"

namespace plnet::kfilnd {

class PeerGate {
 public:
  virtual ~PeerGate() = default;
  // Cold: once for each introduction, from inside a poll or flush. False: its messages are dropped.
  [[nodiscard]] virtual bool admits(const lnet::Nid& peer) = 0;
};

}  // namespace plnet::kfilnd
