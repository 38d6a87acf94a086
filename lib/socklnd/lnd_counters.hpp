// SPDX-License-Identifier: BSD-3-Clause
// Counters of the connections and messages of one TCP interface on one shard. Every cause for
// which a connection is closed and every refusal, ours and theirs, has a row.
#pragma once

#include "lib/base/counters.hpp"

namespace plnet::socklnd {

#define PLNET_SOCKLND_COUNTERS(X)                                                                  \
  X(kSent, "sent", "messages", kCount, "messages that TCP has taken whole")                        \
  X(kReceived, "received", "messages", kCount, "headers handed to the core")                       \
  X(kWrites, "writes", "calls", kCount, "writes, each of as many messages as fit")                 \
  X(kRelayed, "relayed", "messages", kCount, "of those sent: forwarded from socket to socket")     \
  X(kBrought, "brought", "messages", kCount, "kept in their socket, then read after all")          \
  X(kFailed, "failed", "messages", kCount, "messages that ended with an error")                    \
  X(kExpired, "expired", "messages", kCount, "messages not begun before their deadline")           \
  X(kParked, "parked", "messages", kCount, "messages that waited for a decision")                  \
  X(kStaleResumes, "stale_resumes", "calls", kCount, "decisions for messages that had gone")       \
  X(kUnreachable, "unreachable", "messages", kCount, "failed: no connection, and not the time")    \
  X(kNoPeerRoom, "no_peer_room", "messages", kCount, "failed: no room for one more peer")          \
  X(kNoSuchProcess, "no_such_process", "messages", kCount, "failed: a userspace peer has gone")    \
  X(kNoLane, "lane_gone", "messages", kCount, "failed: came when their lane had gone")             \
  X(kAcksSent, "zero_copy_acks_sent", "messages", kCount, "acknowledgements of zero-copy sends")   \
  X(kAckStops, "zero_copy_ack_stops", "times", kCount, "reading stopped: too many to be sent")     \
  X(kKeepalivesSent, "keepalives_sent", "messages", kCount, "NOOPs sent into silence")             \
  X(kSpoilt, "checksums_spoilt", "messages", kCount, "sent wrong on purpose: inject_csum_error")   \
  X(kNoopsReceived, "noops_received", "messages", kCount, "NOOPs, keepalives mostly")              \
  X(kAttempts, "attempts", "connections", kCount, "connections that we began")                     \
  X(kOpenedByUs, "opened_here", "connections", kCount, "those that were accepted")                 \
  X(kOpenedByPeer, "opened_by_peer", "connections", kCount, "those that we accepted")              \
  X(kOpen, "open", "connections", kGauge, "open now")                                              \
  X(kOpenControl, "open_control", "connections", kGauge, "of these, for small messages")           \
  X(kOpenBulkIn, "open_bulk_in", "connections", kGauge, "of these, for bulk that comes")           \
  X(kOpenBulkOut, "open_bulk_out", "connections", kGauge, "of these, for bulk that goes")          \
  X(kPeers, "peers", "peers", kGauge, "peers that it knows now")                                   \
  X(kAttemptRefused, "attempt_refused", "connections", kCount, "a race lost, or a duplicate")      \
  X(kAttemptVersion, "attempt_other_version", "connections", kCount, "the peer speaks another")    \
  X(kAttemptStale, "attempt_stale", "connections", kCount, "the peer has restarted meanwhile")     \
  X(kAttemptIdentity, "attempt_wrong_peer", "connections", kCount, "somebody else answered")       \
  X(kAttemptType, "attempt_wrong_type", "connections", kCount, "answered with another type")       \
  X(kAttemptGarbage, "attempt_garbage", "connections", kCount, "answered with no HELLO")           \
  X(kAttemptTimeout, "attempt_timeouts", "connections", kCount, "not answered in time")            \
  X(kAttemptFailed, "attempt_failures", "connections", kCount, "TCP said no, or the peer did")     \
  X(kAttemptUnprivileged, "attempt_unprivileged", "connections", kCount,                           \
    "not begun: IPv6 needs a port below 1024, CAP_NET_BIND_SERVICE")                               \
  X(kSatisfied, "satisfied", "peers", kCount, "refused us more connections than they accepted")    \
  X(kLanesFull, "lanes_full", "connections", kCount, "left at home: no more lanes elsewhere")      \
  X(kRefusedRace, "refused_race", "connections", kCount, "refused: ours is under way and wins")    \
  X(kRefusedStale, "refused_stale", "connections", kCount, "refused: old connections go first")    \
  X(kRefusedDuplicate, "refused_duplicate", "connections", kCount, "refused: enough of its type")  \
  X(kRefusedReleasing, "refused_releasing", "connections", kCount, "refused: we let go of it")     \
  X(kRefusedNoRoom, "refused_no_room", "connections", kCount, "closed: no room for it")            \
  X(kRefusedUnproven, "refused_unproven", "connections", kCount,                                   \
    "refused: of another address family, with another incarnation than those there are")           \
  X(kRefusedShare, "refused_address_share", "connections", kCount,                                 \
    "closed: processes of its address have their share of the connections")                        \
  X(kRefusedAdopt, "refused_adopt", "connections", kCount, "lost: it could not be moved here")     \
  X(kClosedByPeer, "closed_by_peer", "connections", kCount, "ended by the peer, orderly")          \
  X(kClosedInMessage, "closed_in_message", "connections", kCount, "ended in a message")            \
  X(kClosedReset, "closed_reset", "connections", kCount, "reset by the peer or the network")       \
  X(kClosedTcpTimeout, "closed_tcp_timeout", "connections", kCount, "TCP gave up on the peer")     \
  X(kClosedError, "closed_error", "connections", kCount, "ended by another error of TCP")          \
  X(kClosedTxStuck, "closed_send_stuck", "connections", kCount, "what we sent made no progress")   \
  X(kClosedSilent, "closed_silent", "connections", kCount, "the peer's TCP did not answer")        \
  X(kClosedNiDown, "closed_interface_down", "connections", kCount, "our interface stayed down")    \
  X(kClosedSlow, "closed_slow", "connections", kCount, "a payload came too slowly")                \
  X(kClosedRxStuck, "closed_receive_stuck", "connections", kCount, "a message did not go on")      \
  X(kClosedFrame, "closed_bad_frame", "connections", kCount, "a frame of unknown type")            \
  X(kClosedCookies, "closed_bad_cookies", "connections", kCount, "acknowledged nothing of ours")   \
  X(kClosedNoopSum, "closed_noop_checksum", "connections", kCount, "a NOOP with a wrong checksum") \
  X(kClosedSum, "closed_checksum", "connections", kCount, "a message with a wrong checksum")       \
  X(kClosedRejected, "closed_rejected", "connections", kCount, "the core rejected a message")      \
  X(kClosedSibling, "closed_with_sibling", "connections", kCount, "another of the peer ended")     \
  X(kClosedUnused, "closed_unused", "connections", kCount,                                         \
    "closed: others wanted the place, and its peer has never said anything")                       \
  X(kClosedReleased, "closed_released", "connections", kCount, "the peer was let go of")           \
  X(kClosedShutdown, "closed_shutdown", "connections", kCount, "we are going down")                \
  X(kInterfaceGone, "interface_gone", "times", kCount, "our address was no longer this machine's") \
  X(kInterfaceBack, "interface_back", "times", kCount, "and was so again")                         \
  X(kLossyCloses, "closed_with_unacknowledged", "connections", kCount,                             \
    "ended before the peer's TCP had all that ours had taken")                                     \
  X(kLostBytes, "possibly_lost_bytes", "bytes", kCount, "taken by our TCP, perhaps lost")          \
  X(kLostMessages, "possibly_lost_messages", "messages", kCount,                                   \
    "reported as sent, with bytes among those; the last few of a connection are told apart")
PLNET_COUNTERS(SockLndCounters, PLNET_SOCKLND_COUNTERS);

}  // namespace plnet::socklnd
