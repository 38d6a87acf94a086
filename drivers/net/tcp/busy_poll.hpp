// SPDX-License-Identifier: BSD-3-Clause
// On NICs whose interrupts are deferred the system may poll the device's queue on behalf of a
// socket that is read, instead of being interrupted (SO_BUSY_POLL and its kin). Asking for more
// than the system gives anyway takes CAP_NET_ADMIN.
#pragma once

#include <string>

namespace plnet::drivers {

struct BusyPoll {
  unsigned usec = 0;    // how long it may poll in one read; 0: leave all of it alone
  unsigned budget = 0;  // packets taken in one go; 0: leave the system's, 8

  [[nodiscard]] bool wanted() const { return usec > 0; }
};

// False: the system refused some of it, errno says why.
[[nodiscard]] bool ask_for_busy_poll(int descriptor, const BusyPoll& wanted);

// What the system says to it, tried on a socket of no use otherwise; "" if it has nothing to say.
[[nodiscard]] std::string busy_poll_refusal(const BusyPoll& wanted);

}  // namespace plnet::drivers
