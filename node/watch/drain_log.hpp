// SPDX-License-Identifier: BSD-3-Clause
// The log lines of a drain that ends the process: its progress, and once its result.
#pragma once

#include <optional>

#include "lib/base/clock.hpp"
#include "lib/lnet/control/node_standing.hpp"
#include "lib/runtime/admin/log.hpp"

namespace plnet::node {

class DrainLog {
 public:
  // Both outlive this object.
  DrainLog(runtime::Log& log, const Clock& clock) : log_(log), clock_(clock) {}

  // Logs the progress; at most one line a second.
  void say(const lnet::StandingReport& report);
  // The drain has ended. False: a signal has ended it before.
  bool end(const lnet::StandingReport& report);
  // A signal ends the process before the drain is over.
  void break_off();

 private:
  runtime::Log& log_;
  const Clock& clock_;
  lnet::StandingReport seen_;  // the last one
  std::optional<Instant> said_at_;
  bool over_ = false;
};

}  // namespace plnet::node
