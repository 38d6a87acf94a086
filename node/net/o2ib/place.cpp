// SPDX-License-Identifier: BSD-3-Clause
#include "node/net/o2ib/place.hpp"

#include <algorithm>
#include <utility>

#include "lib/base/check.hpp"
#include "node/net/o2ib/doors.hpp"

namespace plnet::node {

O2ibNi::O2ibNi(O2ibPlace& place, O2ibGround ground, const o2iblnd::O2ibLndConfig& config,
               lnet::LndUpcalls& core)
    : O2ibGround(std::move(ground)),
      O2ibLnd(config, core, share.pairs->driver()),
      nid_(config.nid),
      incarnation_(config.incarnation),
      place_(place) {
  share.relay->attach(*this);
  place_.nis_.push_back(this);
}

O2ibNi::~O2ibNi() {
  std::erase(place_.nis_, this);
}

O2ibPlace::~O2ibPlace() {
  PLNET_CHECK(nis_.empty(), "NIs are destroyed before their place on the poller");
  O2ibArrival arrival;
  while (arrivals_.pop(arrival))
    arrival.adapter->discard(arrival.request);
  if (lanes_ == nullptr) return;
  while (lanes_->collect([this](const o2iblnd::LaneNote& note) { turn_down(note); }) > 0) {
  }
}

bool O2ibPlace::bring(const O2ibArrival& arrival) {
  if (!arrivals_.push(arrival)) return false;
  if (doorbell_ != nullptr) doorbell_->ring();
  return true;
}

unsigned O2ibPlace::take_arrivals() {
  unsigned count = 0;
  for (O2ibArrival arrival; count < kTakenPerTurn && arrivals_.pop(arrival); ++count) {
    counters_.add(Id::kArrived);
    O2ibNi* const there = ni(arrival.local);
    if (there != nullptr) {
      there->pairs().adopt(arrival.request);
    } else {
      counters_.add(Id::kHomeless);
      arrival.adapter->discard(arrival.request);
    }
  }
  return count;
}

// A lane belongs to one incarnation of an interface. If this shard does not have that incarnation
// yet, or not any more, the lane ends.
unsigned O2ibPlace::collect_lane_notes() {
  if (lanes_ == nullptr) return 0;
  return lanes_->collect([this](const o2iblnd::LaneNote& note) {
    const auto there = std::ranges::find_if(nis_, [&note](const O2ibNi* each) {
      return each->nid() == note.lane->local && each->incarnation() == note.lane->own_incarnation;
    });
    if (there != nis_.end()) return (*there)->on_lane_note(note);
    turn_down(note);
    lanes_->answer_without_interface(note);
  });
}

// Rejects the connect request that a note brings. Other notes bring none.
void O2ibPlace::turn_down(const o2iblnd::LaneNote& note) {
  if (note.word != o2iblnd::LaneWord::kTake) return;
  counters_.add(Id::kHomeless);
  O2ibAdapter* const adapter = adapters_->adapter(note.lane->local.address32());
  if (adapter != nullptr) adapter->discard(note.lane->request);
}

unsigned O2ibPlace::poll(Instant now) {
  unsigned work = arrivals_.empty() ? 0 : take_arrivals();
  work += collect_lane_notes();
  if (events_ != nullptr) {
    look_again_at_ = now + kEventInterval;
    work += events_->poll_events(now);
  }
  for (O2ibNi* const ni : nis_)
    work += ni->poll(now);
  if (doors_ != nullptr) work += doors_->poll(now);
  return work;
}

bool O2ibPlace::woken_by_doorbell() const {
  return nis_.empty() && (events_ == nullptr || !events_->has_devices());
}

Instant O2ibPlace::next_deadline() const {
  if (!arrivals_.empty() || (lanes_ != nullptr && !lanes_->empty())) return Instant::min();
  Instant next = events_ != nullptr && events_->has_devices() ? look_again_at_ : Instant::max();
  if (doors_ != nullptr) next = std::min(next, doors_->next_deadline());
  for (O2ibNi* const ni : nis_)
    next = std::min(next, ni->pairs().pollable().next_deadline());
  return next;
}

O2ibNi* O2ibPlace::ni(const lnet::Nid& nid) const {
  const auto found = std::find_if(nis_.rbegin(), nis_.rend(),
                                  [&nid](const O2ibNi* each) { return each->nid() == nid; });
  return found == nis_.rend() ? nullptr : *found;
}

}  // namespace plnet::node
