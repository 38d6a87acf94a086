// SPDX-License-Identifier: BSD-3-Clause
// The counters of discovery.
#pragma once

#include "lib/base/counters.hpp"

namespace plnet::lnet {

#define PLNET_DISCOVERY_COUNTERS(X)                                                                \
  X(kStarted, "discoveries_started", "peers", kCount, "peers queued for discovery")                \
  X(kCompleted, "discoveries_completed", "peers", kCount, "peers found up to date")                \
  X(kFailed, "discoveries_failed", "peers", kCount, "discoveries that ended with an error")        \
  X(kQueued, "discoveries_queued", "peers", kGauge, "peers in discovery or queued for it")         \
  X(kQueuedMax, "discoveries_queued_max", "peers", kHighWater,                                     \
    "most peers in discovery or queued for it at a time")                                          \
  X(kStarved, "discoveries_starved", "peers", kCount,                                              \
    "peers that waited for a slot for discovery")                                                  \
  X(kShort, "discoveries_short", "times", kCount,                                                  \
    "no message record was free to ping or push a peer")                                           \
  X(kParked, "messages_parked", "messages", kCount, "messages that waited for discovery")          \
  X(kExpired, "messages_expired", "messages", kCount,                                              \
    "messages that waited for discovery longer than the transaction timeout")                      \
  X(kGivenUp, "messages_given_up", "messages", kCount,                                             \
    "messages unlinked by their user while they waited for discovery")                             \
  X(kAskedAgain, "asked_again", "peers", kCount,                                                   \
    "pings and pushes repeated because the connection was lost")                                   \
  X(kPingsSent, "pings_sent", "pings", kCount, "pings sent")                                       \
  X(kPingsFailed, "pings_failed", "pings", kCount, "pings that failed or were not answered")       \
  X(kReplies, "replies", "replies", kCount, "replies to pings")                                    \
  X(kRepliesCorrupt, "replies_corrupt", "replies", kCount, "replies without a valid ping buffer")  \
  X(kRepliesTruncated, "replies_truncated", "replies", kCount,                                     \
    "replies truncated because our buffer was too small")                                          \
  X(kRetriesOver, "retries_over", "pings", kCount,                                                 \
    "peers given up after too many replies without valid content")                                 \
  X(kPushesSent, "pushes_sent", "pushes", kCount, "pushes sent")                                   \
  X(kPushesFailed, "pushes_failed", "pushes", kCount,                                              \
    "pushes that failed or were not acknowledged")                                                 \
  X(kPushesAcked, "pushes_acked", "pushes", kCount, "pushes that were acknowledged")               \
  X(kPushesHeard, "pushes_heard", "pushes", kCount, "pushes received")                             \
  X(kPushesUnknown, "pushes_unknown", "pushes", kCount, "pushes received from NIDs of no peer")    \
  X(kPushesCorrupt, "pushes_corrupt", "pushes", kCount,                                            \
    "pushes received without a valid ping buffer")                                                 \
  X(kPushesTruncated, "pushes_truncated", "pushes", kCount,                                        \
    "pushes truncated because our buffer was too small")                                           \
  X(kPushesForeign, "pushes_foreign", "pushes", kCount,                                            \
    "pushes received from another node than their source: the source is pinged")                   \
  X(kPushesNotMultiRail, "pushes_not_multi_rail", "pushes", kCount,                                \
    "pushes received from nodes that are not multi-rail")                                          \
  X(kPushesNoSlot, "pushes_no_slot", "pushes", kCount,                                             \
    "pushes received when no room was free to keep them")                                          \
  X(kLateEvents, "late_events", "events", kCount,                                                  \
    "replies and acknowledgements for removed peers")                                              \
  X(kMerged, "buffers_merged", "buffers", kCount, "ping buffers merged into a peer")               \
  X(kNidsAdded, "nids_added", "interfaces", kCount, "NIDs that discovery added to a peer")         \
  X(kNidsDeleted, "nids_deleted", "interfaces", kCount, "NIDs that discovery removed from a peer") \
  X(kNidsRefused, "nids_refused", "interfaces", kCount,                                            \
    "NIDs of configured peers that discovery did not add or remove")                               \
  X(kNidsForeign, "nids_foreign", "interfaces", kCount,                                            \
    "NIDs not moved: their node does not confirm that it is the node that lists them")             \
  X(kNidsBad, "nids_bad", "interfaces", kCount,                                                    \
    "NIDs in a ping buffer that no interface can have")                                            \
  X(kNidsNoRoom, "nids_no_room", "interfaces", kCount,                                             \
    "NIDs left out for lack of room, see plnet.lnet.peers")                                        \
  X(kNidsLater, "nids_later", "interfaces", kCount,                                                \
    "NIDs delayed until their former peer NI is removed")                                          \
  X(kPrimaryChanged, "primaries_changed", "peers", kCount, "peers whose primary NID changed")      \
  X(kHandedOver, "buffers_handed_over", "buffers", kCount,                                         \
    "ping buffers merged into another peer than the pinged one")                                   \
  X(kWentDown, "peer_nis_went_down", "interfaces", kCount, "peer NIs reported down")               \
  X(kMultiRailLost, "multi_rail_lost", "peers", kCount, "peers that are no longer multi-rail")     \
  X(kDiscoveryLost, "discovery_lost", "peers", kCount, "peers that turned discovery off")

PLNET_COUNTERS(DiscoveryTable, PLNET_DISCOVERY_COUNTERS);
using DiscoveryCounters = Counters<DiscoveryTable>;
using DiscoveryCounter = DiscoveryTable::Id;

}  // namespace plnet::lnet
