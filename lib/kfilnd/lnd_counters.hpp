// SPDX-License-Identifier: BSD-3-Clause
// The counters of one kfi LND.
#pragma once

#include "lib/base/counters.hpp"

namespace plnet::kfilnd {

#define PLNET_KFILND_COUNTERS(X)                                                                  \
  X(kSentImmediate, "sent_immediate", "messages", kCount, "messages sent as IMMEDIATE")           \
  X(kSentBulkPut, "sent_bulk_put", "messages", kCount, "messages sent as BULK_PUT_REQ")           \
  X(kSentBulkGet, "sent_bulk_get", "messages", kCount, "messages sent as BULK_GET_REQ")           \
  X(kReceivedImmediate, "received_immediate", "messages", kCount, "IMMEDIATE received")           \
  X(kReceivedBulkPut, "received_bulk_put", "messages", kCount, "BULK_PUT_REQ received")           \
  X(kReceivedBulkGet, "received_bulk_get", "messages", kCount, "BULK_GET_REQ received")           \
  X(kHellosSent, "hello_requests_sent", "messages", kCount, "HELLO_REQ sent")                     \
  X(kHellosReceived, "hello_requests_received", "messages", kCount, "HELLO_REQ received")         \
  X(kHellosAnswered, "hello_responses_received", "messages", kCount, "HELLO_RSP received")        \
  X(kHellosFailed, "hello_requests_failed", "messages", kCount, "HELLO_REQ that failed")          \
  X(kHellosPutOff, "hello_requests_put_off", "messages", kCount,                                  \
    "HELLO_REQ that waited for others to end")                                                    \
  X(kSkips, "skipped_transfers", "messages", kCount,                                              \
    "transfers answered without access to their buffer")                                          \
  X(kThrottled, "throttled", "messages", kCount, "messages that waited for a handshake")          \
  X(kThrottleEnded, "throttle_ended", "messages", kCount,                                         \
    "messages that waited for a handshake that failed")                                           \
  X(kReplays, "replays", "operations", kCount, "operations repeated because the NIC had no room") \
  X(kTimeouts, "timeouts", "messages", kCount, "transfers that the peer did not end in time")     \
  X(kQuarantined, "quarantined", "messages", kCount,                                              \
    "messages reported to the core before the NIC was done")                                      \
  X(kPeersMade, "peers_made", "peers", kCount, "peers created")                                   \
  X(kPeersDeleted, "peers_deleted", "peers", kCount, "peers removed after a failure")             \
  X(kPeersRefused, "peers_refused", "messages", kCount,                                           \
    "messages for which no peer could be created")                                                \
  X(kRefusedAccess, "refused_access", "messages", kCount,                                         \
    "HELLO_REQ of a peer that an access rule forbids")                                            \
  X(kPeerRestarts, "peer_restarts", "peers", kCount,                                              \
    "peers that restarted: a HELLO with the key of another incarnation")                          \
  X(kPeerForgot, "peer_forgot", "peers", kCount, "peers that sent HELLO again, with a later key") \
  X(kEarly, "early_receives", "messages", kCount,                                                 \
    "messages received before the HELLO of their sender")                                         \
  X(kEarlyDropped, "dropped_early", "messages", kCount,                                           \
    "messages received before the HELLO of their sender and not kept")                            \
  X(kEarlyV1, "dropped_early_v1", "messages", kCount,                                             \
    "bulk requests of version 1 received before a HELLO")                                         \
  X(kCopiedOut, "copied_out", "messages", kCount,                                                 \
    "messages copied out of their receive buffer to wait")                                        \
  X(kHeldBuffers, "held_buffers", "messages", kCount,                                             \
    "messages that waited in their receive buffer")                                               \
  X(kPutOff, "put_off", "messages", kCount, "messages that waited for earlier ones")              \
  X(kParkedShare, "dropped_parked_share", "messages", kCount,                                     \
    "messages dropped: the waiting messages of their sender have used their share of the "        \
    "interface")                                                                                  \
  X(kTooLate, "dropped_late", "messages", kCount, "messages dropped: they waited too long")       \
  X(kHandedOver, "hellos_handed_over", "messages", kCount,                                        \
    "HELLOs moved to the home shard of their sender")                                             \
  X(kMisdirected, "misdirected", "messages", kCount,                                              \
    "messages received on another shard than their home")                                         \
  X(kNoTransaction, "dropped_no_transaction", "messages", kCount,                                 \
    "messages dropped: too many are under way")                                                   \
  X(kNoKey, "no_key", "messages", kCount, "messages not sent: no key was free")                   \
  X(kNoBufferPosted, "no_buffer_posted", "times", kCount, "the NIC had no receive buffer")        \
  X(kReposts, "buffers_reposted", "buffers", kCount,                                              \
    "receive buffers posted again after a refusal")                                               \
  X(kStaleResumes, "stale_resumes", "messages", kCount, "decisions for messages that had ended")  \
  X(kStrayCompletions, "stray_completions", "operations", kCount,                                 \
    "completions of operations that are not under way")                                           \
  X(kUnexpected, "unexpected_events", "events", kCount, "events that the state does not expect")  \
  X(kStrayHellos, "dropped_stray_hello", "messages", kCount, "HELLO_RSP of an unknown peer")      \
  X(kNoContext, "dropped_context", "messages", kCount,                                            \
    "messages that request an answer to a receive context that does not exist")                   \
  X(kRejected, "rejected", "messages", kCount, "messages rejected by the core")                   \
  X(kLinkDown, "link_down", "times", kCount, "the NIC became unusable")                           \
  X(kLinkHeld, "link_held", "times", kCount,                                                      \
    "the link returned and was kept down because it had flapped")                                 \
  X(kAddressChanged, "address_changed", "times", kCount, "the address of the NIC changed")        \
  X(kShort, "dropped_short", "messages", kCount, "messages shorter than a header")                \
  X(kWrongMagic, "dropped_magic", "messages", kCount,                                             \
    "messages without the magic of kfilnd, or of another byte order")                             \
  X(kVersion, "dropped_version", "messages", kCount, "messages of an unknown version")            \
  X(kTruncated, "dropped_truncated", "messages", kCount,                                          \
    "messages shorter than their length field")                                                   \
  X(kChecksum, "dropped_checksum", "messages", kCount, "messages with a wrong checksum")          \
  X(kNotForUs, "dropped_other_nid", "messages", kCount, "messages for another NID")               \
  X(kNoSource, "dropped_no_source", "messages", kCount, "messages from a NID of another network") \
  X(kTooSmall, "dropped_too_small", "messages", kCount,                                           \
    "messages shorter than their type requires")                                                  \
  X(kType, "dropped_type", "messages", kCount, "messages of an unknown type")                     \
  X(kBadHello, "dropped_hello", "messages", kCount, "HELLOs with invalid values")                 \
  X(kLength, "dropped_length", "messages", kCount,                                                \
    "messages whose header and payload lengths disagree")
PLNET_COUNTERS(KfiLndCounters, PLNET_KFILND_COUNTERS);

}  // namespace plnet::kfilnd
