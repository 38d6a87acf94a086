// SPDX-License-Identifier: BSD-3-Clause
// Code on a CPU of one's choice, timed.
#pragma once

#include <chrono>
#include <functional>
#include <optional>

namespace plnet::pin {

using Seconds = std::chrono::duration<double>;

[[nodiscard]] inline double now_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// This thread, from here on. False: it may not run there.
[[nodiscard]] bool bind_to_cpu(unsigned cpu);

// On threads of their own, both at once; false: one of them may not run there, and neither has.
[[nodiscard]] bool run_on(unsigned cpu, const std::function<void()>& work);
[[nodiscard]] bool run_on_both(unsigned one, const std::function<void()>& work, unsigned other,
                               const std::function<void()>& other_work);

}  // namespace plnet::pin
