// SPDX-License-Identifier: BSD-3-Clause
#include "lib/runtime/poll/sleeper.hpp"

#include <algorithm>
#include <cerrno>

#include <time.h>

#include "lib/base/check.hpp"

namespace plnet::runtime {

SleepPlan plan_sleep(const EventDoorbell& doorbell, std::span<Pollable* const> pollables) {
  PLNET_CHECK(pollables.size() < SleepPlan::kDescriptorsMax, "a poller's list is bounded");
  SleepPlan plan;
  plan.descriptors[plan.count++] = {.fd = doorbell.descriptor(), .events = POLLIN, .revents = 0};
  for (const Pollable* pollable : pollables) {
    plan.deadline = std::min(plan.deadline, pollable->next_deadline());
    const int descriptor = pollable->wake_descriptor();
    if (descriptor >= 0) {
      plan.descriptors[plan.count++] = {.fd = descriptor, .events = POLLIN, .revents = 0};
    } else if (!pollable->woken_by_doorbell()) {
      plan.must_nap = true;
    }
  }
  return plan;
}

WakeCause sleep_until_woken(SleepPlan& plan, Duration longest) {
  timespec timeout{};
  if (longest != Duration::max()) {
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(longest);
    timeout = {.tv_sec = seconds.count(), .tv_nsec = (longest - seconds).count()};
  }
  const int ready = ::ppoll(plan.descriptors.data(), plan.count,
                            longest == Duration::max() ? nullptr : &timeout, nullptr);
  if (ready < 0) {
    PLNET_CHECK(errno == EINTR || errno == ENOMEM, "ppoll() is called with valid descriptors");
    return WakeCause::kSignal;
  }
  if (ready == 0) return WakeCause::kTimer;
  return plan.descriptors[0].revents != 0 ? WakeCause::kDoorbell : WakeCause::kDescriptor;
}

}  // namespace plnet::runtime
