// SPDX-License-Identifier: BSD-3-Clause
// The doorbell of a thread that sleeps in the kernel: an eventfd, for ppoll() or epoll. Where the
// kernel offers membarrier() the sleeper fences for all, and ringing costs a load.
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

  // Whether the descriptor could be made (the limit on open files may forbid it); check at start.
  [[nodiscard]] Outcome<void> ready() const;

  // Readable once rung; belongs to the doorbell.
  [[nodiscard]] int descriptor() const { return descriptor_; }

  // Sleeper, awake again: forgets the rings so far. A ring that comes later stays, and costs one
  // empty look.
  void clear();

 protected:
  void wake() override;
  [[nodiscard]] bool heavy_fence() override;

 private:
  int descriptor_ = -1;
};

}  // namespace plnet::runtime
