// SPDX-License-Identifier: BSD-3-Clause
// Counters of one o2ib LND.
#pragma once

#include "lib/base/counters.hpp"

namespace plnet::o2iblnd {

#define PLNET_O2IBLND_COUNTERS(X)                                                                  \
  X(kImmediates, "sent_immediate", "messages", kCount, "messages sent as IMMEDIATE")               \
  X(kPutRequests, "sent_put_request", "messages", kCount, "messages sent as PUT_REQ")              \
  X(kGetRequests, "sent_get_request", "messages", kCount, "messages sent as GET_REQ")              \
  X(kNoops, "sent_noop", "messages", kCount, "NOOPs sent, to return credits or as keepalives")     \
  X(kWrites, "remote_writes", "writes", kCount, "remote writes posted")                            \
  X(kReceivedImmediates, "received_immediate", "messages", kCount, "IMMEDIATE received")           \
  X(kReceivedPuts, "received_put_request", "messages", kCount, "PUT_REQ received")                 \
  X(kReceivedGets, "received_get_request", "messages", kCount, "GET_REQ received")                 \
  X(kReceivedNoops, "received_noop", "messages", kCount, "NOOP received")                          \
  X(kNaks, "sent_put_nak", "messages", kCount,                                                     \
    "PUT_REQ answered without transfer: no byte was wanted")                                       \
  X(kEarly, "early_receives", "messages", kCount,                                                  \
    "messages received before their connection was established")                                   \
  X(kNoCredit, "waited_for_credit", "times", kCount, "a message waited for a credit")              \
  X(kIdleWithCredit, "idle_with_credit", "times", kCount,                                          \
    "a message waited although no resource was missing")                                           \
  X(kPostsRefused, "posts_refused", "chains", kCount,                                              \
    "chains refused by the driver and posted again")                                               \
  X(kNoReply, "waited_for_descriptor", "times", kCount, "an answer waited for a descriptor")       \
  X(kParked, "parked", "messages", kCount, "messages that waited for a decision")                  \
  X(kStaleResumes, "stale_resumes", "messages", kCount, "decisions for messages that had ended")   \
  X(kStray, "stray_completions", "requests", kCount,                                               \
    "completions of requests that are not under way")                                              \
  X(kTimeouts, "timeouts", "connections", kCount, "connections closed because a message was late") \
  X(kExpired, "expired", "messages", kCount, "messages that expired before they were sent")        \
  X(kQuarantined, "quarantined", "messages", kCount,                                               \
    "messages that ended while the peer could still access memory")                                \
  X(kConnects, "connects", "connections", kCount, "attempts to connect")                           \
  X(kConnectFailures, "connect_failures", "connections", kCount,                                   \
    "attempts to connect that failed")                                                             \
  X(kConnectTimeouts, "connect_timeouts", "connections", kCount,                                   \
    "attempts to connect without an answer")                                                       \
  X(kReconnects, "reconnects", "connections", kCount, "attempts to connect after a rejection")     \
  X(kEstablished, "established", "connections", kCount, "connections that were established")       \
  X(kClosed, "closed", "connections", kCount, "connections that ended")                            \
  X(kLost, "lost", "connections", kCount, "established connections that failed")                   \
  X(kRequests, "connect_requests", "connections", kCount, "connection requests received")          \
  X(kRaces, "races", "connections", kCount,                                                        \
    "connection requests rejected because ours has precedence")                                    \
  X(kRejectedFatal, "rejected_fatal", "connections", kCount,                                       \
    "connection requests rejected permanently")                                                    \
  X(kRejectedStale, "rejected_stale", "connections", kCount,                                       \
    "connection requests for or of another incarnation")                                           \
  X(kRejectedEarly, "rejected_early", "connections", kCount,                                       \
    "connection requests before the NI was ready")                                                 \
  X(kRejectedDepth, "rejected_queue_depth", "connections", kCount,                                 \
    "connection requests with too deep a queue")                                                   \
  X(kRejectedFragments, "rejected_fragments", "connections", kCount,                               \
    "connection requests with too many fragments")                                                 \
  X(kRejectedResources, "rejected_no_resources", "connections", kCount,                            \
    "connection requests without room for a queue pair")                                           \
  X(kRefusedAccess, "refused_access", "connections", kCount,                                       \
    "connection requests that an access rule forbids")                                             \
  X(kRestarts, "peer_restarts", "peers", kCount, "peers that returned as another incarnation")     \
  X(kPeersRefused, "peers_refused", "peers", kCount, "peers for which there was no room")          \
  X(kLanesFull, "lanes_full", "connections", kCount,                                               \
    "kept on the home shard: no further lanes on other shards")                                    \
  X(kNoLane, "lane_gone", "messages", kCount, "failed: their lane had ended")                      \
  X(kUnmatched, "dropped_unmatched", "messages", kCount, "answers to no request of ours")          \
  X(kOverCredit, "dropped_over_credit", "messages", kCount, "messages beyond the granted credits") \
  X(kBadCredits, "dropped_bad_credits", "messages", kCount,                                        \
    "messages that returned more credits than exist")                                              \
  X(kBadStatus, "dropped_bad_status", "messages", kCount,                                          \
    "answers that report more bytes than requested")                                               \
  X(kWrongLife, "dropped_stale", "messages", kCount,                                               \
    "messages of or for another incarnation or NID")                                               \
  X(kLength, "dropped_length", "messages", kCount,                                                 \
    "messages whose header and payload lengths disagree")                                          \
  X(kRejected, "rejected", "messages", kCount, "messages rejected by the core")                    \
  X(kUnexpected, "unexpected_events", "events", kCount, "events that the state does not expect")   \
  X(kShort, "dropped_short", "messages", kCount, "messages shorter than a header")                 \
  X(kWrongMagic, "dropped_magic", "messages", kCount, "messages without the magic of o2iblnd")     \
  X(kVersion, "dropped_version", "messages", kCount, "messages of an unknown version")             \
  X(kTruncated, "dropped_truncated", "messages", kCount,                                           \
    "messages shorter than their length field")                                                    \
  X(kChecksum, "dropped_checksum", "messages", kCount, "messages with a wrong checksum")           \
  X(kNoSource, "dropped_no_source", "messages", kCount, "messages from the wildcard NID")          \
  X(kTooSmall, "dropped_too_small", "messages", kCount,                                            \
    "messages shorter than their type requires")                                                   \
  X(kType, "dropped_type", "messages", kCount, "messages of an unknown or misplaced type")         \
  X(kFragments, "dropped_fragments", "messages", kCount, "messages with invalid fragments")
PLNET_COUNTERS(O2ibCounters, PLNET_O2IBLND_COUNTERS);

}  // namespace plnet::o2iblnd
