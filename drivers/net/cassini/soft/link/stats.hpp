// SPDX-License-Identifier: BSD-3-Clause
// Counters of the link layer.
#pragma once

#include "lib/base/counters.hpp"

namespace plnet::cassini::soft::link {

#define PLNET_CASSINI_LINK_COUNTERS(X)                                                             \
  X(kPacketsIn, "packets_in", "packets", kCount, "packets delivered upwards")                      \
  X(kPacketsOut, "packets_out", "packets", kCount, "packets accepted for sending")                 \
  X(kPacketsDropped, "packets_dropped", "packets", kCount,                                         \
    "of these, given up: the peer became silent, or the own address changed")                      \
  X(kBytesIn, "bytes_in", "bytes", kCount, "bytes of delivered packets")                           \
  X(kBytesOut, "bytes_out", "bytes", kCount, "bytes of accepted packets")                          \
  X(kFramesIn, "frames_in", "frames", kCount, "intact frames of this protocol received")           \
  X(kFramesOut, "frames_out", "frames", kCount, "frames sent")                                     \
  X(kResent, "resent", "packets", kCount, "packets sent again")                                    \
  X(kLost, "lost", "packets", kCount, "packets regarded as lost because later ones arrived")       \
  X(kTimeouts, "timeouts", "timeouts", kCount, "timeouts without any acknowledgement")             \
  X(kBackoffs, "backoffs", "times", kCount, "reductions of a window")                              \
  X(kAcksOut, "acks_out", "frames", kCount, "frames with acknowledgements only")                   \
  X(kDuplicates, "duplicates", "packets", kCount, "packets received again")                        \
  X(kOutOfOrder, "out_of_order", "packets", kCount, "packets received before earlier ones")        \
  X(kStoreFull, "store_full", "packets", kCount, "of these, dropped: no room to keep them")        \
  X(kBackPressure, "back_pressure", "packets", kCount, "packets refused: the window is full")      \
  X(kUnreachable, "unreachable", "packets", kCount, "packets dropped: no NIC has the address")     \
  X(kPeersDead, "peers_dead", "peers", kCount, "peers declared dead after silence")                \
  X(kPeersRestarted, "peers_restarted", "peers", kCount, "peers that began a new session")         \
  X(kPeersMoved, "peers_moved", "peers", kCount, "peers whose MAC address changed")                \
  X(kPeersExhausted, "peers_exhausted", "times", kCount,                                           \
    "requests for a peer record when none was free")                                               \
  X(kStrangersDropped, "strangers_dropped", "peers", kCount,                                       \
    "records of unproven peers that were replaced")                                                \
  X(kPeers, "peers", "peers", kGauge, "records of peers in use")                                   \
  X(kClashes, "clashes", "frames", kCount, "frames of another NIC with the own address")           \
  X(kTooLong, "too_long", "packets", kCount, "packets dropped: too long for the cable or peer")    \
  X(kLinkChanges, "link_changes", "times", kCount, "changes of the link")                          \
  X(kAsks, "asks", "frames", kCount, "queries sent for the owner of an address")                   \
  X(kForeign, "foreign", "frames", kCount, "frames of other protocols or for other NICs; ignored") \
  X(kBadVersion, "bad_version", "frames", kCount, "frames of another version; ignored")            \
  X(kMalformed, "malformed", "frames", kCount, "frames with invalid lengths or fields; ignored")   \
  X(kBadChecksum, "bad_checksum", "frames", kCount, "damaged frames; ignored")                     \
  X(kStale, "stale", "frames", kCount, "frames of a past session; ignored")

PLNET_COUNTERS(LinkTable, PLNET_CASSINI_LINK_COUNTERS);
using LinkStats = Counters<LinkTable>;
using LinkCount = LinkTable::Id;

}  // namespace plnet::cassini::soft::link
