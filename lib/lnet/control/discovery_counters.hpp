// SPDX-License-Identifier: BSD-3-Clause
// The counters of discovery.
#pragma once

#include "lib/base/counters.hpp"

namespace plnet::lnet {

#define PLNET_DISCOVERY_COUNTERS(X)                                                               \
  X(kStarted, "discoveries_started", "peers", kCount, "peers that were to be discovered")         \
  X(kCompleted, "discoveries_completed", "peers", kCount, "peers found up to date")               \
  X(kFailed, "discoveries_failed", "peers", kCount, "discoveries that ended with an error")       \
  X(kQueued, "discoveries_queued", "peers", kGauge, "peers being discovered, or waiting for it")  \
  X(kQueuedMax, "discoveries_queued_max", "peers", kHighWater, "most of them at once")            \
  X(kStarved, "discoveries_starved", "peers", kCount, "peers that waited for a slot")             \
  X(kShort, "discoveries_short", "times", kCount, "no message record was left to ask a peer")     \
  X(kParked, "messages_parked", "messages", kCount, "messages that waited for discovery")         \
  X(kExpired, "messages_expired", "messages", kCount,                                             \
    "of them, that waited for the transaction timeout")                                           \
  X(kGivenUp, "messages_given_up", "messages", kCount, "of them, unlinked by their user")         \
  X(kAskedAgain, "asked_again", "peers", kCount, "pings and pushes sent again: connection lost")  \
  X(kPingsSent, "pings_sent", "pings", kCount, "pings sent")                                      \
  X(kPingsFailed, "pings_failed", "pings", kCount, "pings that failed or were not answered")      \
  X(kReplies, "replies", "replies", kCount, "replies to pings")                                   \
  X(kRepliesCorrupt, "replies_corrupt", "replies", kCount, "replies that were no ping buffer")    \
  X(kRepliesTruncated, "replies_truncated", "replies", kCount, "replies for a larger buffer")     \
  X(kRetriesOver, "retries_over", "pings", kCount, "peers given up: no useful reply in many")     \
  X(kPushesSent, "pushes_sent", "pushes", kCount, "pushes sent")                                  \
  X(kPushesFailed, "pushes_failed", "pushes", kCount, "pushes that failed or were not acked")     \
  X(kPushesAcked, "pushes_acked", "pushes", kCount, "pushes that were acknowledged")              \
  X(kPushesHeard, "pushes_heard", "pushes", kCount, "pushes received")                            \
  X(kPushesUnknown, "pushes_unknown", "pushes", kCount, "of them, from NIDs of no peer")          \
  X(kPushesCorrupt, "pushes_corrupt", "pushes", kCount, "of them, that were no ping buffer")      \
  X(kPushesTruncated, "pushes_truncated", "pushes", kCount, "of them, for a larger buffer")       \
  X(kPushesForeign, "pushes_foreign", "pushes", kCount,                                           \
    "of them, brought by another node than their source: the source is asked")                    \
  X(kPushesNotMultiRail, "pushes_not_multi_rail", "pushes", kCount, "of them, not multi-rail")    \
  X(kPushesNoSlot, "pushes_no_slot", "pushes", kCount, "of them, with no room to keep them")      \
  X(kLateEvents, "late_events", "events", kCount, "answers for peers that are gone")              \
  X(kMerged, "buffers_merged", "buffers", kCount, "ping buffers merged into a peer")              \
  X(kNidsAdded, "nids_added", "interfaces", kCount, "NIDs that discovery gave to a peer")         \
  X(kNidsDeleted, "nids_deleted", "interfaces", kCount, "NIDs that discovery took from a peer")   \
  X(kNidsRefused, "nids_refused", "interfaces", kCount, "NIDs not added or deleted: configured")  \
  X(kNidsForeign, "nids_foreign", "interfaces", kCount,                                           \
    "NIDs left where they are: their node does not say that it is the same as who lists them")    \
  X(kNidsBad, "nids_bad", "interfaces", kCount, "NIDs in a buffer that no interface can have")    \
  X(kNidsNoRoom, "nids_no_room", "interfaces", kCount,                                            \
    "NIDs left out: no room, see plnet.lnet.peers")                                               \
  X(kNidsLater, "nids_later", "interfaces", kCount, "NIDs whose former interface still goes")     \
  X(kPrimaryChanged, "primaries_changed", "peers", kCount, "peers that got another primary NID")  \
  X(kHandedOver, "buffers_handed_over", "buffers", kCount, "merged into another peer than asked") \
  X(kWentDown, "peer_nis_went_down", "interfaces", kCount, "interfaces reported down")            \
  X(kMultiRailLost, "multi_rail_lost", "peers", kCount, "peers that are multi-rail no longer")    \
  X(kDiscoveryLost, "discovery_lost", "peers", kCount, "peers that turned discovery off")

PLNET_COUNTERS(DiscoveryTable, PLNET_DISCOVERY_COUNTERS);
using DiscoveryCounters = Counters<DiscoveryTable>;
using DiscoveryCounter = DiscoveryTable::Id;

}  // namespace plnet::lnet
