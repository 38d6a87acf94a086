// SPDX-License-Identifier: BSD-3-Clause
// Pins measuring threads.
#pragma once

#include <pthread.h>
#include <sched.h>

namespace plnet::baseline {

// Pins the calling thread; false: not permitted.
[[nodiscard]] inline bool move_to_cpu(unsigned cpu) {
  if (cpu >= CPU_SETSIZE) return false;
  cpu_set_t only;
  CPU_ZERO(&only);
  CPU_SET(cpu, &only);
  return pthread_setaffinity_np(pthread_self(), sizeof only, &only) == 0;
}

}  // namespace plnet::baseline
