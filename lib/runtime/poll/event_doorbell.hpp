// SPDX-License-Identifier: BSD-3-Clause
// The doorbell of a thread that sleeps in the kernel: an eventfd, for ppoll() or epoll. Where the
// kernel offers membarrier(), the sleeper fences for both sides, and ringing costs one load.
#pragma once

#include "lib/base/doorbell.hpp"
#include "lib/base/result.hpp"

namespace plnet::runtime {

class EventDoorbell final : public Doorbell {
 public:
  EventDoorbell();
  ~EventDoorbell() override;
  EventDoorbell(const EventDoorbell&) = delete;
  EventDoorbell& operator=(const EventDoorbell&) = delete;

  // The descriptor exists (the limit on open files may forbid it); check at start.
  [[nodiscard]] Outcome<void> ready() const;

  // Readable once rung; belongs to the doorbell.
  [[nodiscard]] int descriptor() const { return descriptor_; }

  // Sleeper, after waking: clears the rings so far. A later ring stays and costs one empty check.
  void clear();

 protected:
  void wake() override;
  [[nodiscard]] bool heavy_fence() override;

 private:
  int descriptor_ = -1;
};

}  // namespace plnet::runtime
