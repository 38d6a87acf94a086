// SPDX-License-Identifier: BSD-3-Clause
// Counters of the null driver.
#pragma once

#include "lib/base/counters.hpp"

namespace plnet::drivers {

#define PLNET_NULL_COUNTERS(X)                                                                  \
  X(kSent, "sent", "messages", kCount, "messages taken and completed without a failure")        \
  X(kFailed, "failed", "messages", kCount, "messages cancelled, expired or ended by shutdown")  \
  X(kBackPressure, "back_pressure", "bursts", kCount, "bursts of which not all was taken")      \
  X(kInFlightMax, "in_flight_max", "messages", kHighWater, "most messages held at once")        \
  X(kAcks, "acks", "messages", kCount, "ACKs answered to PUTs")                                 \
  X(kReplies, "replies", "messages", kCount, "REPLYs answered to GETs")                         \
  X(kRepliesPlaced, "replies_placed", "messages", kCount, "GETs whose sink was filled at once") \
  X(kSourced, "sourced", "messages", kCount, "messages made up in source mode")                 \
  X(kSourceBlocked, "source_blocked", "messages", kCount,                                       \
    "draws of a source whose last message is still parked")                                     \
  X(kReceived, "received", "messages", kCount, "offers that the core received")                 \
  X(kReceivedBytes, "received_bytes", "bytes", kCount, "payload bytes that the core received")  \
  X(kDropped, "dropped", "messages", kCount, "offers that the core dropped")                    \
  X(kParked, "parked", "messages", kCount, "offers that the core parked")                       \
  X(kParkedGone, "parked_gone", "messages", kCount, "parked offers that ended with their peer") \
  X(kRejected, "rejected", "messages", kCount, "offers that the core called a broken protocol") \
  X(kStaleResumes, "stale_resumes", "decisions", kCount, "decisions for offers long gone")      \
  X(kPeersExhausted, "peers_exhausted", "messages", kCount,                                     \
    "back-pressure for lack of a peer record")

PLNET_COUNTERS(NullTable, PLNET_NULL_COUNTERS);
using NullStats = Counters<NullTable>;

}  // namespace plnet::drivers
