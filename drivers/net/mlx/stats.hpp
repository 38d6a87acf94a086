// SPDX-License-Identifier: BSD-3-Clause
// Counters of the verbs driver.
#pragma once

#include "lib/base/counters.hpp"

namespace plnet::mlx {

#define PLNET_MLX_COUNTERS(X)                                                                     \
  X(kConnects, "connects", "connections", kCount, "attempts to connect")                          \
  X(kRequests, "requests", "connections", kCount, "incoming connection requests")                 \
  X(kRequestsRefused, "requests_refused", "connections", kCount,                                  \
    "incoming requests refused because all connections are in use")                               \
  X(kHandedOver, "handed_over", "connections", kCount,                                            \
    "incoming requests given to the shard of their peer")                                         \
  X(kEstablished, "established", "connections", kCount, "connections that came up")               \
  X(kRejected, "rejected", "connections", kCount, "attempts that the peer rejected")              \
  X(kDisconnected, "disconnected", "connections", kCount, "connections and attempts that failed") \
  X(kOpen, "open", "connections", kGauge, "queue pairs that exist now")                           \
  X(kChains, "chains", "chains", kCount, "chains of work requests posted")                        \
  X(kWork, "work_requests", "requests", kCount, "work requests in these chains")                  \
  X(kInlined, "inlined", "messages", kCount, "sends whose bytes went along with the request")     \
  X(kChainsRefused, "chains_refused", "chains", kCount, "chains for which there was no room")     \
  X(kReceives, "receives", "requests", kCount, "receive buffers posted")                          \
  X(kReceivesRefused, "receives_refused", "requests", kCount, "receive buffers not taken")        \
  X(kSent, "sent", "chains", kCount, "chains that completed")                                     \
  X(kReceived, "received", "messages", kCount, "messages received")                               \
  X(kFlushed, "flushed", "requests", kCount, "chains and receives flushed by an error")           \
  X(kErrors, "errors", "requests", kCount, "completions with an error, flushes not counted")      \
  X(kStaleCompletions, "stale_completions", "completions", kCount,                                \
    "completions of chains that had been reported")                                               \
  X(kStaleCalls, "stale_calls", "calls", kCount, "calls for a queue pair that is gone; ignored")  \
  X(kDrainsForced, "drains_forced", "connections", kCount,                                        \
    "queue pairs destroyed before all flushes had come")                                          \
  X(kPortTries, "port_tries", "ports", kCount, "privileged source ports tried")                   \
  X(kPolls, "cq_polls", "calls", kCount, "looks at the completion queue")                         \
  X(kEmptyPolls, "empty_cq_polls", "calls", kCount, "of these, those that found nothing")         \
  X(kEvents, "cm_events", "events", kCount, "events of the connection manager")
PLNET_COUNTERS(MlxTable, PLNET_MLX_COUNTERS);
using MlxStats = Counters<MlxTable>;

}  // namespace plnet::mlx
