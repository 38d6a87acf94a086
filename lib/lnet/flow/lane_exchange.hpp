// SPDX-License-Identifier: BSD-3-Clause
// Exchange of words about lanes between the shards of a CPT. A lane is a connection that lies on
// another shard than the home of its peer. A ring from each shard to each other has room for all
// words about all lanes. Cold: a few words for each connection.
//
// A `Lane` is the record of one such connection, from the home's pool. It has
//   ShardId home, shard; std::uint8_t said;      written by the home
//   std::uint8_t heard; bool over;               written by the shard where the connection lies
//   Word, kGone                                  the words; kGone: the connection is gone
//   kWordsOfHome, kWordsOfOther                  the most words about one lane in the rings
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "lib/base/check.hpp"
#include "lib/base/doorbell.hpp"
#include "lib/base/pool.hpp"
#include "lib/base/result.hpp"
#include "lib/base/ring.hpp"
#include "lib/lnet/peers/net_interface.hpp"

namespace plnet::lnet {

// Lanes that a home may have on other shards. Further peers have their connections at home: with
// so many peers, their homes spread the load.
inline constexpr std::size_t kLanesMax = 128;

template <class Lane>
struct LaneNoteOf {
  Lane* lane = nullptr;
  typename Lane::Word word = Lane::kGone;
  Errc cause = Errc::kClosed;
  // In a note of the other shard: the number of words that it has taken from the home. Words may be
  // on their way to a lane that has ended; the other shard answers each with one more Lane::kGone.
  // Once it has taken all of them, no further note names the lane.
  std::uint8_t heard = 0;
};

template <class Lane>
class LaneExchangeOf;

// One shard's end of the exchange. Only that shard calls it.
template <class Lane>
class LaneEndOf {
  static_assert(Lane::kWordsOfHome > 0 && Lane::kWordsOfHome <= UINT8_MAX,
                "a lane counts the words of its home in a byte");

 public:
  using Note = LaneNoteOf<Lane>;
  using Word = typename Lane::Word;

  [[nodiscard]] ShardId shard() const { return shard_; }
  // The other shards of the CPT, the next one first.
  [[nodiscard]] std::span<const ShardId> others() const { return others_; }

  // Called by the home. Null: all lanes are in use.
  [[nodiscard]] Lane* take(ShardId on) {
    PLNET_CHECK(on < kShardsMax && on != shard_, "a lane lies on another shard");
    PLNET_CHECK(lanes_ != nullptr, "a shard with others in its CPT has lanes to lend");
    Lane* const lane = lanes_->take();
    PLNET_DEBUG_CHECK(lane == nullptr || lent_to_[on] < kLanesMax,
                      "no shard has more lanes than a home lends");
    if (lane == nullptr) return nullptr;
    std::destroy_at(lane);
    std::construct_at(lane);
    lane->home = shard_;
    lane->shard = on;
    ++lent_to_[on];
    return lane;
  }
  void give(Lane& lane) {
    PLNET_CHECK(lane.home == shard_ && lent_to_[lane.shard] > 0, "the home frees its lane");
    --lent_to_[lane.shard];
    lanes_->give(&lane);
  }
  // The number of lanes of this home on that shard.
  [[nodiscard]] std::size_t lent_to(ShardId shard) const { return lent_to_[shard]; }
  void say(Lane& lane, Word word, Errc cause = Errc::kClosed) {
    PLNET_CHECK(lane.home == shard_ && lane.said < Lane::kWordsOfHome, "the home has words left");
    ++lane.said;
    post(lane.shard, {.lane = &lane, .word = word, .cause = cause});
  }

  // Called by the shard of the lane. After Lane::kGone the home may have freed the lane.
  void report(Lane& lane, Word word, Errc cause = Errc::kClosed) {
    PLNET_CHECK(lane.shard == shard_, "only the shard of the lane reports");
    post(lane.home, {.lane = &lane, .word = word, .cause = cause, .heard = lane.heard});
  }
  void report_gone(Lane& lane, Errc cause) {
    lane.over = true;
    report(lane, Lane::kGone, cause);
  }

