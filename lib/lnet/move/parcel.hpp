// SPDX-License-Identifier: BSD-3-Clause
// What crosses between shards: a message on its way out, a message being received, an errand, a
// call. One owner at a time: who has the parcel may write to it, and giving it to a mailbox gives
// it away. Each kind comes from its shard's pool and goes home there.
#pragma once

#include <cstddef>
#include <cstdint>

#include "lib/base/cache_line.hpp"
#include "lib/base/clock.hpp"
#include "lib/base/intrusive_list.hpp"
#include "lib/base/result.hpp"
#include "lib/lnet/peers/net_interface.hpp"

namespace plnet::lnet {

enum class ParcelKind : std::uint8_t { kMessage, kReceive, kErrand, kCall };

// Says what the shard that takes it out of its mailbox shall do.
enum class ParcelStep : std::uint8_t {
  kIdle,
  // To the coordinator's shard, and back with `outcome`.
  kWantPeer,  // create the peer NI of the NID that it names
  kDiscover,  // wait until the peer that its header names is up to date
  kWaitOver,  // back at its origin
  // A message: originator, home of the next hop, lane, and back.
  kToHome,
  kToLane,
  kSent,
  kEnded,
  // A receive: where it arrived, the owner of a match entry or descriptor, and back.
  kMatch,
  kMatched,
  kFinish,
  kFinished,
  kDelay,  // to the home of a lazy portal
  // An errand (releaser.hpp) or a call (shard.hpp).
  kErrand,
  kErrandDone,
};

struct Parcel : ListNode<> {
  explicit Parcel(ParcelKind kind_of) : kind(kind_of) {}

  const ParcelKind kind;
  ParcelStep step = ParcelStep::kIdle;
  ShardId origin = 0;  // whose pool it is from
  Result<void> outcome;
  Instant waits_since{};  // with the coordinator
};

// What another shard touches of a message or a receive lies in its first lines; each that it
// touches has to be moved there and back. Who takes parcels out of a mailbox fetches these.
inline constexpr std::size_t kParcelBytesShared = 4 * kCacheLine;

}  // namespace plnet::lnet
