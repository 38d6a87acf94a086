// SPDX-License-Identifier: BSD-3-Clause
#include "apps/lnet-pin/probe/pinned.hpp"

#include <atomic>
#include <thread>

#include <sched.h>

namespace plnet::pin {

bool bind_to_cpu(unsigned cpu) {
  if (cpu >= CPU_SETSIZE) return false;
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(cpu, &set);
  return ::sched_setaffinity(0, sizeof set, &set) == 0;
}

bool run_on(unsigned cpu, const std::function<void()>& work) {
  bool bound = false;
  std::thread([&] {
    bound = bind_to_cpu(cpu);
    if (bound) work();
  }).join();
  return bound;
}

bool run_on_both(unsigned one, const std::function<void()>& work, unsigned other,
                 const std::function<void()>& other_work) {
  std::atomic<int> ready{0};
  std::atomic<bool> failed{false};
  const auto body = [&](unsigned cpu, const std::function<void()>& mine) {
    if (!bind_to_cpu(cpu)) failed = true;
    ready.fetch_add(1);
    while (ready.load() < 2)
      std::this_thread::yield();
    if (!failed) mine();
  };
  std::thread second([&] { body(other, other_work); });
  std::thread first([&] { body(one, work); });
  first.join();
  second.join();
  return !failed;
}

}  // namespace plnet::pin
