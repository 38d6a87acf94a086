// SPDX-License-Identifier: BSD-3-Clause
// The seats of o2ib NIs: each has buffers for messages on every shard. An NI occupies one from
// before its LNDs are made until the last of them is destroyed.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "lib/base/arena.hpp"
#include "lib/base/result.hpp"
#include "lib/lnet/node/node.hpp"
#include "lib/o2iblnd/environment.hpp"
#include "node/net/o2ib/adapter.hpp"
#include "node/net/o2ib/relay.hpp"
#include "node/net/o2ib/settings.hpp"

namespace plnet::node {

// Buffers for messages of all NIs, in an arena of their own.
struct O2ibRoom {
  ArenaId arena = kNoArena;
  std::uint64_t bytes_each = 0;  // of an NI on a shard
  unsigned nis = 0;
  unsigned shards = 0;

  [[nodiscard]] std::uint64_t bytes() const { return bytes_each * nis * shards; }
};

class O2ibSeats;

// An occupied seat; free again after its last share, on the shard of that one.
class O2ibLease {
 public:
  explicit O2ibLease(std::atomic<bool>& taken) : taken_(taken) {}
  ~O2ibLease() { taken_.store(false, std::memory_order_release); }
  O2ibLease(const O2ibLease&) = delete;
  O2ibLease& operator=(const O2ibLease&) = delete;

 private:
  std::atomic<bool>& taken_;
};

// The part of one shard.
struct O2ibShare {
  std::shared_ptr<O2ibLease> lease;  // destroyed last
  std::unique_ptr<O2ibRelay> relay;
  std::unique_ptr<O2ibQueuePairs> pairs;  // null: the shard does not serve the NI
  BufferAddress memory;
  std::size_t connections_max = 0;
};

class O2ibSeats {
 public:
  explicit O2ibSeats(const O2ibRoom& room);

  [[nodiscard]] const O2ibRoom& room() const { return room_; }
  // Shard 0. Makes the parts of these shards. kAgain: a leaving NI has not released its seat;
  // kNoSpace: all are occupied; the error names the remedy.
  [[nodiscard]] Outcome<void> prepare(const lnet::Nid& nid, const lnet::ShardSet& shards,
                                      O2ibAdapter& adapter, std::size_t connections_max);
  // Shard 0: releases the parts prepared last for the NI.
  void unprepare(const lnet::Nid& nid);
  // Shard 0: the NI is about to be removed.
  void set_leaving(const lnet::Nid& nid);
  // Each shard that serves the NI takes its share, once for each prepare().
  [[nodiscard]] O2ibShare take(const lnet::Nid& nid, unsigned shard);
  // Any shard: a leaving NI still occupies a seat.
  [[nodiscard]] bool has_leaving() const;

 private:
  struct Seat {
    std::atomic<bool> taken{false};
    std::atomic<bool> leaving{false};
    lnet::Nid nid;
    std::vector<O2ibShare> prepared;  // indexed by shard
  };

  [[nodiscard]] Seat* free_seat();
  [[nodiscard]] Outcome<void> make_shares(Seat& seat, unsigned number, const lnet::ShardSet& shards,
                                          O2ibAdapter& adapter, std::size_t connections_max);

  const O2ibRoom room_;
  std::vector<std::unique_ptr<Seat>> seats_;
};

}  // namespace plnet::node
