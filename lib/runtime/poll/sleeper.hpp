// SPDX-License-Identifier: BSD-3-Clause
// The kernel side of the `sleep` policy: one wait for a shard's doorbell and its devices, bounded
// by the next deadline.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include <poll.h>

#include "lib/base/clock.hpp"
#include "lib/base/pollable.hpp"
#include "lib/runtime/poll/event_doorbell.hpp"

namespace plnet::runtime {

// The descriptors that a shard may wait for now.
struct SleepPlan {
  static constexpr std::size_t kDescriptorsMax = 65;  // the doorbell and one per pollable

  std::array<pollfd, kDescriptorsMax> descriptors{};
  std::size_t count = 0;
  Instant deadline = Instant::max();
  bool must_nap = false;  // a pollable has neither descriptor nor doorbell: poll again soon
};

enum class WakeCause : std::uint8_t { kTimer, kDoorbell, kDescriptor, kSignal };

// Collects the needs of every pollable. The doorbell is first in the plan.
[[nodiscard]] SleepPlan plan_sleep(const EventDoorbell& doorbell,
                                   std::span<Pollable* const> pollables);

// Waits for at most `longest`; Duration::max() waits for ever. The doorbell takes precedence if it
// and a device are ready together. The caller has armed the doorbell and looked once more for work.
[[nodiscard]] WakeCause sleep_until_woken(SleepPlan& plan, Duration longest);

}  // namespace plnet::runtime
