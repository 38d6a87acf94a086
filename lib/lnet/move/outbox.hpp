// SPDX-License-Identifier: BSD-3-Clause
// The parcels that a shard sends to others in a turn, posted to their mailboxes together. A line of
// a mailbox has four slots: filled one by one while the reader polls it, the line would move
// between cores for each.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <memory>

#include "lib/base/check.hpp"
#include "lib/base/mailbox.hpp"
#include "lib/lnet/flow/parcel.hpp"
#include "lib/lnet/peers/net_interface.hpp"

namespace plnet::lnet {

class Outbox {
 public:
  // Allocates; start-up only. The grid outlives it. A single shard has no mailboxes.
  Outbox(MailboxGrid<Parcel>* mail, ShardId from, unsigned shards)
      : mail_(mail),
        from_(from),
        batches_(shards == 1 ? nullptr : std::make_unique<Batch[]>(shards)) {}

  // Keeps the order for each shard. A full batch leaves at once.
  void add(Parcel& parcel, ShardId to) {
    PLNET_CHECK(to != from_ && !parcel.linked(),
                "a parcel that crosses is in no list of this shard");
    PLNET_DEBUG_CHECK(batches_ != nullptr && to < kShardsMax,
                      "only a node with several shards has mailboxes");
    Batch& batch = batches_[to];
    batch.parcels[batch.count++] = MailedParcel::slip(parcel);
    waiting_ |= std::uint64_t{1} << to;
    if (batch.count == kBatch) send(to);
  }
  // Once a turn.
  void flush() {
    while (waiting_ != 0)
      send(static_cast<ShardId>(std::countr_zero(waiting_)));
  }
  [[nodiscard]] bool empty() const { return waiting_ == 0; }

 private:
  static constexpr std::uint32_t kBatch = 32;  // eight lines of a mailbox
  static_assert(kShardsMax <= 64, "a word has a bit for each shard");

  struct Batch {
    std::uint32_t count = 0;
    std::array<Parcel*, kBatch> parcels{};
  };

  void send(ShardId to) {
    Batch& batch = batches_[to];
    PLNET_DEBUG_CHECK(batch.count > 0 && batch.count <= kBatch,
                      "a batch that is posted has parcels");
    mail_->box(from_, to).post_homeward({batch.parcels.data(), batch.count});
    batch.count = 0;
    waiting_ &= ~(std::uint64_t{1} << to);
  }

  MailboxGrid<Parcel>* const mail_;
  const ShardId from_;
  std::uint64_t waiting_ = 0;  // bits of shards with a batch
  const std::unique_ptr<Batch[]> batches_;
};

}  // namespace plnet::lnet
