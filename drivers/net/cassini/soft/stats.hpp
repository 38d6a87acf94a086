// SPDX-License-Identifier: BSD-3-Clause
// The counters of one software NIC.
#pragma once

#include "lib/base/counters.hpp"

namespace plnet::cassini::soft {

#define PLNET_CASSINI_SOFT_COUNTERS(X)                                                             \
  X(kCommands, "commands", "commands", kCount, "commands executed, NOOPs not counted")             \
  X(kTargetCommands, "target_commands", "commands", kCount, "of them on target queues")            \
  X(kCommandFailures, "command_failures", "commands", kCount, "queues stopped by a bad command")   \
  X(kReservedBits, "reserved_set", "commands", kCount, "commands with reserved bits set")          \
  X(kLowLatency, "low_latency", "commands", kCount, "taken from a low-latency window")             \
  X(kLowLatencyRejected, "low_latency_rejected", "commands", kCount,                               \
    "low-latency writes that were rejected and read from memory")                                  \
  X(kPutsSent, "puts_sent", "messages", kCount, "PUT operations begun")                            \
  X(kGetsSent, "gets_sent", "messages", kCount, "GET operations begun")                            \
  X(kAtomicsSent, "atomics_sent", "messages", kCount, "atomic operations begun")                   \
  X(kAtomicsDone, "atomics_done", "messages", kCount, "atomic operations executed here")           \
  X(kCpuAtomics, "cpu_atomics", "messages", kCount, "of them as additions of the CPU's")           \
  X(kCpuFetchingAtomics, "cpu_fetching_atomics", "messages", kCount, "of them with an answer")     \
  X(kHrpSent, "hrp_sent", "messages", kCount, "of them of the traffic class type HRP")             \
  X(kBytesSent, "bytes_sent", "bytes", kCount, "asked for by operations begun")                    \
  X(kCompleted, "completed", "messages", kCount, "operations whose target answered OK")            \
  X(kFailed, "failed", "messages", kCount, "operations that ended with another code")              \
  X(kDelivered, "delivered", "messages", kCount, "operations that matched here")                   \
  X(kBytesDelivered, "bytes_delivered", "bytes", kCount, "moved to or from memory here")           \
  X(kRestricted, "restricted", "messages", kCount, "restricted operations that matched here")      \
  X(kFlushes, "flushes", "messages", kCount, "answered when their bytes are visible, if asked to") \
  X(kTruncated, "truncated", "messages", kCount, "delivered in part for lack of room")             \
  X(kNoMatch, "no_match", "messages", kCount, "no list entry matched")                             \
  X(kRefused, "refused", "messages", kCount, "refused before any list was searched")               \
  X(kCut, "cut", "messages", kCount, "half received when their list entry was invalidated")        \
  X(kEvents, "events", "events", kCount, "written to event queues")                                \
  X(kEventsDropped, "events_dropped", "events", kCount, "no room in the event queue")              \
  X(kEventsUncleared, "events_uncleared", "events", kCount,                                        \
    "written where the reader had not zeroed a consumed event")                                    \
  X(kTranslationFaults, "translation_faults", "faults", kCount, "device addresses without memory") \
  X(kPageRequests, "page_requests", "requests", kCount,                                            \
    "for pages of memory that is not pinned, unknown until then")                                  \
  X(kStateChanges, "state_changes", "changes", kCount, "portals that flow control disabled")

PLNET_COUNTERS(NicCounters, PLNET_CASSINI_SOFT_COUNTERS);
using NicStats = Counters<NicCounters>;

}  // namespace plnet::cassini::soft
