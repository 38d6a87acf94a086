// SPDX-License-Identifier: BSD-3-Clause
// Threads that measure stay where they are.
#pragma once

#include <pthread.h>
#include <sched.h>

namespace plnet::baseline {

// The calling thread; false: it may not.
[[nodiscard]] inline bool move_to_cpu(unsigned cpu) {
  if (cpu >= CPU_SETSIZE) return false;
  cpu_set_t only;
  CPU_ZERO(&only);
  CPU_SET(cpu, &only);
  return pthread_setaffinity_np(pthread_self(), sizeof only, &only) == 0;
}

}  // namespace plnet::baseline
