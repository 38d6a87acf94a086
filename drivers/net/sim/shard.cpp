// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/net/sim/shard.hpp"

#include <algorithm>

#include "drivers/net/sim/dice.hpp"

namespace plnet::drivers {

SimShard::SimShard(SimNetwork& network, HostId host, const ShardShape& shape, std::uint64_t seed,
                   std::uint64_t label)
    : Doorbell(FencedBy::kSleeper),  // all of a simulation is one thread
      loop_(network.loop()),
      host_(host),
      shape_(shape),
      random_(Random(seed + label).fork("shard")) {
  arm_for_good();  // a ring during a turn requests another one
}

SimShard::~SimShard() {
  loop_.cancel(turn_);
}

void SimShard::add(Pollable& pollable) {
  pollables_.push_back(&pollable);
  wake();
}

void SimShard::set_running(bool running) {
  running_ = running;
  if (running) {
    wake();
  } else {
    loop_.cancel(turn_);
    turn_at_ = Instant::max();
  }
}

void SimShard::wake() {
  if (!running_) return;
  const Instant soonest = std::max(loop_.now(), busy_until_);
  if (turn_at_ <= soonest + shape_.turn_min) return;
  schedule_turn(soonest + turn_time());
}

void SimShard::schedule_turn(Instant when) {
  if (turn_at_ <= when) return;
  loop_.cancel(turn_);
  turn_at_ = when;
  turn_ = loop_.schedule(when, *this, 0);
}

Duration SimShard::turn_time() {
  Duration time = shape_.turn_min + drawn_within(random_, shape_.turn_spread);
  if (happens(random_, shape_.stall)) time += drawn_within(random_, shape_.stall_max);
  return time;
}

void SimShard::on_event_soon(std::uint64_t /*word*/, unsigned step) const {
  if (step == 0) {
    __builtin_prefetch(&pollables_);
    __builtin_prefetch(&random_);
  } else if (!pollables_.empty()) {
    if (step == 1) __builtin_prefetch(static_cast<const void*>(pollables_.data()));
    if (step == 2) {
      for (const Pollable* pollable : pollables_)
        __builtin_prefetch(pollable);
    }
  }
}

void SimShard::on_event(std::uint64_t /*word*/) {
  turn_at_ = Instant::max();
  const Instant now = loop_.now();
  busy_until_ = now + turn_time();
  unsigned work = 0;
  Instant deadline = Instant::max();
  for (Pollable* pollable : pollables_)
    work += pollable->poll(now);
  for (const Pollable* pollable : pollables_)
    deadline = std::min(deadline, pollable->next_deadline());
  vain_turns_ = work == 0 && deadline <= now ? vain_turns_ + 1 : 0;
  vain_turns_max_ = std::max(vain_turns_max_, vain_turns_);
  if (work > 0) {
    schedule_turn(busy_until_);
  } else if (deadline != Instant::max()) {
    schedule_turn(std::max(deadline, busy_until_));
  }
}

}  // namespace plnet::drivers
