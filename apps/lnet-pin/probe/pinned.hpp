// SPDX-License-Identifier: BSD-3-Clause
// Runs code on a given CPU.
#pragma once

#include <chrono>
#include <functional>
#include <optional>

namespace plnet::pin {

using Seconds = std::chrono::duration<double>;

[[nodiscard]] inline double now_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// Pins this thread. False: not permitted on that CPU.
[[nodiscard]] bool bind_to_cpu(unsigned cpu);

// On new threads, the second function runs both at once; false: one CPU is not permitted, and
// nothing has run.
[[nodiscard]] bool run_on(unsigned cpu, const std::function<void()>& work);
[[nodiscard]] bool run_on_both(unsigned one, const std::function<void()>& work, unsigned other,
                               const std::function<void()>& other_work);

}  // namespace plnet::pin
