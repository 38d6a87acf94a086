// SPDX-License-Identifier: BSD-3-Clause
// Where the shards of a CPT talk about lanes: a ring from each to each other, which holds all that
// can be said of the lanes that there can be. Cold: a few words for each connection.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "lib/base/doorbell.hpp"
#include "lib/base/pool.hpp"
#include "lib/base/ring.hpp"
#include "lib/socklnd/lane.hpp"

namespace plnet::socklnd {

// Lanes that a home may have elsewhere. Peers beyond those they are enough for have their
// connections at home: with so many peers, homes spread the load.
inline constexpr std::size_t kLanesMax = 128;

// One shard's end. All of it is that shard's.
class LaneEnd {
 public:
  [[nodiscard]] lnet::ShardId shard() const { return shard_; }
  // The others of the CPT, the next one first.
  [[nodiscard]] std::span<const lnet::ShardId> others() const { return others_; }

  // As home. Null: all are in use.
  [[nodiscard]] Lane* take(lnet::ShardId on);
  void give(Lane& lane);
  // Lanes of this home that lie there.
  [[nodiscard]] std::size_t lent_to(lnet::ShardId shard) const { return lent_to_[shard]; }
  void say(Lane& lane, LaneWord word, Errc cause = Errc::kClosed);

  // As the shard on which it lies. After kClosed it may be gone.
  void report(Lane& lane, LaneWord word, Errc cause = Errc::kClosed);
  void report_gone(Lane& lane, Errc cause);

  // What the others have said. Returns how many words.
  template <class Hear>
  unsigned collect(Hear&& hear) {
    unsigned count = 0;
    LaneNote note;
    for (const Way& way : ways_) {
      for (unsigned i = 0; i < kHeardPerTurn && way.in->pop(note); ++i, ++count) {
        if (note.lane->shard == shard_) ++note.lane->heard;
        hear(note);
      }
    }
    return count;
  }
  [[nodiscard]] bool empty() const;
  // The same for a note to an interface that is not here (any more). A stream that it brings is the
  // caller's, and to be discarded first: the lane may be gone after.
  void answer_for_nobody(const LaneNote& note);

 private:
  friend class LaneExchange;
  using Ring = SpscRing<LaneNote>;
  struct Way {
    lnet::ShardId to = 0;
    Ring* in = nullptr;
    Ring* out = nullptr;
    Doorbell* doorbell = nullptr;  // of that shard
  };

  // Each may be a connection to make or to adopt, a few system calls.
  static constexpr unsigned kHeardPerTurn = 16;

  explicit LaneEnd(lnet::ShardId shard) : shard_(shard) {}
  void post(lnet::ShardId to, const LaneNote& note);

  const lnet::ShardId shard_;
  std::vector<lnet::ShardId> others_;
  std::vector<Way> ways_;
  std::unique_ptr<Pool<Lane>> lanes_;  // where there are others
  std::array<std::size_t, lnet::kShardsMax> lent_to_{};
};

class LaneExchange {
 public:
  // Allocates everything; shards that are alone in their CPT need nothing.
  explicit LaneExchange(std::span<const std::uint16_t> cpt_of_shard);

  // Before anybody says a word.
  void set_doorbells(std::span<Doorbell* const> doorbells);
  // Null: no lanes from or to this shard.
  [[nodiscard]] LaneEnd* end(unsigned shard) {
    return ends_[shard]->others_.empty() ? nullptr : ends_[shard].get();
  }

 private:
  std::vector<std::unique_ptr<LaneEnd::Ring>> rings_;
  std::vector<std::unique_ptr<LaneEnd>> ends_;
};

}  // namespace plnet::socklnd