  // Takes the words of the other shards and returns their number.
  template <class Hear>
  unsigned collect(Hear&& hear) {
    unsigned count = 0;
    Note note;
    for (const Way& way : ways_) {
      for (unsigned i = 0; i < kHeardPerTurn && way.in->pop(note); ++i, ++count) {
        PLNET_CHECK(note.lane != nullptr, "each word is about a lane");
        PLNET_CHECK(note.lane->home == shard_ || note.lane->shard == shard_,
                    "a word goes to one end of a lane");
        if (note.lane->shard == shard_) ++note.lane->heard;
        PLNET_DEBUG_CHECK(note.lane->shard != shard_ || note.lane->heard <= Lane::kWordsOfHome,
                          "a lane hears no more words than its home has");
        hear(note);
      }
    }
    return count;
  }
  [[nodiscard]] bool empty() const {
    return std::ranges::all_of(ways_, [](const Way& way) { return way.in->empty(); });
  }
  // Answers a note to an interface that this shard does not have (any more). The caller discards
  // the content of the note first: the lane may be gone after the call.
  void answer_without_interface(const Note& note) {
    Lane& lane = *note.lane;
    if (lane.home != shard_) return report_gone(lane, Errc::kNotFound);
    PLNET_CHECK(note.heard <= lane.said,
                "the other shard has heard only words that the home has said");
    if (note.word == Lane::kGone && note.heard == lane.said) give(lane);
  }

 private:
  friend class LaneExchangeOf<Lane>;
  using Ring = SpscRing<Note>;
  struct Way {
    ShardId to = 0;
    Ring* in = nullptr;
    Ring* out = nullptr;
    Doorbell* doorbell = nullptr;  // of shard `to`
  };

  // A word may make or adopt a connection, which takes a few system calls.
  static constexpr unsigned kHeardPerTurn = 16;

  explicit LaneEndOf(ShardId shard) : shard_(shard) {}
  void post(ShardId to, const Note& note) {
    PLNET_DEBUG_CHECK(to != shard_, "a word goes to another shard");
    const auto way = std::ranges::find(ways_, to, &Way::to);
    PLNET_CHECK(way != ways_.end(), "lanes stay in their CPT");
    const bool pushed = way->out->push(note);
    PLNET_CHECK(way->doorbell != nullptr, "doorbells are known before the first word");
    PLNET_CHECK(pushed, "the ring has room for all words about all lanes");
    way->doorbell->ring();
  }
  void order_others() {
    lanes_ = std::make_unique<Pool<Lane>>(kLanesMax);
    for (const Way& way : ways_)
      others_.push_back(way.to);
    std::ranges::sort(others_);
    const auto next = std::ranges::upper_bound(others_, shard_);
    std::ranges::rotate(others_, next);
  }

  const ShardId shard_;
  std::vector<ShardId> others_;
  std::vector<Way> ways_;
  std::unique_ptr<Pool<Lane>> lanes_;  // null if the CPT has one shard
  std::array<std::size_t, kShardsMax> lent_to_{};
};

template <class Lane>
class LaneExchangeOf {
 public:
  using End = LaneEndOf<Lane>;

  // Allocates all rings and lanes; a shard that is alone in its CPT needs none.
  explicit LaneExchangeOf(std::span<const std::uint16_t> cpt_of_shard) {
    const std::size_t shards = cpt_of_shard.size();
    PLNET_CHECK(shards <= kShardsMax, "a node has at most kShardsMax shards");
    for (std::size_t i = 0; i < shards; ++i)
      ends_.push_back(std::unique_ptr<End>(new End(static_cast<ShardId>(i))));
    for (std::size_t from = 0; from < shards; ++from) {
      for (std::size_t to = from + 1; to < shards; ++to) {
        if (cpt_of_shard[from] == cpt_of_shard[to]) join(from, to);
      }
    }
    for (const auto& end : ends_) {
      if (!end->ways_.empty()) end->order_others();
    }
  }

  // Called before the first word.
  void set_doorbells(std::span<Doorbell* const> doorbells) {
    PLNET_CHECK(doorbells.size() >= ends_.size(), "each shard has a doorbell");
    for (const auto& end : ends_) {
      for (auto& way : end->ways_)
        way.doorbell = doorbells[way.to];
    }
  }
  // Null: no lanes from or to this shard.
  [[nodiscard]] End* end(unsigned shard) {
    PLNET_CHECK(shard < ends_.size(), "the shard is one of the node");
    return ends_[shard]->others_.empty() ? nullptr : ends_[shard].get();
  }

 private:
  using Ring = typename End::Ring;

  [[nodiscard]] Ring* new_ring() {
    constexpr std::size_t kWords = Lane::kWordsOfHome + Lane::kWordsOfOther;
    return rings_.emplace_back(std::make_unique<Ring>(kLanesMax * kWords)).get();
  }
  void join(std::size_t from, std::size_t to) {
    Ring* const there = new_ring();
    Ring* const back = new_ring();
    ends_[from]->ways_.push_back({.to = static_cast<ShardId>(to), .in = back, .out = there});
    ends_[to]->ways_.push_back({.to = static_cast<ShardId>(from), .in = there, .out = back});
  }

  std::vector<std::unique_ptr<Ring>> rings_;
  std::vector<std::unique_ptr<End>> ends_;
};

}  // namespace plnet::lnet
