// SPDX-License-Identifier: BSD-3-Clause
#include "lib/base/timer_wheel.hpp"

#include <bit>

#include "lib/base/check.hpp"

namespace plnet {

TimerWheel::TimerWheel(Instant start, Duration tick)
    : start_ns_(start.time_since_epoch().count()), tick_(tick.count()) {
  PLNET_CHECK(tick >= kTickMin, "a tick is at least kTickMin");
  PLNET_CHECK(start_ns_ >= 0, "clocks start at zero or after it");
}

void TimerWheel::start(Timer& timer, Instant deadline) {
  timer.deadline_ = deadline;
  const std::uint64_t ticks = tick_of(deadline);
  const std::uint64_t expires = ticks > now_ ? ticks : now_ + 1;
  if (timer.linked()) {
    // Restarted for the same tick, as when one operation follows another: the timer is already in
    // the right list.
    if (timer.expires_ == expires && timer.place_ != kNoSlot) return;
    leave_slot(timer);
  } else {
    ++running_;
  }
  timer.expires_ = expires;
  place(timer);
}

// The first tick that is not before the deadline. Most deadlines are as far away as the previous
// one: the same tick, without a division.
std::uint64_t TimerWheel::tick_of(Instant deadline) {
  const std::int64_t deadline_ns = deadline.time_since_epoch().count();
  if (deadline_ns <= start_ns_) return 0;
  const auto after = static_cast<std::uint64_t>(deadline_ns - start_ns_);
  const auto tick = static_cast<std::uint64_t>(tick_);
  if (last_end_ - after >=
      tick) {  // before the beginning of its tick, or, wrapped around, after its end
    last_ticks_ = after / tick + (after % tick != 0 ? 1 : 0);
    last_end_ = last_ticks_ * tick;
  }
  return last_ticks_;
}

bool TimerWheel::cancel(Timer& timer) {
  if (!timer.linked()) return false;
  leave_slot(timer);
  --running_;
  return true;
}

void TimerWheel::place(Timer& timer) {
  const std::uint64_t difference = timer.expires_ ^ now_;
  if (difference == 0) {
    timer.place_ = kNoSlot;
    due_.push_back(timer);
    return;
  }
  const unsigned level = (static_cast<unsigned>(std::bit_width(difference)) - 1) / kDigitBits;
  const auto slot = static_cast<unsigned>(timer.expires_ >> (level * kDigitBits)) % kSlots;
  timer.place_ = static_cast<std::uint16_t>(level * kSlots + slot);
  occupied_[level] |= std::uint64_t{1} << slot;
  slots_[timer.place_].push_back(timer);
}

void TimerWheel::leave_slot(Timer& timer) {
  timer.unlink();
  if (timer.place_ == kNoSlot || !slots_[timer.place_].empty()) return;
  occupied_[timer.place_ / kSlots] &= ~(std::uint64_t{1} << (timer.place_ % kSlots));
}

TimerWheel::NextSlot TimerWheel::next_slot() const {
  for (unsigned level = 0; level < kLevels; ++level) {
    if (occupied_[level] == 0) continue;
    // All timers of this level lie after the current digit and before the next higher level.
    const auto slot = static_cast<unsigned>(std::countr_zero(occupied_[level]));
    const unsigned shift = level * kDigitBits;
    const std::uint64_t above =
        shift + kDigitBits < 64 ? now_ >> (shift + kDigitBits) << (shift + kDigitBits) : 0;
    return {level, slot, above | (std::uint64_t{slot} << shift)};
  }
  return {};
}

unsigned TimerWheel::advance(Instant now, unsigned budget) {
  const std::int64_t now_ns = now.time_since_epoch().count();
  const std::uint64_t target =
      now_ns > start_ns_ ? static_cast<std::uint64_t>((now_ns - start_ns_) / tick_) : 0;
  unsigned done = 0;
  while (done < budget) {
    if (Timer* timer = due_.pop_front(); timer != nullptr) {
      --running_;
      ++done;
      timer->callback_(timer->context_, *timer, now);
      continue;
    }
    if (Timer* timer = falling_.pop_front(); timer != nullptr) {
      ++done;
      place(*timer);
      continue;
    }
    const NextSlot next = next_slot();
    if (next.level == kLevels || next.tick > target) {
      if (target > now_) now_ = target;
      break;
    }
    now_ = next.tick;
    List& slot = slots_[std::size_t{next.level} * kSlots + next.slot];
    occupied_[next.level] &= ~(std::uint64_t{1} << next.slot);
    List& into = next.level == 0 ? due_ : falling_;
    slot.for_each([](Timer& timer) { timer.place_ = kNoSlot; });
    into.splice_back(slot);
  }
  return done;
}

Instant TimerWheel::instant_of(std::uint64_t tick) const {
  const auto room = static_cast<std::uint64_t>(Duration::max().count() - start_ns_);
  if (tick > room / static_cast<std::uint64_t>(tick_)) return Instant::max();
  return Instant(Duration(start_ns_ + static_cast<std::int64_t>(tick) * tick_));
}

Instant TimerWheel::next_deadline() const {
  if (!due_.empty() || !falling_.empty()) return instant_of(now_);
  const NextSlot next = next_slot();
  return next.level == kLevels ? Instant::max() : instant_of(next.tick);
}

}  // namespace plnet
