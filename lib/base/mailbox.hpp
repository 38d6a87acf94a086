// SPDX-License-Identifier: BSD-3-Clause
// Pointers cross shards on bounded lanes with one producer and one consumer. A mailbox is such a
// lane and the doorbell of the shard that reads it. A grid has one mailbox for every ordered pair
// of shards, the two of a pair on the same cache lines.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "lib/base/check.hpp"
#include "lib/base/doorbell.hpp"
#include "lib/base/duplex.hpp"

namespace plnet {

template <class T>
class Mailbox {
 public:
  // The doorbell belongs to the consumer. Both outlive the mailbox.
  Mailbox(DuplexLane<T>& lane, Doorbell& consumer) : lane_(lane), doorbell_(consumer) {}

  // Producer only. Accepts a prefix of the burst, rings once for all of it, and returns its length.
  // Fewer than offered is back-pressure.
  std::size_t post_burst(std::span<T* const> burst) {
    const std::size_t count = lane_.push_burst(burst);
    if (count > 0) doorbell_.ring();
    return count;
  }
  [[nodiscard]] bool post(T* object) { return post_burst({&object, 1}) == 1; }

  // Producer only. For objects that return to their lender: the lane has room for all lent objects,
  // so a full lane is a bug of ours.
  void post_homeward(std::span<T* const> burst) {
    PLNET_CHECK(post_burst(burst) == burst.size(), "a homeward lane is full");
  }

  // Consumer only. Fills a prefix of `out`, returns how many.
  std::size_t collect(std::span<T*> out) { return lane_.pop_burst(out); }

  [[nodiscard]] std::size_t capacity() const { return lane_.capacity(); }
  // A hint; the consumer may rely on it between arm() and the sleep.
  [[nodiscard]] bool empty() const { return lane_.empty(); }
  [[nodiscard]] std::size_t size() const { return lane_.size(); }

 private:
  DuplexLane<T>& lane_;
  Doorbell& doorbell_;
};

// Shard i is the only producer of box(i, j), shard j its only consumer.
template <class T>
class MailboxGrid {
 public:
  // One doorbell per shard, in shard order. Allocates a duplex for each pair; start-up only. A
  // shard also has a box to itself, so callers need no special case for their own shard.
  MailboxGrid(std::size_t capacity, std::span<Doorbell* const> doorbells)
      : shards_(doorbells.size()), next_(std::make_unique<Turn[]>(shards_)) {
    PLNET_CHECK(shards_ > 0, "a grid has at least one shard");
    boxes_.resize(shards_ * shards_);
    channels_.reserve(shards_ * (shards_ + 1) / 2);
    for (std::size_t low = 0; low < shards_; ++low) {
      for (std::size_t high = low; high < shards_; ++high) {
        Duplex<T>& channel = *channels_.emplace_back(std::make_unique<Duplex<T>>(capacity));
        connect(low, high, channel.there(), *doorbells[high]);
        if (high != low) connect(high, low, channel.back(), *doorbells[low]);
      }
    }
  }

  [[nodiscard]] std::size_t shards() const { return shards_; }
  [[nodiscard]] Mailbox<T>& box(std::size_t from, std::size_t to) {
    PLNET_CHECK(from < shards_ && to < shards_, "no such shard in the grid");
    return *boxes_[from * shards_ + to];
  }
  [[nodiscard]] const Mailbox<T>& box(std::size_t from, std::size_t to) const {
    PLNET_CHECK(from < shards_ && to < shards_, "no such shard in the grid");
    return *boxes_[from * shards_ + to];
  }

  // Shard `to` only. Visits every inbox once and takes at most `scratch.size()` objects from each,
  // so that a busy neighbour cannot starve the others; the first inbox changes with every call.
  // Calls visit(from, span of objects) for each inbox that had some. Returns the number of objects.
  template <class Visit>
  std::size_t drain(std::size_t to, std::span<T*> scratch, Visit&& visit) {
    PLNET_CHECK(to < shards_, "no such shard in the grid");
    std::size_t total = 0;
    std::size_t from = next_[to].first;
    for (std::size_t i = 0; i < shards_; ++i) {
      const std::size_t count = box(from, to).collect(scratch);
      if (count > 0) visit(from, scratch.first(count));
      total += count;
      if (++from == shards_) from = 0;
    }
    next_[to].first = from + 1 == shards_ ? 0 : from + 1;
    return total;
  }

  // Shard `to` only: all inboxes are empty.
  [[nodiscard]] bool empty(std::size_t to) const {
    for (std::size_t from = 0; from < shards_; ++from) {
      if (!box(from, to).empty()) return false;
    }
    return true;
  }

 private:
  struct alignas(kNoSharing) Turn {
    std::size_t first = 0;
  };

  void connect(std::size_t from, std::size_t to, DuplexLane<T>& lane, Doorbell& consumer) {
    boxes_[from * shards_ + to] = std::make_unique<Mailbox<T>>(lane, consumer);
  }

  const std::size_t shards_;
  const std::unique_ptr<Turn[]> next_;
  std::vector<std::unique_ptr<Duplex<T>>> channels_;
  std::vector<std::unique_ptr<Mailbox<T>>> boxes_;  // row by row: all boxes of one producer
};

}  // namespace plnet
