// SPDX-License-Identifier: BSD-3-Clause
// Counters of the connections and messages of one TCP interface on one shard. Every cause for
// which a connection is closed and every refusal, ours and theirs, has a row.
#pragma once

#include "lib/base/counters.hpp"

namespace plnet::socklnd {

#define PLNET_SOCKLND_COUNTERS(X)                                                                  \
  X(kSent, "sent", "messages", kCount, "messages that TCP has accepted completely")                \
  X(kReceived, "received", "messages", kCount, "message headers passed to the core")               \
  X(kWrites, "writes", "calls", kCount, "write calls, each with as many messages as fit")          \
  X(kRelayed, "relayed", "messages", kCount,                                                       \
    "messages sent that were forwarded from socket to socket")                                     \
  X(kBrought, "brought", "messages", kCount, "messages kept in their socket and read later")       \
  X(kKeptLost, "kept_lost", "messages", kCount, "messages kept in a socket that then failed")      \
  X(kFailed, "failed", "messages", kCount, "messages that ended with an error")                    \
  X(kExpired, "expired", "messages", kCount, "messages not started before their deadline")         \
  X(kParked, "parked", "messages", kCount, "messages that waited for a decision")                  \
  X(kStaleResumes, "stale_resumes", "calls", kCount, "decisions for messages that had ended")      \
  X(kUnreachable, "unreachable", "messages", kCount,                                               \
    "failed: no connection, and no attempt is due yet")                                            \
  X(kNoPeerRoom, "no_peer_room", "messages", kCount, "failed: no room for another peer")           \
  X(kNoSuchProcess, "no_such_process", "messages", kCount,                                         \
    "failed: the process of a userspace peer has ended")                                           \
  X(kNoLane, "lane_gone", "messages", kCount, "failed: their lane had ended")                      \
  X(kAcksSent, "zero_copy_acks_sent", "messages", kCount, "acknowledgements of zero-copy sends")   \
  X(kAckStops, "zero_copy_ack_stops", "times", kCount,                                             \
    "reading stopped: too many acknowledgements of zero-copy sends wait")                          \
  X(kKeepalivesSent, "keepalives_sent", "messages", kCount, "NOOPs sent on idle connections")      \
  X(kSpoilt, "checksums_spoilt", "messages", kCount,                                               \
    "messages sent with a wrong checksum on purpose: inject_csum_error")                           \
  X(kNoopsReceived, "noops_received", "messages", kCount, "NOOPs received, mostly keepalives")     \
  X(kAttempts, "attempts", "connections", kCount, "connections begun by this node")                \
  X(kOpenedByUs, "opened_here", "connections", kCount,                                             \
    "connections begun by this node and accepted by the peer")                                     \
  X(kOpenedByPeer, "opened_by_peer", "connections", kCount,                                        \
    "connections begun by a peer and accepted by this node")                                       \
  X(kOpen, "open", "connections", kGauge, "open connections")                                      \
  X(kOpenControl, "open_control", "connections", kGauge, "open connections for small messages")    \
  X(kOpenBulkIn, "open_bulk_in", "connections", kGauge, "open connections for incoming bulk data") \
  X(kOpenBulkOut, "open_bulk_out", "connections", kGauge,                                          \
    "open connections for outgoing bulk data")                                                     \
  X(kPeers, "peers", "peers", kGauge, "known peers")                                               \
  X(kAttemptRefused, "attempt_refused", "connections", kCount,                                     \
    "attempts refused: a lost race, or a duplicate")                                               \
  X(kAttemptVersion, "attempt_other_version", "connections", kCount,                               \
    "attempts failed: the peer uses another version")                                              \
  X(kAttemptStale, "attempt_stale", "connections", kCount,                                         \
    "attempts failed: the peer has restarted")                                                     \
  X(kAttemptIdentity, "attempt_wrong_peer", "connections", kCount,                                 \
    "attempts failed: another node answered")                                                      \
  X(kAttemptType, "attempt_wrong_type", "connections", kCount,                                     \
    "attempts failed: the answer has another connection type")                                     \
  X(kAttemptGarbage, "attempt_garbage", "connections", kCount,                                     \
    "attempts failed: the answer is no HELLO")                                                     \
  X(kAttemptTimeout, "attempt_timeouts", "connections", kCount,                                    \
    "attempts failed: no answer in time")                                                          \
  X(kAttemptFailed, "attempt_failures", "connections", kCount,                                     \
    "attempts failed: TCP reported an error, or the peer refused")                                 \
  X(kAttemptUnprivileged, "attempt_unprivileged", "connections", kCount,                           \
    "attempts not begun: IPv6 needs a port below 1024, CAP_NET_BIND_SERVICE")                      \
  X(kSatisfied, "satisfied", "peers", kCount, "peers that refused further connections")            \
  X(kLanesFull, "lanes_full", "connections", kCount,                                               \
    "kept on the home shard: no further lanes on other shards")                                    \
  X(kRefusedRace, "refused_race", "connections", kCount,                                           \
    "refused: a connection begun by this node is under way and wins")                              \
  X(kRefusedStale, "refused_stale", "connections", kCount, "refused: old connections end first")   \
  X(kRefusedDuplicate, "refused_duplicate", "connections", kCount,                                 \
    "refused: enough connections of this type")                                                    \
  X(kRefusedReleasing, "refused_releasing", "connections", kCount,                                 \
    "refused: the peer is being removed")                                                          \
  X(kRefusedNoRoom, "refused_no_room", "connections", kCount,                                      \
    "closed: no room for the connection")                                                          \
  X(kRefusedUnproven, "refused_unproven", "connections", kCount,                                   \
    "refused: another address family and another incarnation than the existing connections")       \
  X(kRefusedShare, "refused_address_share", "connections", kCount,                                 \
    "closed: processes of this address have used their share of the connections")                  \
  X(kRefusedAdopt, "refused_adopt", "connections", kCount,                                         \
    "lost: the connection could not be moved to this shard")                                       \
  X(kClosedByPeer, "closed_by_peer", "connections", kCount, "closed by the peer between messages") \
  X(kClosedInMessage, "closed_in_message", "connections", kCount,                                  \
    "closed by the peer within a message")                                                         \
  X(kClosedReset, "closed_reset", "connections", kCount, "reset by the peer or the network")       \
  X(kClosedTcpTimeout, "closed_tcp_timeout", "connections", kCount, "closed: TCP timed out")       \
  X(kClosedError, "closed_error", "connections", kCount, "closed: another error of TCP")           \
  X(kClosedTxStuck, "closed_send_stuck", "connections", kCount,                                    \
    "closed: sending made no progress")                                                            \
  X(kClosedSilent, "closed_silent", "connections", kCount,                                         \
    "closed: the peer's TCP did not answer")                                                       \
  X(kClosedNiDown, "closed_interface_down", "connections", kCount, "closed: the NI stayed down")   \
  X(kClosedSlow, "closed_slow", "connections", kCount, "closed: a payload arrived too slowly")     \
  X(kClosedRxStuck, "closed_receive_stuck", "connections", kCount,                                 \
    "closed: receiving a message made no progress")                                                \
  X(kClosedFrame, "closed_bad_frame", "connections", kCount, "closed: a frame of unknown type")    \
  X(kClosedCookies, "closed_bad_cookies", "connections", kCount,                                   \
    "closed: an acknowledgement of an unknown zero-copy send")                                     \
  X(kClosedNoopSum, "closed_noop_checksum", "connections", kCount,                                 \
    "closed: a NOOP with a wrong checksum")                                                        \
  X(kClosedSum, "closed_checksum", "connections", kCount,                                          \
    "closed: a message with a wrong checksum")                                                     \
  X(kClosedRejected, "closed_rejected", "connections", kCount,                                     \
    "closed: the core rejected a message")                                                         \
  X(kClosedSibling, "closed_with_sibling", "connections", kCount,                                  \
    "closed: another connection of the peer ended")                                                \
  X(kClosedUnused, "closed_unused", "connections", kCount,                                         \
    "closed to make room: the peer has never sent a message")                                      \
  X(kClosedReleased, "closed_released", "connections", kCount, "closed: the peer was removed")     \
  X(kClosedShutdown, "closed_shutdown", "connections", kCount, "closed: the NI is shutting down")  \
  X(kInterfaceGone, "interface_gone", "times", kCount,                                             \
    "the address of the NI disappeared from this machine")                                         \
  X(kInterfaceBack, "interface_back", "times", kCount,                                             \
    "the address of the NI returned to this machine")                                              \
  X(kLossyCloses, "closed_with_unacknowledged", "connections", kCount,                             \
    "closed before the peer's TCP had acknowledged all accepted bytes")                            \
  X(kLostBytes, "possibly_lost_bytes", "bytes", kCount,                                            \
    "bytes accepted by our TCP that may be lost")                                                  \
  X(kLostMessages, "possibly_lost_messages", "messages", kCount,                                   \
    "messages reported as sent that may be lost with those bytes; exact for the last few of a "    \
    "connection")
PLNET_COUNTERS(SockLndCounters, PLNET_SOCKLND_COUNTERS);

}  // namespace plnet::socklnd
