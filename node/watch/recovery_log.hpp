// SPDX-License-Identifier: BSD-3-Clause
// The kernel's lines about NIs in recovery, in the node's log: at the first observation, and during
// recovery after 1, 2, 3, 4 and then every 5 more minutes. Checked against lustre-release v2_17_0
// lnet/lnet/lib-move.c: lnet_health_update_console(), lnet_print_recovery_list().
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "lib/base/clock.hpp"
#include "lib/lnet/names/nid.hpp"
#include "lib/lnet/node/node_report.hpp"
#include "lib/runtime/admin/log.hpp"

namespace plnet::node {

class RecoveryLog {
 public:
  static constexpr std::size_t kNidsMax = 20;  // in a line
  static constexpr Duration kPeriod = std::chrono::seconds(1);
  static constexpr Duration kPause = std::chrono::minutes(1);
  static constexpr unsigned kPausesMax = 5;

  // The log outlives this object.
  explicit RecoveryLog(runtime::Log& log) : log_(log) {}

  // Called every kPeriod.
  void say(const lnet::RecoveryReport& report, Instant now);

 private:
  struct Kind {
    Instant next{};
    unsigned lines = 0;
  };
  void say(Kind& kind, const std::vector<lnet::Nid>& nids, bool local, Instant now);

  runtime::Log& log_;
  Kind local_;
  Kind peers_;
};

}  // namespace plnet::node
