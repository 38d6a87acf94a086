// SPDX-License-Identifier: BSD-3-Clause
// What a poller calls in its loop: devices, timers, mailboxes, the core itself.
#pragma once

#include <string_view>

#include "lib/base/clock.hpp"

namespace plnet {

class Pollable {
 public:
  virtual ~Pollable() = default;

  // Hot. Called by the owning shard once a turn; never blocks, never waits for another shard. Does
  // a bounded burst of work and returns how many pieces; 0 says that the shard may think about
  // idling.
  virtual unsigned poll(Instant now) = 0;

  // Cold. A short noun for lnetctl and logs; lives as long as the object.
  [[nodiscard]] virtual std::string_view name() const = 0;

  // The three that follow matter only to a shard whose idle policy is `sleep`; called by its owner.

  // A descriptor that turns readable when poll() would find work, or -1: such a device must be
  // polled, and a shard that owns one naps for a bounded time instead of sleeping until woken.
  [[nodiscard]] virtual int wake_descriptor() const { return -1; }
  // True if work only ever comes through a ring with the shard's doorbell or through a timer, so
  // that no descriptor is needed to sleep soundly.
  [[nodiscard]] virtual bool woken_by_doorbell() const { return false; }
  // The next moment at which poll() has something to do by itself (a timer), or Instant::max().
  [[nodiscard]] virtual Instant next_deadline() const { return Instant::max(); }
};

}  // namespace plnet
