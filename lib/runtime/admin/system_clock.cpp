// SPDX-License-Identifier: BSD-3-Clause
#include "lib/runtime/admin/system_clock.hpp"

namespace plnet::runtime {

Instant SystemClock::now() const {
  return Instant{
      std::chrono::duration_cast<Duration>(std::chrono::steady_clock::now().time_since_epoch())};
}

WallTime SystemWallClock::now() const {
  return std::chrono::system_clock::now();
}

}  // namespace plnet::runtime
