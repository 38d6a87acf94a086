// SPDX-License-Identifier: BSD-3-Clause
#include "lib/lnet/move/sender.hpp"

namespace plnet::lnet {

void Sender::deliver(Message& message) {
  switch (message.step) {
    case ParcelStep::kWaitOver: return launcher.wait_over(message);
    case ParcelStep::kToHome: return hops.at_home(message);
    case ParcelStep::kToLane: return lanes.at_lane(message);
    case ParcelStep::kSent: return lanes.back_from_lane(message);
    case ParcelStep::kEnded: return ends.end(message);
    default: PLNET_CHECK(false, "not a step of a message");
  }
}

}  // namespace plnet::lnet
