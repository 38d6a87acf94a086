// SPDX-License-Identifier: BSD-3-Clause
// Counters of one shard's context.
#pragma once

#include "lib/base/counters.hpp"

namespace plnet::cassini {

#define PLNET_CASSINI_COUNTERS(X)                                                                  \
  X(kSends, "sends", "messages", kCount, "untagged messages handed to the NIC")                    \
  X(kRemoteOperations, "remote_operations", "operations", kCount,                                  \
    "reads, writes and answers handed to the NIC")                                                 \
  X(kMessages, "messages", "messages", kCount, "untagged messages that arrived")                   \
  X(kTaggedPosted, "tagged_posted", "buffers", kCount, "tagged buffers posted")                    \
  X(kTaggedTaken, "tagged_taken", "buffers", kCount, "tagged buffers that a peer has used")        \
  X(kTaggedCancelled, "tagged_cancelled", "buffers", kCount, "tagged buffers cancelled")           \
  X(kLateCancels, "late_cancels", "buffers", kCount, "cancelled too late: a peer had used them")   \
  X(kReceiverNotReady, "receiver_not_ready", "operations", kCount,                                 \
    "tries that found no buffer at the peer")                                                      \
  X(kReposts, "reposts", "operations", kCount, "operations repeated after that")                   \
  X(kFailures, "failures", "operations", kCount, "own operations that ended in an error")          \
  X(kTargetErrors, "target_errors", "operations", kCount,                                          \
    "operations of peers on own memory that ended in an error")                                    \
  X(kMessagesLost, "messages_lost", "messages", kCount,                                            \
    "arrivals that the NIC reports as failed or cut")                                              \
  X(kRefused, "refused", "operations", kCount, "posts refused for lack of room")                   \
  X(kNoEntry, "no_entry", "entries", kCount, "list entries refused for lack of room in the NIC")   \
  X(kStaleEvents, "stale_events", "events", kCount, "events of operations that had already ended") \
  X(kStrangeEvents, "strange_events", "events", kCount, "events that should not occur")            \
  X(kBounces, "bounces", "operations", kCount,                                                     \
    "bulk copied for lack of registered or contiguous memory")                                     \
  X(kPortalDisabled, "portal_disabled", "times", kCount, "times the NIC disabled the portal")      \
  X(kPortalAskedAgain, "portal_asked_again", "times", kCount,                                      \
    "requests to enable the portal without an answer")                                             \
  X(kCommandFailures, "command_failures", "commands", kCount, "commands that the NIC refused")     \
  X(kEventsDropped, "events_dropped", "times", kCount,                                             \
    "overruns and invalid events of an event queue")                                               \
  X(kRebuilds, "rebuilds", "times", kCount, "queues rebuilt after a failure")                      \
  X(kRebuildFailures, "rebuild_failures", "times", kCount, "failed attempts to rebuild")           \
  X(kQuarantined, "quarantined", "operations", kCount,                                             \
    "begun by the NIC and never ended: their memory stays out of use")                             \
  X(kBackendFailures, "backend_failures", "calls", kCount, "failed calls of libcxi")
PLNET_COUNTERS(CassiniCounters, PLNET_CASSINI_COUNTERS);
using Stats = Counters<CassiniCounters>;

}  // namespace plnet::cassini
