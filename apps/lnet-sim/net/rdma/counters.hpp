// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "lib/base/counters.hpp"

namespace plnet::sim {

#define PLNET_SIM_RDMA_LND_COUNTERS(X)                                                           \
  X(kImmediates, "immediates", "messages", kCount, "sent with their header")                     \
  X(kPutRequests, "put_requests", "messages", kCount, "PUT and REPLY that asked for their sink") \
  X(kGetRequests, "get_requests", "messages", kCount, "GET with an open sink")                   \
  X(kReceived, "received", "messages", kCount, "headers handed to the core")                     \
  X(kConnects, "connects", "connections", kCount, "attempts to connect")                         \
  X(kConnectFailures, "connect_failures", "connections", kCount, "attempts that failed")         \
  X(kLost, "lost_connections", "connections", kCount, "queue pairs that ended unasked")          \
  X(kFailed, "failed", "messages", kCount, "messages that ended with an error")                  \
  X(kExpired, "expired", "messages", kCount, "messages whose deadline passed here")              \
  X(kQuarantined, "quarantined", "messages", kCount, "ended while a peer could reach the sink")  \
  X(kParked, "parked", "messages", kCount, "messages that waited for a decision")                \
  X(kNaks, "naks", "messages", kCount, "requests of which nobody wanted a byte")                 \
  X(kStaleResumes, "stale_resumes", "calls", kCount, "decisions for messages that had gone")     \
  X(kProtocolErrors, "protocol_errors", "connections", kCount, "ended for what the peer sent")   \
  X(kStalled, "stalled", "connections", kCount, "ended because a transfer did not come on")      \
  X(kPostsRefused, "posts_refused", "chains", kCount, "chains to be posted again")               \
  X(kRefused, "refused", "connections", kCount, "incoming connections for which there is no room")
PLNET_COUNTERS(RdmaLndCounters, PLNET_SIM_RDMA_LND_COUNTERS);

}  // namespace plnet::sim
