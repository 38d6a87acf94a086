// SPDX-License-Identifier: BSD-3-Clause
// Counters of one o2ib LND.
#pragma once

#include "lib/base/counters.hpp"

namespace plnet::o2iblnd {

#define PLNET_O2IBLND_COUNTERS(X)                                                                  \
  X(kImmediates, "sent_immediate", "messages", kCount, "sent as IMMEDIATE")                        \
  X(kPutRequests, "sent_put_request", "messages", kCount, "sent as PUT_REQ")                       \
  X(kGetRequests, "sent_get_request", "messages", kCount, "sent as GET_REQ")                       \
  X(kNoops, "sent_noop", "messages", kCount, "NOOP sent, to return credits or as keepalives")      \
  X(kWrites, "remote_writes", "writes", kCount, "remote writes posted")                            \
  X(kReceivedImmediates, "received_immediate", "messages", kCount, "IMMEDIATE received")           \
  X(kReceivedPuts, "received_put_request", "messages", kCount, "PUT_REQ received")                 \
  X(kReceivedGets, "received_get_request", "messages", kCount, "GET_REQ received")                 \
  X(kReceivedNoops, "received_noop", "messages", kCount, "NOOP received")                          \
  X(kNaks, "sent_put_nak", "messages", kCount, "PUT_REQ of which no byte was wanted")              \
  X(kEarly, "early_receives", "messages", kCount, "received before their connection was up")       \
  X(kNoCredit, "waited_for_credit", "times", kCount, "a message waited for a credit")              \
  X(kIdleWithCredit, "idle_with_credit", "times", kCount,                                          \
    "a message waited although nothing was missing")                                               \
  X(kPostsRefused, "posts_refused", "chains", kCount, "chains posted again later")                 \
  X(kNoReply, "waited_for_descriptor", "times", kCount, "an answer waited for a descriptor")       \
  X(kParked, "parked", "messages", kCount, "messages that waited for a decision")                  \
  X(kStaleResumes, "stale_resumes", "messages", kCount, "decisions for messages that are gone")    \
  X(kStray, "stray_completions", "requests", kCount, "completions of nothing under way")           \
  X(kTimeouts, "timeouts", "connections", kCount, "closed because a message was late")             \
  X(kExpired, "expired", "messages", kCount, "ended before they were sent")                        \
  X(kQuarantined, "quarantined", "messages", kCount, "ended while the peer could reach memory")    \
  X(kConnects, "connects", "connections", kCount, "attempts to connect")                           \
  X(kConnectFailures, "connect_failures", "connections", kCount, "attempts that failed")           \
  X(kConnectTimeouts, "connect_timeouts", "connections", kCount, "attempts without an answer")     \
  X(kReconnects, "reconnects", "connections", kCount, "attempts after a rejection")                \
  X(kEstablished, "established", "connections", kCount, "connections that came up")                \
  X(kClosed, "closed", "connections", kCount, "connections that ended")                            \
  X(kLost, "lost", "connections", kCount, "established connections that failed")                   \
  X(kRequests, "connect_requests", "connections", kCount, "requests to connect received")          \
  X(kRaces, "races", "connections", kCount, "requests rejected because ours comes first")          \
  X(kRejectedFatal, "rejected_fatal", "connections", kCount, "requests rejected for good")         \
  X(kRejectedStale, "rejected_stale", "connections", kCount, "requests for or of another life")    \
  X(kRejectedEarly, "rejected_early", "connections", kCount, "requests before we were ready")      \
  X(kRejectedDepth, "rejected_queue_depth", "connections", kCount, "requests of a queue too deep") \
  X(kRejectedFragments, "rejected_fragments", "connections", kCount,                               \
    "requests of too many fragments")                                                              \
  X(kRejectedResources, "rejected_no_resources", "connections", kCount,                            \
    "requests without room for a queue pair")                                                      \
  X(kRefusedAccess, "refused_access", "connections", kCount, "requests that a rule forbids")       \
  X(kRestarts, "peer_restarts", "peers", kCount, "peers that came back as another life")           \
  X(kPeersRefused, "peers_refused", "peers", kCount, "peers for which there was no room")          \
  X(kLanesFull, "lanes_full", "connections", kCount, "left at home: no more lanes elsewhere")      \
  X(kNoLane, "lane_gone", "messages", kCount, "failed: came when their lane had gone")             \
  X(kUnmatched, "dropped_unmatched", "messages", kCount, "answers to nothing that was asked")      \
  X(kOverCredit, "dropped_over_credit", "messages", kCount, "more messages than credits")          \
  X(kBadCredits, "dropped_bad_credits", "messages", kCount, "returned more credits than exist")    \
  X(kBadStatus, "dropped_bad_status", "messages", kCount, "reported more bytes than were asked")   \
  X(kWrongLife, "dropped_stale", "messages", kCount, "of or for another life or NID")              \
  X(kLength, "dropped_length", "messages", kCount, "header and payload do not go together")        \
  X(kRejected, "rejected", "messages", kCount, "rejected by the core")                             \
  X(kUnexpected, "unexpected_events", "events", kCount, "that the state does not know")            \
  X(kShort, "dropped_short", "messages", kCount, "shorter than a header")                          \
  X(kWrongMagic, "dropped_magic", "messages", kCount, "without the magic of o2iblnd")              \
  X(kVersion, "dropped_version", "messages", kCount, "of an unknown version")                      \
  X(kTruncated, "dropped_truncated", "messages", kCount, "shorter than they say")                  \
  X(kChecksum, "dropped_checksum", "messages", kCount, "with a wrong checksum")                    \
  X(kNoSource, "dropped_no_source", "messages", kCount, "from the wildcard NID")                   \
  X(kTooSmall, "dropped_too_small", "messages", kCount, "shorter than their type")                 \
  X(kType, "dropped_type", "messages", kCount, "of an unknown type, or one for elsewhere")         \
  X(kFragments, "dropped_fragments", "messages", kCount, "with fragments out of bounds")
PLNET_COUNTERS(O2ibCounters, PLNET_O2IBLND_COUNTERS);

}  // namespace plnet::o2iblnd
