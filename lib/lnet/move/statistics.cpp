// SPDX-License-Identifier: BSD-3-Clause
#include "lib/lnet/move/statistics.hpp"

#include "lib/base/check.hpp"

namespace plnet::lnet {

Statistic statistic_of(Health health) {
  switch (health) {
    case Health::kLocalInterrupt: return Statistic::kLocalInterrupt;
    case Health::kLocalDropped: return Statistic::kLocalDropped;
    case Health::kLocalAborted: return Statistic::kLocalAborted;
    case Health::kLocalNoRoute: return Statistic::kLocalNoRoute;
    case Health::kLocalError: return Statistic::kLocalError;
    case Health::kLocalTimeout: return Statistic::kLocalTimeout;
    case Health::kRemoteError: return Statistic::kRemoteError;
    case Health::kRemoteDropped: return Statistic::kRemoteDropped;
    case Health::kRemoteTimeout: return Statistic::kRemoteTimeout;
    case Health::kNetworkTimeout: return Statistic::kNetworkTimeout;
    case Health::kOk: break;
  }
  PLNET_CHECK(false, "success is not counted as a failure");
  return Statistic::kErrors;
}

}  // namespace plnet::lnet
