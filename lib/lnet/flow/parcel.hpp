// SPDX-License-Identifier: BSD-3-Clause
// Objects that cross between shards: a message on its way out, a message that arrives, a note of an
// ACK, an errand, a call. A parcel has one owner at a time, who may write to it; a post to a
// mailbox gives it to the other shard. Each kind comes from the pool of its shard and goes home to
// it.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include "lib/base/cache_line.hpp"
#include "lib/base/check.hpp"
#include "lib/base/clock.hpp"
#include "lib/base/intrusive_list.hpp"
#include "lib/base/relaxed.hpp"
#include "lib/base/result.hpp"
#include "lib/lnet/api/shard_id.hpp"

namespace plnet::lnet {

enum class ParcelKind : std::uint8_t { kMessage, kReceive, kAckNote, kErrand, kCall };

// The action of the shard that takes the parcel out of its mailbox.
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
  ShardId origin = 0;  // the shard whose pool it is from
  Result<void> outcome;
  const Relaxed<bool>* given_up = nullptr;  // kDiscover: true if the user has given up
};

// Other shards use only the first lines of a message or a receive, since each line that they use
// moves to their core and back. The shard that takes parcels out of a mailbox prefetches these.
inline constexpr std::size_t kParcelBytesShared = 4 * kCacheLine;

// The address of a parcel in a mailbox. Its lowest bit but one marks a note, so that the reader
// knows how many lines to prefetch before it has read any; the lowest bit is the mailbox's.
class MailedParcel {
 public:
  explicit MailedParcel(Parcel* slip) : bits_(reinterpret_cast<std::uintptr_t>(slip)) {
    PLNET_DEBUG_CHECK((bits_ & ~kNote) != 0, "a mailbox holds parcels");
  }

  [[nodiscard]] static Parcel* slip(Parcel& parcel) {
    const std::uintptr_t bit = parcel.kind == ParcelKind::kAckNote ? kNote : 0;
    return std::bit_cast<Parcel*>(reinterpret_cast<std::uintptr_t>(&parcel) | bit);
  }
  [[nodiscard]] bool is_note() const { return (bits_ & kNote) != 0; }
  [[nodiscard]] Parcel& parcel() const { return *std::bit_cast<Parcel*>(bits_ & ~kNote); }

 private:
  static constexpr std::uintptr_t kNote = 2;
  static_assert(alignof(Parcel) > kNote);

  const std::uintptr_t bits_;
};

}  // namespace plnet::lnet
