// SPDX-License-Identifier: BSD-3-Clause
// What crosses between shards: a message on its way out, a message being received, an ACK to be
// told of, an errand, a call. One owner at a time: who has the parcel may write to it, and giving
// it to a mailbox gives it away. Each kind comes from its shard's pool and goes home there.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include "lib/base/cache_line.hpp"
#include "lib/base/clock.hpp"
#include "lib/base/intrusive_list.hpp"
#include "lib/base/relaxed.hpp"
#include "lib/base/result.hpp"
#include "lib/lnet/api/shard_id.hpp"

namespace plnet::lnet {

enum class ParcelKind : std::uint8_t { kMessage, kReceive, kAckNote, kErrand, kCall };

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
  const Relaxed<bool>* given_up = nullptr;  // kDiscover: says that nobody wants it any more
};

// What another shard touches of a message or a receive lies in its first lines; each that it
// touches has to be moved there and back. Who takes parcels out of a mailbox fetches these.
inline constexpr std::size_t kParcelBytesShared = 4 * kCacheLine;

// A parcel as it lies in a mailbox: who takes it out knows how many lines to fetch before it has
// seen any. The lowest bit but one of the address says that it is a note; the lowest is the
// mailbox's.
class MailedParcel {
 public:
  explicit MailedParcel(Parcel* slip) : bits_(reinterpret_cast<std::uintptr_t>(slip)) {}

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
