// SPDX-License-Identifier: BSD-3-Clause
// An object that a poller calls in its loop: a device, timers, mailboxes, the core.
#pragma once

#include <string_view>

#include "lib/base/clock.hpp"

namespace plnet {

class Pollable {
 public:
  virtual ~Pollable() = default;

  // Hot. Called by the owning shard once a turn; never blocks, never waits for another shard. Does
  // a bounded burst of work and returns the number of pieces; 0 allows the shard to idle.
  virtual unsigned poll(Instant now) = 0;

  // Cold. A short noun for lnetctl and logs; lives as long as the object.
  [[nodiscard]] virtual std::string_view name() const = 0;

  // The following three functions matter only to a shard whose idle policy is `sleep`; its owner
  // calls them.

  // A descriptor that turns readable when poll() would find work, or -1: the device must be polled,
  // and a shard that owns one naps for a bounded time instead of sleeping until woken.
  [[nodiscard]] virtual int wake_descriptor() const { return -1; }
  // True if work arrives only through a ring with the shard's doorbell or through a timer, so that
  // sleeping needs no descriptor.
  [[nodiscard]] virtual bool woken_by_doorbell() const { return false; }
  // The next moment at which poll() has work of its own (a timer), or Instant::max().
  [[nodiscard]] virtual Instant next_deadline() const { return Instant::max(); }
};

}  // namespace plnet
