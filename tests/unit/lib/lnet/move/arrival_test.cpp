// SPDX-License-Identifier: BSD-3-Clause
// What is decided of a message by the way it came.
#include <gtest/gtest.h>

#include "tests/unit/lib/lnet/move/held_lnd.hpp"

namespace plnet::lnet {
namespace {

struct Deaf final : EventHandler {
  void on_event(const Event& /*event*/) override {}
};

RxDecision offer_from_elsewhere(HeldNode& rig, RxHandle rx) {
  MessageHeader header{.destination = HeldNode::nid(1),
                       .source = Nid::of(NetType::kO2ib, 0, 9),
                       .type = MessageType::kPut};
  header.set_area(PutArea{.match_bits = 1, .portal = 5});
  return rig.port().on_header({.header = header, .from = HeldNode::nid(2), .rx = rx});
}

TEST(Arrival, ThroughAGatewayThatIsNoneOfOursIsDroppedIfAsked) {
  HeldNode rig({});
  rig.node.add_peer(HeldNode::nid(2), ShardId{0});
  rig.node.shared().parameters.drop_asym_route.set(1);
  Deaf handler;
  (void)rig.attach(handler);
  EXPECT_EQ(offer_from_elsewhere(rig, {1, 1}).verdict, RxVerdict::kDrop);
  EXPECT_EQ(rig.cause(Cause::kDroppedAsymRoute), 1U);
  EXPECT_EQ(rig.statistic(Statistic::kDropCount), 1U);
}

TEST(Arrival, ThroughAnyGatewayIsWelcomeOtherwise) {
  HeldNode rig({});
  rig.node.add_peer(HeldNode::nid(2), ShardId{0});
  Deaf handler;
  (void)rig.attach(handler);
  EXPECT_EQ(offer_from_elsewhere(rig, {1, 1}).verdict, RxVerdict::kReceive);
  rig.port().on_received({1, 1}, {}, Health::kOk);
  EXPECT_EQ(rig.cause(Cause::kDroppedAsymRoute), 0U);
}

}  // namespace
}  // namespace plnet::lnet
