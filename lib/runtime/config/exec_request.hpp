// SPDX-License-Identifier: BSD-3-Clause
// An item of `ping` or `discover`: the operation of `lnetctl import --exec` on one node.
#pragma once

#include <chrono>
#include <optional>

#include "lib/base/clock.hpp"
#include "lib/lnet/names/nid.hpp"

namespace plnet::runtime {

struct ExecRequest {
  lnet::Nid nid;  // Nid{}: not given
  Duration timeout = std::chrono::seconds(1);
  std::optional<lnet::Nid> source;
  bool force = false;
};

}  // namespace plnet::runtime
