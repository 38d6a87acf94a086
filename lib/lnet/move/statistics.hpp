// SPDX-License-Identifier: BSD-3-Clause
// The counters of a shard: the kernel's counters under the kernel's names (`lnetctl stats show`),
// and one counter for each way in which a message can be refused or lost. Counting rules:
// lustre-release lnet/lnet/lib-msg.c: lnet_msg_decommit_tx(), lnet_msg_decommit_rx(). One
// departure: an ACK or REPLY that answers a message counts as an ACK or REPLY; the kernel counts it
// as a sent PUT or GET.
#pragma once

#include <cstdint>

#include "lib/base/counters.hpp"
#include "lib/base/result.hpp"
#include "lib/lnet/wire/header.hpp"

namespace plnet::lnet {

// In the order in which lnetctl prints them.
#define PLNET_LNET_STATISTICS(X)                                                              \
  X(kMessagesAlloc, "msgs_alloc", "messages", kGauge, "messages in use")                      \
  X(kMessagesMax, "msgs_max", "messages", kHighWater, "most messages in use at a time")       \
  X(kTrackersAlloc, "rst_alloc", "messages", kGauge, "messages that await a response")        \
  X(kErrors, "errors", "messages", kCount, "always 0, as in the kernel")                      \
  X(kSendCount, "send_count", "messages", kCount, "own messages sent")                        \
  X(kResendCount, "resend_count", "messages", kCount, "messages sent again")                  \
  X(kResponseTimeouts, "response_timeout_count", "messages", kCount,                          \
    "messages whose response did not arrive in time")                                         \
  X(kLocalInterrupt, "local_interrupt_count", "messages", kCount,                             \
    "messages that failed with health status LOCAL_INTERRUPT")                                \
  X(kLocalDropped, "local_dropped_count", "messages", kCount,                                 \
    "messages that failed with health status LOCAL_DROPPED")                                  \
  X(kLocalAborted, "local_aborted_count", "messages", kCount,                                 \
    "messages that failed with health status LOCAL_ABORTED")                                  \
  X(kLocalNoRoute, "local_no_route_count", "messages", kCount,                                \
    "messages that failed with health status LOCAL_NO_ROUTE")                                 \
  X(kLocalTimeout, "local_timeout_count", "messages", kCount,                                 \
    "messages that failed with health status LOCAL_TIMEOUT")                                  \
  X(kLocalError, "local_error_count", "messages", kCount,                                     \
    "messages that failed with health status LOCAL_ERROR")                                    \
  X(kRemoteDropped, "remote_dropped_count", "messages", kCount,                               \
    "messages that failed with health status REMOTE_DROPPED")                                 \
  X(kRemoteError, "remote_error_count", "messages", kCount,                                   \
    "messages that failed with health status REMOTE_ERROR")                                   \
  X(kRemoteTimeout, "remote_timeout_count", "messages", kCount,                               \
    "messages that failed with health status REMOTE_TIMEOUT")                                 \
  X(kNetworkTimeout, "network_timeout_count", "messages", kCount,                             \
    "messages that failed with health status NETWORK_TIMEOUT")                                \
  X(kFailedResends, "failed_resends", "messages", kCount,                                     \
    "messages that were sent again and failed")                                               \
  X(kSuccessfulResends, "successful_resends", "messages", kCount,                             \
    "messages that were sent again and arrived")                                              \
  X(kReceiveCount, "recv_count", "messages", kCount, "messages received for this node")       \
  X(kRouteCount, "route_count", "messages", kCount, "messages forwarded")                     \
  X(kDropCount, "drop_count", "messages", kCount, "messages dropped, for any cause")          \
  X(kSendLength, "send_length", "bytes", kCount, "payload sent by PUT or in answer to a GET") \
  X(kReceiveLength, "recv_length", "bytes", kCount, "payload accepted from PUT and REPLY")    \
  X(kRouteLength, "route_length", "bytes", kCount, "payload forwarded")                       \
  X(kDropLength, "drop_length", "bytes", kCount, "payload dropped")
PLNET_COUNTERS(LnetStatistics, PLNET_LNET_STATISTICS);

// The cause why a message that arrived, or one on its way out, was dropped or held.
#define PLNET_LNET_CAUSES(X)                                                                       \
  X(kRejectedAckPayload, "rejected_ack_payload", "messages", kCount, "an ACK had a payload")       \
  X(kRejectedGetPayload, "rejected_get_payload", "messages", kCount, "a GET had a payload")        \
  X(kRejectedPutLength, "rejected_put_length", "messages", kCount, "a PUT was over 1 MiB")         \
  X(kRejectedReplyLength, "rejected_reply_length", "messages", kCount, "a REPLY was over 1 MiB")   \
  X(kRejectedType, "rejected_type", "messages", kCount, "the message type is unknown")             \
  X(kRejectedNotDirect, "rejected_not_direct", "messages", kCount,                                 \
    "for another node of the network on which it arrived")                                         \
  X(kRejectedOtherNid, "rejected_other_nid", "messages", kCount,                                   \
    "for a NID of this node on another network than that on which it arrived")                     \
  X(kRejectedRoutedRdmaGet, "rejected_routed_rdma_get", "messages", kCount,                        \
    "a GET with an open buffer that is not for us")                                                \
  X(kDroppedNid, "dropped_nid", "messages", kCount, "a NID is invalid")                            \
  X(kDroppedForeignSource, "dropped_foreign_source", "messages", kCount,                           \
    "the source is on the network of the sender, and is no NID of the sender")                     \
  X(kDroppedNotRouting, "dropped_not_routing", "messages", kCount,                                 \
    "to be forwarded, and routing is off, or was turned off while it waited")                      \
  X(kDroppedAccess, "dropped_access", "messages", kCount,                                          \
    "to be forwarded, and an access rule forbids it")                                              \
  X(kDroppedFailNid, "dropped_fail_nid", "messages", kCount, "from a NID that is set to fail")     \
  X(kDroppedFaultRule, "dropped_fault_rule", "messages", kCount, "a drop rule applied")            \
  X(kDroppedNoReceive, "dropped_no_receive", "messages", kCount, "all receive records are in use") \
  X(kHeldPeerShare, "held_peer_share", "messages", kCount,                                         \
    "waited: the sender has used its share of the receive records")                                \
  X(kDroppedPeerShare, "dropped_peer_share", "messages", kCount,                                   \
    "the sender has used its share of the receive records and does not accept its responses")      \
  X(kHeldClientCredit, "held_client_credit", "messages", kCount,                                   \
    "to be forwarded, waited: the sender has used all its peer-router credits")                    \
  X(kHeldHopShare, "held_hop_share", "messages", kCount,                                           \
    "to be forwarded, waited for a router buffer: all are in use, or the next hop has used its "   \
    "share")                                                                                       \
  X(kHeldRecords, "held_records", "messages", kCount,                                              \
    "to be forwarded, waited although buffers are free: few messages or receive records are left") \
  X(kDroppedNoBuffers, "dropped_no_buffers", "messages", kCount,                                   \
    "to be forwarded, and no router buffers exist for its size")                                   \
  X(kDroppedForwardNoPeer, "dropped_forward_no_peer", "messages", kCount,                          \
    "to be forwarded, and no peer could be created for its destination")                           \
  X(kDroppedForwardNoPath, "dropped_forward_no_path", "messages", kCount,                          \
    "to be forwarded, and no interface or route leads to its destination")                         \
  X(kDroppedHopDown, "dropped_hop_down", "messages", kCount,                                       \
    "to be forwarded, and its next hop is down")                                                   \
  X(kDroppedHopStalled, "dropped_hop_stalled", "messages", kCount,                                 \
    "to be forwarded to a next hop that has accepted nothing for too long")                        \
  X(kDroppedHopParked, "dropped_hop_parked", "messages", kCount,                                   \
    "to be forwarded, and the messages that wait for its next hop have used their share of the "   \
    "interface")                                                                                   \
  X(kDroppedNoPeer, "dropped_no_peer", "messages", kCount,                                         \
    "no peer could be created for the sender")                                                     \
  X(kDroppedAsymRoute, "dropped_asym_route", "messages", kCount,                                   \
    "arrived through a gateway that this node would not use (drop_asym_route)")                    \
  X(kDroppedPortal, "dropped_portal", "messages", kCount, "the portal does not exist")             \
  X(kDroppedPutNoMatch, "dropped_put_no_match", "messages", kCount, "no match entry for a PUT")    \
  X(kDroppedGetNoMatch, "dropped_get_no_match", "messages", kCount, "no match entry for a GET")    \
  X(kDroppedPutTooLong, "dropped_put_too_long", "messages", kCount,                                \
    "longer than its descriptor, which does not truncate")                                         \
  X(kDroppedGetTooLong, "dropped_get_too_long", "messages", kCount,                                \
    "requests more than its descriptor holds, which does not truncate")                            \
  X(kDroppedAckNoMd, "dropped_ack_no_md", "messages", kCount, "an ACK for an unlinked descriptor") \
  X(kDroppedReplyNoMd, "dropped_reply_no_md", "messages", kCount,                                  \
    "a REPLY for an unlinked descriptor")                                                          \
  X(kDroppedReplyTooLong, "dropped_reply_too_long", "messages", kCount,                            \
    "a REPLY longer than its descriptor, which does not truncate")                                 \
  X(kDroppedLazyCleared, "dropped_lazy_cleared", "messages", kCount,                               \
    "delayed when its portal stopped being lazy")                                                  \
  X(kDroppedConnectionLost, "dropped_connection_lost", "messages", kCount,                         \
    "parked when its connection was lost, or its LND had no room for it")                          \
  X(kDroppedShutdown, "dropped_shutdown", "messages", kCount,                                      \
    "arrived while the node was shutting down")                                                    \
  X(kReceiveFailed, "receive_failed", "messages", kCount, "the payload did not arrive")            \
  X(kTxDeadline, "tx_deadline", "messages", kCount,                                                \
    "the deadline passed while it waited for credits")                                             \
  X(kTxMdAborted, "tx_md_aborted", "messages", kCount, "unlinked while it waited for credits")     \
  X(kTxNoPath, "tx_no_path", "messages", kCount, "no interface or route leads there")              \
  X(kTxNoPeer, "tx_no_peer", "messages", kCount, "no peer could be created for the target")        \
  X(kTxDiscovery, "tx_discovery", "messages", kCount, "discovery of the target failed")            \
  X(kTxHopDown, "tx_hop_down", "messages", kCount,                                                 \
    "to be forwarded, and its next hop went down while it waited")                                 \
  X(kTxOtherWay, "tx_other_way", "messages", kCount,                                               \
    "waited for a gateway or an interface that was lost, and is routed again")                     \
  X(kForwardFailed, "forward_failed", "messages", kCount,                                          \
    "to be forwarded, and not sent: the drop causes tx_* or counters of the network say why")      \
  X(kTxReleased, "tx_released", "messages", kCount, "its peer or interface was removed")           \
  X(kTxFailNid, "tx_fail_nid", "messages", kCount, "to a NID that is set to fail")                 \
  X(kTxFaultRule, "tx_fault_rule", "messages", kCount, "a drop rule with a health error applied")  \
  X(kDelayedByRule, "delayed_by_rule", "messages", kCount, "delayed by a rule")                    \
  X(kFaultsFull, "faults_full", "messages", kCount,                                                \
    "not delayed by a rule: too many messages are delayed")                                        \
  X(kHeldNiCredit, "held_ni_credit", "messages", kCount,                                           \
    "to be sent, waited: all tx credits of the NI on this shard are in use")                       \
  X(kAnswersWaited, "answers_waited", "messages", kCount,                                          \
    "an ACK or REPLY waited for a free message")                                                   \
  X(kCrossedMatch, "crossed_match", "messages", kCount, "matched on another shard")                \
  X(kCrossedHome, "crossed_home", "messages", kCount, "sent through the home shard of its peer")   \
  X(kCrossedLane, "crossed_lane", "messages", kCount, "posted by another shard than its home")     \
  X(kLanesFull, "lanes_full", "lanes", kCount, "not used: too many peers have lanes")
PLNET_COUNTERS(LnetCauses, PLNET_LNET_CAUSES);

using Statistic = LnetStatistics::Id;
using Cause = LnetCauses::Id;

// `sent_stats`, `received_stats` and `dropped_stats` of an NI or peer NI.
#define PLNET_LNET_TRAFFIC(X)                                 \
  X(kSentAck, "sent_ack", "messages", kCount, "")             \
  X(kSentPut, "sent_put", "messages", kCount, "")             \
  X(kSentGet, "sent_get", "messages", kCount, "")             \
  X(kSentReply, "sent_reply", "messages", kCount, "")         \
  X(kSentHello, "sent_hello", "messages", kCount, "")         \
  X(kReceivedAck, "received_ack", "messages", kCount, "")     \
  X(kReceivedPut, "received_put", "messages", kCount, "")     \
  X(kReceivedGet, "received_get", "messages", kCount, "")     \
  X(kReceivedReply, "received_reply", "messages", kCount, "") \
  X(kReceivedHello, "received_hello", "messages", kCount, "") \
  X(kDroppedAck, "dropped_ack", "messages", kCount, "")       \
  X(kDroppedPut, "dropped_put", "messages", kCount, "")       \
  X(kDroppedGet, "dropped_get", "messages", kCount, "")       \
  X(kDroppedReply, "dropped_reply", "messages", kCount, "")   \
  X(kDroppedHello, "dropped_hello", "messages", kCount, "")
PLNET_COUNTERS(LnetTraffic, PLNET_LNET_TRAFFIC);

enum class TrafficWay : std::uint8_t { kSent, kReceived, kDropped };

// The row of a message of this type. Types without messages are not counted.
[[nodiscard]] constexpr LnetTraffic::Id traffic_id(TrafficWay way, MessageType type) {
  return static_cast<LnetTraffic::Id>(static_cast<std::size_t>(way) * 5 +
                                      static_cast<std::size_t>(type));
}
static_assert(traffic_id(TrafficWay::kReceived, MessageType::kReply) ==
              LnetTraffic::Id::kReceivedReply);
static_assert(traffic_id(TrafficWay::kDropped, MessageType::kAck) == LnetTraffic::Id::kDroppedAck);

using Traffic = Counters<LnetTraffic>;

// `health stats` of an NI or peer NI: the messages that failed on it, by class.
// lustre-release lnet/lnet/lib-msg.c: lnet_incr_hstats()
#define PLNET_LNET_FAILURES(X)                                \
  X(kLocalInterrupt, "interrupts", "messages", kCount, "")    \
  X(kLocalDropped, "dropped", "messages", kCount, "")         \
  X(kLocalAborted, "aborted", "messages", kCount, "")         \
  X(kLocalNoRoute, "no_route", "messages", kCount, "")        \
  X(kLocalError, "error", "messages", kCount, "")             \
  X(kLocalTimeout, "timeouts", "messages", kCount, "")        \
  X(kRemoteError, "remote_error", "messages", kCount, "")     \
  X(kRemoteDropped, "remote_dropped", "messages", kCount, "") \
  X(kRemoteTimeout, "remote_timeout", "messages", kCount, "") \
  X(kNetworkTimeout, "network_timeout", "messages", kCount, "")
PLNET_COUNTERS(LnetFailures, PLNET_LNET_FAILURES);

using Failures = Counters<LnetFailures>;

// kOk has none.
[[nodiscard]] constexpr LnetFailures::Id failure_id(Health health) {
  return static_cast<LnetFailures::Id>(static_cast<std::size_t>(health) - 1);
}
static_assert(failure_id(Health::kLocalInterrupt) == LnetFailures::Id::kLocalInterrupt);
static_assert(failure_id(Health::kLocalTimeout) == LnetFailures::Id::kLocalTimeout);
static_assert(failure_id(Health::kNetworkTimeout) == LnetFailures::Id::kNetworkTimeout);

// The counter of messages that ended with this health class; kOk has none.
[[nodiscard]] Statistic statistic_of(Health health);

}  // namespace plnet::lnet
