// SPDX-License-Identifier: BSD-3-Clause
#include "lib/runtime/poll/poller_counters.hpp"

namespace plnet::runtime {

double duty_cycle(const PollerCounters& counters) {
  const auto busy = static_cast<double>(counters.get(PollerCounter::kBusyNsec));
  const auto idle = static_cast<double>(counters.get(PollerCounter::kIdleNsec));
  const auto asleep = static_cast<double>(counters.get(PollerCounter::kAsleepNsec));
  const double total = busy + idle + asleep;
  return total > 0 ? busy / total : 0;
}

double cycles_per_message(const PollerCounters& counters, double cycles_per_second) {
  const auto messages = static_cast<double>(counters.get(PollerCounter::kMessages));
  const auto busy = static_cast<double>(counters.get(PollerCounter::kBusyNsec));
  return messages > 0 ? busy * cycles_per_second / 1e9 / messages : 0;
}

}  // namespace plnet::runtime
