// SPDX-License-Identifier: BSD-3-Clause
// Counters of one shard's endpoint.
#pragma once

#include "lib/base/counters.hpp"

namespace plnet::ofi {

#define PLNET_OFI_COUNTERS(X)                                                                      \
  X(kSends, "sends", "messages", kCount, "untagged messages sent")                                 \
  X(kRemoteOperations, "remote_operations", "operations", kCount, "reads, writes and answers")     \
  X(kMessages, "messages", "messages", kCount, "untagged messages that arrived")                   \
  X(kTaggedPosted, "tagged_posted", "buffers", kCount, "tagged buffers laid open")                 \
  X(kTaggedTaken, "tagged_taken", "buffers", kCount, "tagged buffers that a peer has used")        \
  X(kTaggedCancelled, "tagged_cancelled", "buffers", kCount, "tagged buffers taken back")          \
  X(kLateCancels, "late_cancels", "buffers", kCount, "cancelled too late: the peer has won")       \
  X(kNoBuffer, "no_buffer", "messages", kCount, "arrivals that found no buffer and were turned")   \
  X(kReceiverNotReady, "receiver_not_ready", "messages", kCount,                                   \
    "tries of ours that found no buffer at the peer")                                              \
  X(kNoMatch, "no_match", "operations", kCount, "operations of peers that found no tag")           \
  X(kFailures, "failures", "operations", kCount, "operations of ours that ended in an error")      \
  X(kTimeouts, "timeouts", "operations", kCount, "conversations that ended for want of an answer") \
  X(kRefused, "refused", "operations", kCount, "posts turned away for want of room")               \
  X(kBounces, "bounces", "operations", kCount,                                                     \
    "bulk copied for want of registered or contiguous memory")                                     \
  X(kGarbage, "garbage", "packets", kCount, "packets that make no sense")                          \
  X(kStale, "stale", "records", kCount, "records about what has ended before")                     \
  X(kStrangersRefused, "strangers_refused", "packets", kCount,                                     \
    "packets from senders that the directory has no place for")                                    \
  X(kRestarts, "restarts", "peers", kCount, "peers that came back as another process")             \
  X(kRecordsLost, "records_lost", "records", kCount, "answers that could not be sent")             \
  X(kProviderBusy, "provider_busy", "calls", kCount, "posts that the provider asked to repeat")    \
  X(kProviderErrors, "provider_errors", "operations", kCount, "what the provider let fail")
PLNET_COUNTERS(OfiCounters, PLNET_OFI_COUNTERS);
using Stats = Counters<OfiCounters>;

}  // namespace plnet::ofi
