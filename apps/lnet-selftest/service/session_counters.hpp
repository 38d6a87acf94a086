// SPDX-License-Identifier: BSD-3-Clause
// What a test node says of its session in its metrics.
#pragma once

#include "lib/base/counters.hpp"
#include "lib/selftest/framework.hpp"

namespace plnet::apps {

// clang-format off
#define PLNET_SESSION_COUNTERS(X)                                                                     \
  X(kActive, "active", "sessions", kGauge, "1: some console has a session here")                      \
  X(kBatches, "active_batches", "batches", kGauge, "of the session, running tests of which we are a client") \
  X(kZombies, "zombies", "sessions", kGauge, "that have ended and still wait for their last requests") \
  X(kBrwErrors, "brw_errors", "errors", kGauge, "of the session, transfers that failed or were wrong") \
  X(kPingErrors, "ping_errors", "errors", kGauge, "of the session, pings that failed or were wrong")
// clang-format on

PLNET_COUNTERS(SessionCounterTable, PLNET_SESSION_COUNTERS);
using SessionStatistics = Counters<SessionCounterTable>;

// The framework's shard.
inline void show(const selftest::Framework& framework, SessionStatistics& shown) {
  using Id = SessionCounterTable::Id;
  const selftest::Session* const session = framework.session();
  const bool active = session != nullptr;
  shown.set(Id::kActive, active ? 1 : 0);
  shown.set(Id::kBatches, active ? session->active_batches : 0);
  shown.set(Id::kZombies, framework.zombies());
  shown.set(Id::kBrwErrors, active ? session->brw_errors : 0);
  shown.set(Id::kPingErrors, active ? session->ping_errors : 0);
}

}  // namespace plnet::apps
