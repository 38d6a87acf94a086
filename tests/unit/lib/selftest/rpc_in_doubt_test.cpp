// SPDX-License-Identifier: BSD-3-Clause
// Requests that were sent and may not have arrived, because an NI on their path failed since then.
#include <gtest/gtest.h>

#include "tests/unit/lib/selftest/rpc_fixture.hpp"

namespace plnet::selftest::rpc_in_doubt_test {
namespace {

using std::chrono::milliseconds;

class RpcInDoubt : public RpcTest {
 protected:
  void wait(Duration time) {
    for (Duration passed{}; passed < time; passed += milliseconds(50))
      turn(milliseconds(50));
  }
  // A request that the server has received and does not answer yet.
  void hold() {
    server.responder.open();
    server.serve = Serve::kHold;
    ping(1);
    settle();
    ASSERT_EQ(server.held.size(), 1U);
  }
  [[nodiscard]] lnet::Ni& own() { return nodes.node(0).ni(1); }
  [[nodiscard]] lnet::PeerNi& peer() { return *nodes.node(0).directory().find(nodes.nid(1)); }
  void expect_ended() {
    ASSERT_EQ(outcomes.size(), 1U);
    EXPECT_EQ(outcomes[0].error(), Errc::kNetworkDown);
    EXPECT_EQ(statistics.get(RpcCount::kInDoubt), 1U);
    EXPECT_EQ(statistics.get(RpcCount::kExpired), 0U);
  }
  void expect_answer() {
    server.answer(*server.held.front());
    settle();
    ASSERT_EQ(outcomes.size(), 1U);
    EXPECT_TRUE(outcomes[0].has_value());
    expect_clean();
  }
};

TEST_P(RpcInDoubt, ARequestThatLeftByAFailedNiEnds) {
  hold();
  wait(milliseconds(5000));
  EXPECT_TRUE(outcomes.empty()) << "a slow server is waited for";
  own().fatal.set(true);
  wait(milliseconds(500));
  EXPECT_TRUE(outcomes.empty()) << "it may be back at once";
  wait(milliseconds(1250));
  expect_ended();
}

TEST_P(RpcInDoubt, ARequestWithItsNiBackAtOnceIsAnswered) {
  hold();
  for (unsigned i = 0; i < 5; ++i) {
    own().fatal.set(true);
    wait(milliseconds(750));
    own().fatal.set(false);
    wait(milliseconds(750));
  }
  expect_answer();
}

TEST_P(RpcInDoubt, ARequestToAPeerNiMarkedDownEnds) {
  hold();
  peer().status.set(lnet::kNiDown);
  wait(milliseconds(1750));
  expect_ended();
}

TEST_P(RpcInDoubt, ARequestToAnUnreachablePeerNiEnds) {
  hold();
  (void)peer().reach.exchange(Errc::kTimedOut);
  wait(milliseconds(1750));
  expect_ended();
}

INSTANTIATE_TEST_SUITE_P(Wires, RpcInDoubt, testing::Values(Wire::kStream, Wire::kRdma),
                         [](const auto& wire) {
                           return wire.param == Wire::kStream ? "stream" : "rdma";
                         });

}  // namespace
}  // namespace plnet::selftest::rpc_in_doubt_test
