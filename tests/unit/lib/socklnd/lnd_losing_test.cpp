// SPDX-License-Identifier: BSD-3-Clause
// Messages to a peer, and notifications, when connections to it are lost.
#include <gtest/gtest.h>

#include "tests/unit/lib/socklnd/keeping_site.hpp"

namespace plnet::socklnd::lnd_losing_test {
namespace {

class Losing : public KeepingSite {
 protected:
  // Another process on the node `sender`, with another pid.
  std::uint32_t arrive_as(std::uint32_t pid) {
    Arrival arrival{.local = near_nid, .peer = {sender, pid}, .type = ConnectionType::kAny};
    arrival.hello = {.protocol = Protocol::kV3, .source = sender, .source_incarnation = 7};
    near->accept(arrival);
    flush();
    return static_cast<std::uint32_t>(driver.streams.size() - 1);
  }
  void bind() {
    lnet::Transmit* const transmit = &core.make_forward(0, sender_link).transmit;
    transmit->kept = false;
    transmit->header.payload_length = 0;
    transmit->source = {};
    EXPECT_EQ(near->send({&transmit, 1}), 1U);
  }
  void hear_one() {
    core.may_keep = false;
    from = arrive(*near, ConnectionType::kBulkIn);
    driver.bring(from, message(0, 300));
    turn();
    ASSERT_EQ(core.in[0].received, 1U);
  }
};

// All connections of a peer end with the first one, in the next turn. Data that they accepted until
// then would be lost although it was reported as sent.
TEST_F(Losing, ASiblingThatGoesTooTakesNothingMore) {
  hear_one();
  const std::uint32_t first = arrive(*far, ConnectionType::kBulkOut);
  const std::uint32_t second = arrive(*far, ConnectionType::kControl);
  driver.end(first, Errc::kReset);
  const auto& made = forward(0);
  EXPECT_EQ(made.ended, 0U);
  flush();
  EXPECT_TRUE(driver.at(second).closing);
  EXPECT_TRUE(driver.at(second).written.empty());
  EXPECT_EQ(made.ended, 0U) << "it waits for a new one";
  driver.report_closed();
}

TEST_F(Losing, ANidIsReleasedBehindTheLastOfItsProcesses) {
  hear_one();
  (void)arrive(*near, ConnectionType::kControl);
  bind();
  turn();
  (void)arrive_as(lnet::kLustrePid + 1);  // not bound to the link
  near->release_peer(sender_link);
  flush();
  const std::size_t before = driver.streams.size();
  driver.report_closed();
  flush();
  flush();
  EXPECT_EQ(core.released, 1U);
  EXPECT_TRUE(near->idle());
  EXPECT_EQ(driver.streams.size(), before);
}

TEST_F(Losing, APeerWithAWaitingFirstMessageIsReleasedWithItsConnections) {
  core.may_keep = false;
  core.park = true;
  from = arrive(*near, ConnectionType::kBulkIn);
  driver.bring(from, message(0, 300));
  near->release_peer(sender_link);
  EXPECT_EQ(core.released, 1U);
  flush();
  EXPECT_TRUE(driver.at(from).closing);
  near->resume(core.in[0].rx, core.decision_of(0));
  driver.report_closed();
  turn();
}

}  // namespace
}  // namespace plnet::socklnd::lnd_losing_test
