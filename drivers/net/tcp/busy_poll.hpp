// SPDX-License-Identifier: BSD-3-Clause
// On NICs with deferred interrupts the system can poll the queue of the device on behalf of a
// socket that is read, instead of being interrupted (SO_BUSY_POLL and related options). More of it
// than the system's default needs CAP_NET_ADMIN.
#pragma once

#include <string>

namespace plnet::drivers {

struct BusyPoll {
  unsigned usec = 0;    // the longest poll in one read; 0: all options stay as they are
  unsigned budget = 0;  // packets taken in one poll; 0: the system's default, 8

  [[nodiscard]] bool wanted() const { return usec > 0; }
};

// False: the system refused a part, and errno is the cause.
[[nodiscard]] bool ask_for_busy_poll(int descriptor, const BusyPoll& wanted);

// The error text of the system, from a trial on a spare socket; "": the system accepts it.
[[nodiscard]] std::string busy_poll_refusal(const BusyPoll& wanted);

}  // namespace plnet::drivers
