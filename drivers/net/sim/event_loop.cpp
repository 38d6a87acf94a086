// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/net/sim/event_loop.hpp"

#include <algorithm>

namespace plnet::drivers {

EventLoop::EventLoop(std::uint64_t seed, TieBreak tie_break, const LoopLimits& limits)
    : limits_(limits), tie_break_(tie_break), random_(seed) {}

EventId EventLoop::schedule(Instant when, EventSink& sink, std::uint64_t word) {
  const std::uint32_t index = take_slot();
  Slot& slot = slots_[index];
  slot.sink = &sink;
  slot.word = word;
  const std::uint64_t tie = tie_break_ == TieBreak::kDrawn ? random_.next() : sequence_++;
  const Instant at = std::max(when, now());
  push_key({at.time_since_epoch().count(), tie << kSlotBits | index});
  return {index, slot.generation};
}

bool EventLoop::cancel(EventId id) {
  if (id.slot >= slots_.size()) return false;
  Slot& slot = slots_[id.slot];
  if (slot.generation != id.generation || slot.sink == nullptr) return false;
  slot.sink = nullptr;  // the key stays in the heap until it comes up
  ++cancelled_;
  if (cancelled_ > kCompactionMin && cancelled_ > heap_.size() / 2) compact();
  return true;
}

bool EventLoop::step() {
  drop_cancelled_heads();
  if (heap_.empty()) return false;
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
  // Cancelled heads make this early, never late: whoever asks looks again.
  return heap_.empty() ? Instant::max() : Instant{Duration{heap_.front().time}};
}

RunResult EventLoop::run(Instant until, bool has_end) {
  RunResult result;
  events_this_instant_ = 0;
  for (;;) {
    drop_cancelled_heads();
    if (heap_.empty() || heap_.front().time > until.time_since_epoch().count()) {
      if (has_end) {
        result.end = heap_.empty() ? RunEnd::kIdle : RunEnd::kTime;
        if (until > now()) clock_.set(until);
      }
      return result;
    }
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
}

void EventLoop::run_head() {
  const Key head = heap_.front();
  pop_key();
  const auto index = static_cast<std::uint32_t>(head.order & kSlotMask);
  const Slot& slot = slots_[index];
  EventSink& sink = *slot.sink;
  const std::uint64_t word = slot.word;
  free_slot(index);

  const Instant at{Duration{head.time}};
  if (at != now()) events_this_instant_ = 0;
  ++events_this_instant_;
  clock_.set(at);
  ++events_run_;
  note(static_cast<std::uint64_t>(head.time));
  note(head.order ^ word);
  sink.on_event(word);
}

std::uint32_t EventLoop::take_slot() {
  if (first_free_ != kNoSlot) {
    const std::uint32_t index = first_free_;
    first_free_ = slots_[index].next_free;
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
  slot.next_free = first_free_;
  first_free_ = index;
}

void EventLoop::push_key(const Key& key) {
  std::size_t hole = heap_.size();
  heap_.push_back(key);
  while (hole > 0) {
    const std::size_t parent = (hole - 1) / kArity;
    if (!key.before(heap_[parent])) break;
    heap_[hole] = heap_[parent];
    hole = parent;
  }
  heap_[hole] = key;
}

void EventLoop::pop_key() {
  const Key last = heap_.back();
  heap_.pop_back();
  if (!heap_.empty()) sift_down(0, last);
}

void EventLoop::sift_down(std::size_t hole, const Key& key) {
  for (;;) {
    const std::size_t first = hole * kArity + 1;
    if (first >= heap_.size()) break;
    const std::size_t end = std::min(first + kArity, heap_.size());
    std::size_t least = first;
    for (std::size_t child = first + 1; child < end; ++child) {
      if (heap_[child].before(heap_[least])) least = child;
    }
    if (!heap_[least].before(key)) break;
    heap_[hole] = heap_[least];
    hole = least;
  }
  heap_[hole] = key;
}

void EventLoop::drop_cancelled_heads() {
  while (!heap_.empty()) {
    const auto index = static_cast<std::uint32_t>(heap_.front().order & kSlotMask);
    if (slots_[index].sink != nullptr) return;
    pop_key();
    free_slot(index);
    --cancelled_;
  }
}

// Order is total, so the shape of the heap has no bearing on what runs when.
void EventLoop::compact() {
  std::size_t kept = 0;
  for (const Key& key : heap_) {
    const auto index = static_cast<std::uint32_t>(key.order & kSlotMask);
    if (slots_[index].sink == nullptr) {
      free_slot(index);
    } else {
      heap_[kept++] = key;
    }
  }
  heap_.resize(kept);
  cancelled_ = 0;
  for (std::size_t i = kept; i-- > 0;) {
    const Key key = heap_[i];
    sift_down(i, key);
  }
}

}  // namespace plnet::drivers
