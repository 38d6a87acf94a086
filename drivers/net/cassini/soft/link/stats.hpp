// SPDX-License-Identifier: BSD-3-Clause
// What the link layer counts.
#pragma once

#include "lib/base/counters.hpp"

namespace plnet::cassini::soft::link {

#define PLNET_CASSINI_LINK_COUNTERS(X)                                                             \
  X(kPacketsIn, "packets_in", "packets", kCount, "packets handed up")                              \
  X(kPacketsOut, "packets_out", "packets", kCount, "packets taken to be sent")                     \
  X(kPacketsDropped, "packets_dropped", "packets", kCount,                                         \
    "of these, not acknowledged: the peer went silent, or our address changed")                    \
  X(kBytesIn, "bytes_in", "bytes", kCount, "of packets handed up")                                 \
  X(kBytesOut, "bytes_out", "bytes", kCount, "of packets taken to be sent")                        \
  X(kFramesIn, "frames_in", "frames", kCount, "frames of this protocol that came and were whole")  \
  X(kFramesOut, "frames_out", "frames", kCount, "frames put on the cable")                         \
  X(kResent, "resent", "packets", kCount, "packets sent again")                                    \
  X(kLost, "lost", "packets", kCount, "packets taken for lost because later ones arrived")         \
  X(kTimeouts, "timeouts", "timeouts", kCount, "times that nothing was acknowledged for too long") \
  X(kBackoffs, "backoffs", "times", kCount, "times that a window was made smaller")                \
  X(kAcksOut, "acks_out", "frames", kCount, "frames that only acknowledge")                        \
  X(kDuplicates, "duplicates", "packets", kCount, "packets that had come before")                  \
  X(kOutOfOrder, "out_of_order", "packets", kCount, "packets kept until those before them came")   \
  X(kStoreFull, "store_full", "packets", kCount, "of these, dropped: no room to keep them")        \
  X(kBackPressure, "back_pressure", "packets", kCount, "packets refused: the window is full")      \
  X(kUnreachable, "unreachable", "packets", kCount, "packets dropped: nobody has the address")     \
  X(kPeersDead, "peers_dead", "peers", kCount, "peers that went silent")                           \
  X(kPeersRestarted, "peers_restarted", "peers", kCount, "peers that began a new session")         \
  X(kPeersMoved, "peers_moved", "peers", kCount, "peers whose MAC address is another now")         \
  X(kPeersExhausted, "peers_exhausted", "times", kCount, "no record was free for one more peer")   \
  X(kStrangersDropped, "strangers_dropped", "peers", kCount,                                       \
    "records of peers that only greeted, given to others")                                         \
  X(kPeers, "peers", "peers", kGauge, "records of peers in use")                                   \
  X(kClashes, "clashes", "frames", kCount, "frames of somebody else with our address")             \
  X(kTooLong, "too_long", "packets", kCount, "packets dropped: too long for the cable or peer")    \
  X(kLinkChanges, "link_changes", "times", kCount, "times that the cable came or went")            \
  X(kAsks, "asks", "frames", kCount, "questions sent for the owner of an address")                 \
  X(kForeign, "foreign", "frames", kCount, "frames of other protocols, or not for us; ignored")    \
  X(kBadVersion, "bad_version", "frames", kCount, "frames of another version; ignored")            \
  X(kMalformed, "malformed", "frames", kCount, "frames that contradict themselves; ignored")       \
  X(kBadChecksum, "bad_checksum", "frames", kCount, "frames that were damaged; ignored")           \
  X(kStale, "stale", "frames", kCount, "frames of a session that is over; ignored")

PLNET_COUNTERS(LinkTable, PLNET_CASSINI_LINK_COUNTERS);
using LinkStats = Counters<LinkTable>;
using LinkCount = LinkTable::Id;

}  // namespace plnet::cassini::soft::link
