// SPDX-License-Identifier: BSD-3-Clause
// What the kfi LND asks of whoever keeps the rules about who may connect.
#pragma once

#include "lib/lnet/names/nid.hpp"

namespace plnet::kfilnd {

class PeerGate {
 public:
  virtual ~PeerGate() = default;
  // Cold: once for each introduction, from inside a poll or flush. False: it is not heard.
  [[nodiscard]] virtual bool admits(const lnet::Nid& peer) = 0;
};

}  // namespace plnet::kfilnd
