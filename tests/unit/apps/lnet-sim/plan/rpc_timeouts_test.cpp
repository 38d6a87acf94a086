// SPDX-License-Identifier: BSD-3-Clause
#include "apps/lnet-sim/plan/rpc_timeouts.hpp"

#include <gtest/gtest.h>

namespace plnet::sim::rpc_timeouts_test {
namespace {

using std::chrono::seconds;

TEST(RpcTimeouts, TheDefaultsAreLustres) {
  const RpcTimeouts lustre;
  EXPECT_EQ(lustre.of_request(), seconds(16));  // 5 + 1 + 5, and 5 of the network
  EXPECT_EQ(lustre.between_connects(), seconds(25));
}

TEST(RpcTimeouts, EachAttemptToConnectTakesLongerUpToALimit) {
  const RpcTimeouts lustre;
  EXPECT_EQ(lustre.of_connect(1), seconds(10));
  EXPECT_EQ(lustre.of_connect(2), seconds(15));
  EXPECT_EQ(lustre.of_connect(10), seconds(55));
  EXPECT_EQ(lustre.of_connect(100), seconds(55));
}

TEST(RpcTimeouts, FollowTheParameters) {
  EXPECT_EQ((RpcTimeouts{.at_min_s = 0}.of_request()), seconds(7));
  EXPECT_EQ((RpcTimeouts{.at_min_s = 40}.of_request()), seconds(95));
  const RpcTimeouts slow{.obd_timeout_s = 300};
  EXPECT_EQ(slow.of_connect(1), seconds(20));
  EXPECT_EQ(slow.between_connects(), seconds(75));
}

}  // namespace
}  // namespace plnet::sim::rpc_timeouts_test
