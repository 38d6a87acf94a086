// SPDX-License-Identifier: BSD-3-Clause
#include "lib/socklnd/lane_exchange.hpp"

#include <algorithm>
#include <memory>

namespace plnet::socklnd {

using lnet::ShardId;

Lane* LaneEnd::take(ShardId on) {
  Lane* const lane = lanes_->take();
  if (lane == nullptr) return nullptr;
  std::destroy_at(lane);
  std::construct_at(lane);
  lane->home = shard_;
  lane->shard = on;
  ++lent_to_[on];
  return lane;
}

void LaneEnd::give(Lane& lane) {
  --lent_to_[lane.shard];
  lanes_->give(&lane);
}

void LaneEnd::say(Lane& lane, LaneWord word, Errc cause) {
  PLNET_CHECK(lane.home == shard_ && lane.said < kWordsOfHome, "a lane has few words");
  ++lane.said;
  post(lane.shard, {.lane = &lane, .word = word, .cause = cause});
}

void LaneEnd::report(Lane& lane, LaneWord word, Errc cause) {
  PLNET_CHECK(lane.shard == shard_, "only the shard that has it reports");
  post(lane.home, {.lane = &lane, .word = word, .cause = cause, .heard = lane.heard});
}

void LaneEnd::report_gone(Lane& lane, Errc cause) {
  lane.over = true;
  report(lane, LaneWord::kClosed, cause);
}

void LaneEnd::post(ShardId to, const LaneNote& note) {
  const auto way = std::ranges::find(ways_, to, &Way::to);
  PLNET_CHECK(way != ways_.end(), "lanes stay in their CPT");
  const bool pushed = way->out->push(note);
  PLNET_CHECK(pushed, "the ring holds all that can be said of all lanes");
  way->doorbell->ring();
}

bool LaneEnd::empty() const {
  return std::ranges::all_of(ways_, [](const Way& way) { return way.in->empty(); });
}

void LaneEnd::answer_for_nobody(const LaneNote& note) {
  Lane& lane = *note.lane;
  if (lane.home != shard_) return report_gone(lane, Errc::kNotFound);
  if (note.word == LaneWord::kClosed && note.heard == lane.said) give(lane);
}

LaneExchange::LaneExchange(std::span<const std::uint16_t> cpt_of_shard) {
  const std::size_t shards = cpt_of_shard.size();
  for (std::size_t i = 0; i < shards; ++i)
    ends_.push_back(std::unique_ptr<LaneEnd>(new LaneEnd(static_cast<ShardId>(i))));
  const auto ring = [this] {
    return rings_
        .emplace_back(std::make_unique<LaneEnd::Ring>(kLanesMax * (kWordsOfHome + kWordsOfOther)))
        .get();
  };
  for (std::size_t from = 0; from < shards; ++from) {
    for (std::size_t to = from + 1; to < shards; ++to) {
      if (cpt_of_shard[from] != cpt_of_shard[to]) continue;
      LaneEnd::Ring* const there = ring();
      LaneEnd::Ring* const back = ring();
      ends_[from]->ways_.push_back({.to = static_cast<ShardId>(to), .in = back, .out = there});
      ends_[to]->ways_.push_back({.to = static_cast<ShardId>(from), .in = there, .out = back});
    }
  }
  for (const auto& end : ends_) {
    if (end->ways_.empty()) continue;
    end->lanes_ = std::make_unique<Pool<Lane>>(kLanesMax);
    for (const LaneEnd::Way& way : end->ways_)
      end->others_.push_back(way.to);
    std::ranges::sort(end->others_);
    const auto next = std::ranges::upper_bound(end->others_, end->shard_);
    std::ranges::rotate(end->others_, next);
  }
}

void LaneExchange::set_doorbells(std::span<Doorbell* const> doorbells) {
  for (const auto& end : ends_) {
    for (LaneEnd::Way& way : end->ways_)
      way.doorbell = doorbells[way.to];
  }
}

}  // namespace plnet::socklnd
