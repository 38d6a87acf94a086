// SPDX-License-Identifier: BSD-3-Clause
// The metrics of a test node about its session.
#pragma once

#include "lib/base/counters.hpp"
#include "lib/selftest/framework.hpp"

namespace plnet::apps {

// clang-format off
#define PLNET_SESSION_COUNTERS(X)                                                                     \
  X(kActive, "active", "sessions", kGauge, "1: a console has a session on this node")                      \
  X(kBatches, "active_batches", "batches", kGauge, "batches of the session with running client tests") \
  X(kZombies, "zombies", "sessions", kGauge, "ended sessions that wait for their last requests") \
  X(kBrwErrors, "brw_errors", "errors", kGauge, "transfers of the session that failed or had wrong data") \
  X(kPingErrors, "ping_errors", "errors", kGauge, "pings of the session that failed or had wrong data")
// clang-format on

PLNET_COUNTERS(SessionCounterTable, PLNET_SESSION_COUNTERS);
using SessionStatistics = Counters<SessionCounterTable>;

// Called on the framework's shard.
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
