// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/net/sim/event_loop.hpp"

#include <algorithm>
#include <bit>

#include "lib/base/check.hpp"

namespace plnet::drivers {

EventLoop::EventLoop(std::uint64_t seed, TieBreak tie_break, const LoopLimits& limits)
    : limits_(limits), tie_break_(tie_break), random_(seed) {
  buckets_.fill(kNoSlot);
  slots_.reserve(kFirstSlots);
  due_.reserve(kFirstSlots);
  late_.reserve(kFirstSlots);
  leaving_.reserve(kFirstSlots);
}

EventId EventLoop::schedule(Instant when, EventSink& sink, std::uint64_t word) {
  const std::uint32_t index = take_slot();
  Slot& slot = slots_[index];
  slot.sink = &sink;
  slot.word = word;
  const std::uint64_t tie = tie_break_ == TieBreak::kDrawn ? random_.next() : sequence_++;
  const Instant at = std::max(when, now());
  slot.key = {at.time_since_epoch().count(), tie << kSlotBits | index};
  ++pending_;
  place(index);
  return {index, slot.generation};
}

bool EventLoop::cancel(EventId id) {
  if (id.slot >= slots_.size()) return false;
  Slot& slot = slots_[id.slot];
  if (slot.generation != id.generation || slot.sink == nullptr) return false;
  PLNET_DEBUG_CHECK(pending_ > 0, "a pending event is counted");
  --pending_;
  if (slot.previous == kDue) {
    slot.sink = nullptr;  // the key stays until its turn, which is soon
  } else {
    unlink(slot);
    free_slot(id.slot);
  }
  return true;
}

bool EventLoop::step() {
  if (!find_head(Instant::max().time_since_epoch().count())) return false;
  run_head();
  return true;
}

RunResult EventLoop::run_until_idle() {
  return run(Instant::max(), false);
}
RunResult EventLoop::run_until(Instant when) {
  return run(when, true);
}

Instant EventLoop::next() const {
  if (const Key* const key = head(); key != nullptr) return Instant{Duration{key->time}};
  if (levels_ == 0) return Instant::max();
  std::int64_t least = Instant::max().time_since_epoch().count();
  for (std::uint32_t index = buckets_[first_bucket()]; index != kNoSlot; index = slots_[index].next)
    least = std::min(least, slots_[index].key.time);
  return Instant{Duration{least}};
}

RunResult EventLoop::run(Instant until, bool has_end) {
  RunResult result;
  events_this_instant_ = 0;
  while (find_head(until.time_since_epoch().count())) {
    if (result.events >= limits_.events_per_run) {
      result.end = RunEnd::kEventLimit;
      return result;
    }
    if (events_this_instant_ >= limits_.events_per_instant) {
      result.end = RunEnd::kStuck;
      return result;
    }
    run_head();
    ++result.events;
  }
  if (has_end) {
    result.end = pending_ == 0 ? RunEnd::kIdle : RunEnd::kTime;
    if (until > now()) clock_.set(until);
  }
  return result;
}

void EventLoop::run_head() {
  const Key key = *head();
  pop_head();
  fetch_ahead();
  const auto index = static_cast<std::uint32_t>(key.order & kSlotMask);
  const Slot& slot = slots_[index];
  PLNET_DEBUG_CHECK(slot.sink != nullptr && pending_ > 0, "a cancelled event does not run");
  EventSink& sink = *slot.sink;
  const std::uint64_t word = slot.word;
  free_slot(index);
  --pending_;

  const Instant at{Duration{key.time}};
  PLNET_DEBUG_CHECK(at >= now(), "time does not go back");
  if (at != now()) events_this_instant_ = 0;
  ++events_this_instant_;
  clock_.set(at);
  ++events_run_;
  note(static_cast<std::uint64_t>(key.time));
  note(key.order ^ word);
  sink.on_event(word);
}

// Most events of one tick are independent, so memory that one waits for is fetched while another
// one runs.
void EventLoop::fetch_ahead() {
  if (fetched_ != kNoSlot) {  // a list can be followed only one step at a time
    fetched_ = slots_[fetched_].next;
    if (fetched_ != kNoSlot) __builtin_prefetch(&slots_[fetched_]);
  }
  const std::size_t left = due_.size() - due_next_;
  const Key* const ahead = due_.data() + due_next_;
  if (left > kSlotAhead) __builtin_prefetch(&slots_[ahead[kSlotAhead].order & kSlotMask]);
  if (left > kSinkAhead) {
    const Slot& slot = slots_[ahead[kSinkAhead].order & kSlotMask];
    if (slot.sink != nullptr) __builtin_prefetch(slot.sink);
  }
  for (unsigned step = 0; step < kStepsAhead.size(); ++step) {
    if (left <= kStepsAhead[step]) continue;
    const Slot& slot = slots_[ahead[kStepsAhead[step]].order & kSlotMask];
    if (slot.sink != nullptr) slot.sink->on_event_soon(slot.word, step);
  }
}

std::uint32_t EventLoop::take_slot() {
  if (first_free_ != kNoSlot) {
    const std::uint32_t index = first_free_;
    first_free_ = slots_[index].next;
    return index;
  }
  PLNET_CHECK(slots_.size() < kSlotMask, "more events are pending than a simulation may have");
  slots_.emplace_back();
  return static_cast<std::uint32_t>(slots_.size() - 1);
}

void EventLoop::free_slot(std::uint32_t index) {
  Slot& slot = slots_[index];
  slot.sink = nullptr;
  ++slot.generation;
  slot.next = first_free_;
  first_free_ = index;
}

void EventLoop::place(std::uint32_t index) {
  Slot& slot = slots_[index];
  const std::uint64_t tick = static_cast<std::uint64_t>(slot.key.time) >> kTickBits;
  if (few_ && tick > tick_ && late_.size() >= kFew) leave_heap();
  if (few_ || tick <= tick_) {
    slot.previous = kDue;
    push_late(slot.key);
    return;
  }
  const auto highest = static_cast<unsigned>(std::bit_width(tick ^ tick_) - 1);
  const unsigned level = highest / kDigitBits;
  const auto digit = static_cast<unsigned>(tick >> (level * kDigitBits) & (kBuckets - 1));
  link(index, level * kBuckets + digit);
}

// There are not few events any more: those of the heap go to their buckets.
void EventLoop::leave_heap() {
  few_ = false;
  tick_ =
      std::max(tick_, static_cast<std::uint64_t>(now().time_since_epoch().count()) >> kTickBits);
  leaving_.swap(late_);
  for (const Key& key : leaving_) {
    const auto index = static_cast<std::uint32_t>(key.order & kSlotMask);
    if (slots_[index].sink == nullptr) {
      free_slot(index);
    } else {
      place(index);
    }
  }
  leaving_.clear();
}

void EventLoop::link(std::uint32_t index, unsigned bucket) {
  Slot& slot = slots_[index];
  slot.previous = kFirst | bucket;
  slot.next = buckets_[bucket];
  if (slot.next != kNoSlot) slots_[slot.next].previous = index;
  buckets_[bucket] = index;
  occupied_[bucket / 64] |= 1ULL << (bucket % 64);
  const unsigned level = bucket / kBuckets;
  words_[level] |= 1U << (bucket % kBuckets / 64);
  levels_ |= 1U << level;
}

void EventLoop::unlink(const Slot& slot) {
  if (slot.next != kNoSlot) slots_[slot.next].previous = slot.previous;
  if ((slot.previous & kFirst) == 0) {
    slots_[slot.previous].next = slot.next;
    return;
  }
  const unsigned bucket = slot.previous & ~kFirst;
  buckets_[bucket] = slot.next;
  if (slot.next == kNoSlot) mark_empty(bucket);
}

void EventLoop::mark_empty(unsigned bucket) {
  occupied_[bucket / 64] &= ~(1ULL << (bucket % 64));
  if (occupied_[bucket / 64] != 0) return;
  const unsigned level = bucket / kBuckets;
  words_[level] &= ~(1U << (bucket % kBuckets / 64));
  if (words_[level] == 0) levels_ &= ~(1U << level);
}

// The bucket with the earliest events; there is one.
unsigned EventLoop::first_bucket() const {
  const auto level = static_cast<unsigned>(std::countr_zero(levels_));
  PLNET_DEBUG_CHECK(levels_ != 0, "some bucket has an event");
  const unsigned word = level * kWords + static_cast<unsigned>(std::countr_zero(words_[level]));
  return word * 64 + static_cast<unsigned>(std::countr_zero(occupied_[word]));
}

std::uint64_t EventLoop::start_of(unsigned bucket) const {
  const unsigned shift = bucket / kBuckets * kDigitBits;
  const std::uint64_t digit = bucket % kBuckets;
  const std::uint64_t above = shift + kDigitBits < 64
                                  ? tick_ >> (shift + kDigitBits) << (shift + kDigitBits)
                                  : std::uint64_t{0};
  return above | digit << shift;
}

// Makes the next events due, unless they are later than `until`: distant events must not be due, or
// events scheduled before them would have to be sorted in.
bool EventLoop::fill_due(std::int64_t until) {
  due_.clear();
  due_next_ = 0;
  while (due_.empty()) {
    if (levels_ == 0) {
      few_ = true;
      return false;
    }
    const unsigned bucket = first_bucket();
    const std::uint64_t start = start_of(bucket);
    if (start > static_cast<std::uint64_t>(until) >> kTickBits) return false;
    tick_ = start;
    std::uint32_t index = buckets_[bucket];
    buckets_[bucket] = kNoSlot;
    mark_empty(bucket);
    while (index != kNoSlot) {
      Slot& slot = slots_[index];
      const std::uint32_t next = slot.next;
      if (next != kNoSlot) __builtin_prefetch(&slots_[next]);
      if (static_cast<std::uint64_t>(slot.key.time) >> kTickBits == tick_) {
        slot.previous = kDue;
        due_.push_back(slot.key);
      } else {
        place(index);
      }
      index = next;
    }
  }
  fetched_ = (levels_ & 1U) != 0 ? buckets_[first_bucket()] : kNoSlot;
  std::ranges::sort(due_, [](const Key& a, const Key& b) { return a.before(b); });
  return true;
}

const EventLoop::Key* EventLoop::head() const {
  const Key* const due = due_next_ < due_.size() ? &due_[due_next_] : nullptr;
  if (late_.empty()) return due;
  return due == nullptr || late_.front().before(*due) ? late_.data() : due;
}

void EventLoop::pop_head() {
  if (head() == late_.data()) {
    pop_late();
  } else {
    ++due_next_;
  }
}

// Whether there is an event up to `until`; head() is that event.
bool EventLoop::find_head(std::int64_t until) {
  for (;;) {
    const Key* const key = head();
    if (key == nullptr) {
      if (!fill_due(until)) return false;
      continue;
    }
    const auto index = static_cast<std::uint32_t>(key->order & kSlotMask);
    if (slots_[index].sink != nullptr) return key->time <= until;
    pop_head();  // cancelled
    free_slot(index);
  }
}

void EventLoop::push_late(const Key& key) {
  std::size_t hole = late_.size();
  late_.push_back(key);
  while (hole > 0) {
    const std::size_t parent = (hole - 1) / kArity;
    if (!key.before(late_[parent])) break;
    late_[hole] = late_[parent];
    hole = parent;
  }
  late_[hole] = key;
}

void EventLoop::pop_late() {
  const Key key = late_.back();
  late_.pop_back();
  if (late_.empty()) return;
  std::size_t hole = 0;
  for (;;) {
    const std::size_t first = hole * kArity + 1;
    if (first >= late_.size()) break;
    const std::size_t end = std::min(first + kArity, late_.size());
    std::size_t least = first;
    for (std::size_t child = first + 1; child < end; ++child) {
      if (late_[child].before(late_[least])) least = child;
    }
    if (!late_[least].before(key)) break;
    late_[hole] = late_[least];
    hole = least;
  }
  late_[hole] = key;
}

}  // namespace plnet::drivers
