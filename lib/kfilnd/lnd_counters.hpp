// SPDX-License-Identifier: BSD-3-Clause
// The counters of one kfi LND.
#pragma once

#include "lib/base/counters.hpp"

namespace plnet::kfilnd {

#define PLNET_KFILND_COUNTERS(X)                                                                   \
  X(kSentImmediate, "sent_immediate", "messages", kCount, "begun as IMMEDIATE")                    \
  X(kSentBulkPut, "sent_bulk_put", "messages", kCount, "begun as BULK_PUT_REQ")                    \
  X(kSentBulkGet, "sent_bulk_get", "messages", kCount, "begun as BULK_GET_REQ")                    \
  X(kReceivedImmediate, "received_immediate", "messages", kCount, "IMMEDIATE that came")           \
  X(kReceivedBulkPut, "received_bulk_put", "messages", kCount, "BULK_PUT_REQ that came")           \
  X(kReceivedBulkGet, "received_bulk_get", "messages", kCount, "BULK_GET_REQ that came")           \
  X(kHellosSent, "hello_requests_sent", "messages", kCount, "HELLO_REQ sent")                      \
  X(kHellosReceived, "hello_requests_received", "messages", kCount, "HELLO_REQ that came")         \
  X(kHellosAnswered, "hello_responses_received", "messages", kCount, "HELLO_RSP that came")        \
  X(kHellosFailed, "hello_requests_failed", "messages", kCount,                                    \
    "HELLO_REQ that did not get there")                                                            \
  X(kHellosPutOff, "hello_requests_put_off", "messages", kCount,                                   \
    "HELLO_REQ that had to wait for others to end")                                                \
  X(kSkips, "skipped_transfers", "messages", kCount, "answered without touching their buffer")     \
  X(kThrottled, "throttled", "messages", kCount, "had to wait for a handshake")                    \
  X(kThrottleEnded, "throttle_ended", "messages", kCount, "and the handshake did not succeed")     \
  X(kReplays, "replays", "operations", kCount, "tried again since the NIC had no room")            \
  X(kTimeouts, "timeouts", "messages", kCount, "transfers that the peer did not end in time")      \
  X(kQuarantined, "quarantined", "messages", kCount, "ended for the core before the NIC was done") \
  X(kPeersMade, "peers_made", "peers", kCount, "peers made")                                       \
  X(kPeersDeleted, "peers_deleted", "peers", kCount, "deleted after a failure")                    \
  X(kPeersRefused, "peers_refused", "messages", kCount, "no peer could be made for them")          \
  X(kRefusedAccess, "refused_access", "messages", kCount,                                          \
    "introduced a peer that a rule of access forbids")                                             \
  X(kPeerRestarts, "peer_restarts", "peers", kCount, "greeted us with a key of another life")      \
  X(kPeerForgot, "peer_forgot", "peers", kCount, "greeted us again, with a key that comes later")  \
  X(kEarly, "early_receives", "messages", kCount, "came before the HELLO of their sender")         \
  X(kEarlyDropped, "dropped_early", "messages", kCount, "and could not be waited for")             \
  X(kEarlyV1, "dropped_early_v1", "messages", kCount, "bulk of version 1 before a HELLO")          \
  X(kCopiedOut, "copied_out", "messages", kCount, "taken out of their receive buffer to wait")     \
  X(kHeldBuffers, "held_buffers", "messages", kCount, "waited in their receive buffer")            \
  X(kPutOff, "put_off", "messages", kCount, "had to wait for others that had come")                \
  X(kParkedShare, "dropped_parked_share", "messages", kCount,                                      \
    "had to wait, and those of their sender that wait have its share of the interface")            \
  X(kTooLate, "dropped_late", "messages", kCount, "had to wait for too long")                      \
  X(kHandedOver, "hellos_handed_over", "messages", kCount, "brought to the home of their sender")  \
  X(kMisdirected, "misdirected", "messages", kCount, "received elsewhere than at their home")      \
  X(kNoTransaction, "dropped_no_transaction", "messages", kCount, "too many were under way")       \
  X(kNoKey, "no_key", "messages", kCount, "sends without a free key")                              \
  X(kNoBufferPosted, "no_buffer_posted", "times", kCount, "the NIC had no receive buffer left")    \
  X(kReposts, "buffers_reposted", "buffers", kCount, "receive buffers posted after a refusal")     \
  X(kStaleResumes, "stale_resumes", "messages", kCount, "decisions for messages that are gone")    \
  X(kStrayCompletions, "stray_completions", "operations", kCount, "of nothing that is under way")  \
  X(kUnexpected, "unexpected_events", "events", kCount, "that the state does not know")            \
  X(kStrayHellos, "dropped_stray_hello", "messages", kCount, "a HELLO_RSP of a peer unknown")      \
  X(kNoContext, "dropped_context", "messages", kCount,                                             \
    "want an answer where no process has a receive context")                                       \
  X(kRejected, "rejected", "messages", kCount, "the core did not understand them")                 \
  X(kLinkDown, "link_down", "times", kCount, "the NIC could not be used")                          \
  X(kLinkHeld, "link_held", "times", kCount, "the link was back, but had bounced before")          \
  X(kAddressChanged, "address_changed", "times", kCount, "the NIC has another address now")        \
  X(kShort, "dropped_short", "messages", kCount, "shorter than a header")                          \
  X(kWrongMagic, "dropped_magic", "messages", kCount, "not kfilnd's, or of another byte order")    \
  X(kVersion, "dropped_version", "messages", kCount, "of a version that we do not know")           \
  X(kTruncated, "dropped_truncated", "messages", kCount, "shorter than they say")                  \
  X(kChecksum, "dropped_checksum", "messages", kCount, "with a wrong checksum")                    \
  X(kNotForUs, "dropped_other_nid", "messages", kCount, "for another NID")                         \
  X(kNoSource, "dropped_no_source", "messages", kCount, "from no NID of this network")             \
  X(kTooSmall, "dropped_too_small", "messages", kCount, "shorter than their type")                 \
  X(kType, "dropped_type", "messages", kCount, "of a type that nobody knows")                      \
  X(kBadHello, "dropped_hello", "messages", kCount, "a HELLO that nobody can mean")                \
  X(kLength, "dropped_length", "messages", kCount, "header and payload do not go together")
PLNET_COUNTERS(KfiLndCounters, PLNET_KFILND_COUNTERS);

}  // namespace plnet::kfilnd
