// SPDX-License-Identifier: BSD-3-Clause
// What one shard's context counts.
#pragma once

#include "lib/base/counters.hpp"

namespace plnet::cassini {

#define PLNET_CASSINI_COUNTERS(X)                                                              \
  X(kSends, "sends", "messages", kCount, "untagged messages handed to the NIC")                \
  X(kRemoteOperations, "remote_operations", "operations", kCount,                              \
    "reads, writes and answers handed to the NIC")                                             \
  X(kMessages, "messages", "messages", kCount, "untagged messages that arrived")               \
  X(kTaggedPosted, "tagged_posted", "buffers", kCount, "tagged buffers laid open")             \
  X(kTaggedTaken, "tagged_taken", "buffers", kCount, "tagged buffers that a peer has used")    \
  X(kTaggedCancelled, "tagged_cancelled", "buffers", kCount, "tagged buffers taken back")      \
  X(kLateCancels, "late_cancels", "buffers", kCount, "cancelled too late: the peer has won")   \
  X(kReceiverNotReady, "receiver_not_ready", "operations", kCount,                             \
    "tries that found no buffer at the peer")                                                  \
  X(kReposts, "reposts", "operations", kCount, "operations posted once more after that")       \
  X(kFailures, "failures", "operations", kCount, "operations of ours that ended in an error")  \
  X(kTargetErrors, "target_errors", "operations", kCount,                                      \
    "operations of peers on our memory that ended in an error")                                \
  X(kMessagesLost, "messages_lost", "messages", kCount,                                        \
    "arrivals that the NIC reports as failed or cut")                                          \
  X(kRefused, "refused", "operations", kCount, "posts turned away for want of room")           \
  X(kNoEntry, "no_entry", "entries", kCount, "list entries that the NIC had no place for")     \
  X(kStaleEvents, "stale_events", "events", kCount, "events of what has ended before")         \
  X(kStrangeEvents, "strange_events", "events", kCount, "events that make no sense here")      \
  X(kBounces, "bounces", "operations", kCount,                                                 \
    "bulk copied for want of registered or contiguous memory")                                 \
  X(kPortalDisabled, "portal_disabled", "times", kCount, "the NIC has disabled the portal")    \
  X(kPortalAskedAgain, "portal_asked_again", "times", kCount,                                  \
    "the NIC has not answered that the portal is to be enabled")                               \
  X(kCommandFailures, "command_failures", "commands", kCount, "commands that the NIC refused") \
  X(kEventsDropped, "events_dropped", "times", kCount, "an event queue ran over or broke")     \
  X(kRebuilds, "rebuilds", "times", kCount, "queues were made anew after a failure")           \
  X(kRebuildFailures, "rebuild_failures", "times", kCount, "tries at that which failed")       \
  X(kQuarantined, "quarantined", "operations", kCount,                                         \
    "begun by the NIC and never ended: they and their memory are out of use")                  \
  X(kBackendFailures, "backend_failures", "calls", kCount, "calls for what is allocated failed")
PLNET_COUNTERS(CassiniCounters, PLNET_CASSINI_COUNTERS);
using Stats = Counters<CassiniCounters>;

}  // namespace plnet::cassini
