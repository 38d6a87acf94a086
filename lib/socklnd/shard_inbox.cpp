// SPDX-License-Identifier: BSD-3-Clause
#include "lib/socklnd/shard_inbox.hpp"

#include <algorithm>
#include <ranges>

#include "lib/base/check.hpp"

namespace plnet::socklnd {

namespace {

SockLndConfig with_lanes(SockLndConfig config, LaneEnd* lanes) {
  config.lanes = lanes;
  return config;
}

}  // namespace

EnrolledLnd::EnrolledLnd(const SockLndConfig& config, lnet::LndUpcalls& core, ShardInbox& inbox)
    : SockLnd(with_lanes(config, inbox.lanes()), core, inbox.streams()),
      nid_(config.nid),
      incarnation_(config.incarnation),
      inbox_(inbox) {
  PLNET_CHECK(inbox.lnd(config.nid) == nullptr ||
                  inbox.lnd(config.nid)->incarnation() != config.incarnation,
              "two lives of an NI have two incarnations");
  inbox_.lnds_.push_back(this);
}

EnrolledLnd::~EnrolledLnd() {
  std::erase(inbox_.lnds_, this);
}

EnrolledLnd* ShardInbox::lnd(const lnet::Nid& nid) const {
  const auto newest_first = lnds_ | std::views::reverse;
  const auto found = std::ranges::find(newest_first, nid, &EnrolledLnd::nid);
  return found == newest_first.end() ? nullptr : *found;
}

// Both ends of a lane name it by a slot of an LND: notes go to the LND that has this slot.
EnrolledLnd* ShardInbox::lnd_of(const Lane& lane) const {
  const auto found = std::ranges::find_if(lnds_, [&](const EnrolledLnd* lnd) {
    return lnd->nid() == lane.arrival.local && lnd->incarnation() == lane.incarnation;
  });
  return found == lnds_.end() ? nullptr : *found;
}

void ShardInbox::bring(const Arrival& arrival) {
  PLNET_CHECK(doorbell_ != nullptr, "the doorbell is known before the first arrival");
  const bool pushed = arrivals_.push(arrival);
  PLNET_CHECK(pushed, "the acceptor has asked for room");
  doorbell_->ring();
}

unsigned ShardInbox::take_arrivals(std::size_t most, std::size_t room) {
  unsigned taken = 0;
  Arrival arrival;
  for (; taken < most && arrivals_.pop(arrival); ++taken) {
    counters_.add(Id::kArrived);
    EnrolledLnd* const home = lnd(arrival.local);
    if (home == nullptr) {
      refuse(arrival, Id::kHomeless);
    } else if (room == 0) {
      refuse(arrival, Id::kNoRoom);
    } else {
      --room;
      home->accept(arrival);
    }
  }
  return taken;
}

// The peer's connection ends, and the peer retries later.
void ShardInbox::refuse(const Arrival& arrival, Id why) {
  counters_.add(why);
  streams_.driver().discard(arrival.stream);
}

// The interface of a note may not be here yet, or no longer.
unsigned ShardInbox::collect_lane_notes() {
  if (lanes_ == nullptr) return 0;
  return lanes_->collect([this](const LaneNote& note) {
    if (EnrolledLnd* const there = lnd_of(*note.lane)) return there->on_lane_note(note);
    if (note.word == LaneWord::kTake) refuse(note.lane->arrival, Id::kHomeless);
    lanes_->answer_without_interface(note);
  });
}

void ShardInbox::discard_all() {
  Arrival arrival;
  while (arrivals_.pop(arrival))
    streams_.driver().discard(arrival.stream);
  if (lanes_ == nullptr) return;
  const auto discard_arrival = [this](const LaneNote& note) {
    if (note.word == LaneWord::kTake) streams_.driver().discard(note.lane->arrival.stream);
  };
  while (lanes_->collect(discard_arrival) > 0) {
  }
}

}  // namespace plnet::socklnd
