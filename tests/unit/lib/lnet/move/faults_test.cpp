// SPDX-License-Identifier: BSD-3-Clause
// Fault rules on the message path: affected messages end as the rule says and are counted; delayed
// messages continue when their time has come or when their rule is gone.
#include <atomic>

#include <gtest/gtest.h>

#include "lib/lnet/move/fault_gate.hpp"
#include "tests/unit/lib/lnet/move/held_lnd.hpp"

namespace plnet::lnet::faults_test {
namespace {

constexpr std::uint32_t kTypePut = 1U << static_cast<unsigned>(MessageType::kPut);

struct Deaf final : EventHandler {
  void on_event(const Event& /*event*/) override {}
};

class FaultRules : public testing::TestWithParam<Wire> {
 protected:
  FaultRules() {
    (void)site.know(0, 1, 0);
    (void)site.know(1, 0, 0);
    site.fill(ours, 3);
    md = site.bind(0, 0, ours, sender);
    (void)site.attach(1, 0, {.portal = 5, .match_bits = 1}, theirs, target,
                      kMdPut | kMdManageRemote);
  }

  void rule(unsigned node, FaultSpec spec) {
    ASSERT_TRUE(site.node(node).faults().add(spec, site.now()).has_value());
    site.node(node).publish_faults();
  }
  void no_rules(unsigned node) {
    for (const FaultKind kind : {FaultKind::kDrop, FaultKind::kDelay})
      (void)site.node(node).faults().remove(kind, Nid::any(), Nid::any());
    site.node(node).publish_faults();
  }
  Result<void> put(bool ack = true) {
    const auto put = site.shard(0, 0).put(
        md, {.target = {site.nid(1)}, .portal = 5, .match_bits = 1, .ack = ack});
    site.settle();
    return put;
  }

  Site site{{.wire = GetParam()}};
  Recorder sender, target;
  const Buffer& ours = site.buffer(100);
  const Buffer& theirs = site.buffer(100);
  MdHandle md;
};

INSTANTIATE_TEST_SUITE_P(Wires, FaultRules, testing::Values(Wire::kStream, Wire::kRdma));

TEST_P(FaultRules, DropArrivingMessages) {
  rule(1, {.source = site.nid(0), .types = kTypePut, .rate = 1});
  ASSERT_TRUE(put().has_value());
  EXPECT_TRUE(sender.only(EventKind::kSend).status.has_value()) << "it was sent";
  EXPECT_TRUE(target.events.empty());
  EXPECT_EQ(site.sum(1, Cause::kDroppedFaultRule), 1U);
  EXPECT_EQ(site.sum(1, Statistic::kDropCount), 1U);
  EXPECT_EQ(site.sum(1, Statistic::kDropLength), 100U);
  EXPECT_EQ(site.traffic(1, LnetTraffic::Id::kDroppedPut), 1U);
  no_rules(1);
  ASSERT_TRUE(put().has_value());
  EXPECT_EQ(target.count(EventKind::kPut), 1U);
  EXPECT_EQ(sender.count(EventKind::kAck), 1U);
  site.expect_conserved();
}

TEST_P(FaultRules, FailSentMessages) {
  rule(0, {.rate = 1, .health_errors = 1U << static_cast<unsigned>(Health::kLocalDropped)});
  ASSERT_TRUE(put().has_value());
  const Event sent = sender.only(EventKind::kSend);
  ASSERT_FALSE(sent.status.has_value());
  EXPECT_EQ(sent.status.error(), Errc::kInvalid);
  EXPECT_EQ(site.sum(0, Cause::kTxFaultRule), 1U);
  EXPECT_EQ(site.sum(0, Statistic::kLocalDropped), 1U);
  EXPECT_LT(site.node(0).ni(1).health.get(), kHealthMax);
  EXPECT_TRUE(target.events.empty());
  site.expect_conserved();
}

TEST_P(FaultRules, HoldArrivingMessages) {
  rule(1, {.kind = FaultKind::kDelay, .rate = 1, .latency_s = 3});
  ASSERT_TRUE(put(false).has_value());
  site.pass(std::chrono::milliseconds(2900));
  EXPECT_TRUE(target.events.empty());
  EXPECT_EQ(site.sum(1, Cause::kDelayedByRule), 1U);
  site.pass(std::chrono::milliseconds(200));
  EXPECT_EQ(target.count(EventKind::kPut), 1U);
  EXPECT_TRUE(site.holds(theirs, 0, 100, 3));
  site.expect_conserved();
}

TEST_P(FaultRules, HoldSentMessages) {
  rule(0, {.kind = FaultKind::kDelay, .types = kTypePut, .rate = 1, .latency_s = 3});
  ASSERT_TRUE(put().has_value());
  site.pass(std::chrono::milliseconds(2900));
  EXPECT_TRUE(sender.events.empty());
  EXPECT_EQ(site.port(0, 1, 0)->outstanding, 1U) << "credits are taken";
  site.pass(std::chrono::milliseconds(200));
  EXPECT_EQ(sender.count(EventKind::kSend), 1U);
  EXPECT_EQ(sender.count(EventKind::kAck), 1U);
  site.expect_conserved();
}

TEST_P(FaultRules, ReleaseMessagesWhenTheyAreRemoved) {
  rule(0, {.kind = FaultKind::kDelay, .types = kTypePut, .rate = 1, .latency_s = 1000});
  rule(1, {.kind = FaultKind::kDelay, .types = kTypePut, .rate = 1, .latency_s = 1000});
  ASSERT_TRUE(put().has_value());
  no_rules(0);
  site.settle();
  EXPECT_EQ(site.sum(1, Cause::kDelayedByRule), 1U);
  EXPECT_EQ(target.count(EventKind::kPut), 0U);
  no_rules(1);
  site.settle();
  EXPECT_EQ(target.count(EventKind::kPut), 1U);
  EXPECT_EQ(sender.count(EventKind::kAck), 1U);
  site.expect_conserved();
}

TEST_P(FaultRules, KeepMessagesHeldByOtherRules) {
  rule(1, {.kind = FaultKind::kDelay, .types = kTypePut, .rate = 1, .latency_s = 1000});
  ASSERT_TRUE(put().has_value());
  rule(1, {.kind = FaultKind::kDelay, .source = site.nid(1), .rate = 1, .latency_s = 1});
  (void)site.node(1).faults().remove(FaultKind::kDelay, site.nid(1), Nid::any());
  site.node(1).publish_faults();
  site.pass(std::chrono::seconds(5));
  EXPECT_EQ(target.count(EventKind::kPut), 0U);
  no_rules(1);
  site.settle();
  EXPECT_EQ(target.count(EventKind::kPut), 1U);
}

TEST_P(FaultRules, DropHeldMessagesWhenTheNodeEnds) {
  rule(0, {.kind = FaultKind::kDelay, .rate = 1, .latency_s = 1000});
  ASSERT_TRUE(put().has_value());
  site.node(0).faults().close();
  site.node(0).publish_faults();
  site.settle();
  const Event sent = sender.only(EventKind::kSend);
  ASSERT_FALSE(sent.status.has_value());
  EXPECT_EQ(sent.status.error(), Errc::kShutdown);
  site.expect_conserved();
}

TEST_P(FaultRules, DropArrivalsThatTheyHoldWhenTheNodeEnds) {
  rule(1, {.kind = FaultKind::kDelay, .rate = 1, .latency_s = 1000});
  ASSERT_TRUE(put(false).has_value());
  site.node(1).faults().close();
  site.node(1).publish_faults();
  site.settle();
  EXPECT_TRUE(target.events.empty());
  EXPECT_EQ(site.sum(1, Cause::kDroppedShutdown), 1U);
  site.expect_conserved();
}

TEST_P(FaultRules, ReleaseADeletedPeer) {
  rule(0, {.kind = FaultKind::kDelay, .rate = 1, .latency_s = 1000});
  ASSERT_TRUE(put(false).has_value());
  EXPECT_EQ(site.sum(0, Cause::kDelayedByRule), 1U);
  site.node(0).delete_peer(site.nid(1));
  site.settle();
  EXPECT_EQ(sender.count(EventKind::kSend), 1U);
  EXPECT_TRUE(site.node(0).quiet()) << "its home does not wait for the rule";
}

TEST_P(FaultRules, FailNidsBothWays) {
  ASSERT_TRUE(site.node(0).faults().fail_nid(site.nid(1), 1).has_value());
  site.node(0).publish_faults();
  const auto refused = put();
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error(), Errc::kIo);
  EXPECT_EQ(site.sum(0, Cause::kTxFailNid), 1U);
  EXPECT_TRUE(sender.events.empty());
  ASSERT_TRUE(put().has_value()) << "once was asked for";
  ASSERT_TRUE(site.node(1).faults().fail_nid(site.nid(0), FailNid::kForever).has_value());
  site.node(1).publish_faults();
  ASSERT_TRUE(put().has_value());
  EXPECT_EQ(site.sum(1, Cause::kDroppedFailNid), 1U);
  EXPECT_EQ(target.count(EventKind::kPut), 1U);
}

TEST(FaultRulesOnALostConnection, LeaveNothingBehind) {
  Site site({.wire = Wire::kStream});
  (void)site.know(0, 1, 0);
  (void)site.know(1, 0, 0);
  Recorder sender;
  const MdHandle md = site.bind(0, 0, site.buffer(100), sender);
  ASSERT_TRUE(site.node(1)
                  .faults()
                  .add({.kind = FaultKind::kDelay, .rate = 1, .latency_s = 2}, site.now())
                  .has_value());
  site.node(1).publish_faults();
  ASSERT_TRUE(site.shard(0, 0)
                  .put(md, {.target = {site.nid(1)}, .portal = 5, .match_bits = 1, .ack = false})
                  .has_value());
  site.settle();
  EXPECT_EQ(site.sum(1, Cause::kDelayedByRule), 1U);
  static_cast<mocks::MockStreamLnd&>(site.node(1).lnd(1, 0)).break_connection(site.nid(0));
  site.pass(std::chrono::seconds(3));
  EXPECT_EQ(site.sum(1, Cause::kDroppedConnectionLost), 1U);
  site.expect_conserved();
}

// The rule is removed in the same turn as the interface.
TEST(FaultRulesOnAnInterfaceThatGoes, LetNothingOutThatTheyHeld) {
  HeldNode rig({});
  rig.node.add_peer(HeldNode::nid(2), ShardId{0});
  Recorder user;
  const MdHandle md = rig.bind(user);
  const FaultSpec rule{.kind = FaultKind::kDelay, .rate = 1, .latency_s = 100};
  ASSERT_TRUE(rig.node.faults().add(rule, rig.now).has_value());
  rig.node.publish_faults();
  ASSERT_TRUE(rig.put(md, 2, 1));
  rig.settle();
  ASSERT_TRUE(rig.lnds[0]->held.empty());
  EXPECT_EQ(rig.node.faults().remove(FaultKind::kDelay, Nid::any(), Nid::any()), 1U);
  rig.node.publish_faults();
  rig.node.shard(0).close_port(rig.node.ni(1));
  rig.settle();
  EXPECT_TRUE(rig.lnds[0]->held.empty());
  ASSERT_EQ(user.count(EventKind::kSend), 1U);
  EXPECT_FALSE(user.events.back().status);
  EXPECT_TRUE(rig.node.shard(0).port_idle(rig.node.ni(1)));
}

TEST(FaultRulesInNumbers, HoldSoManyAndNoMore) {
  mocks::CoreNodeSetup setup;
  setup.limits.receives = FaultGate::kHeldMax + 10;
  HeldNode rig(setup);
  rig.node.add_peer(HeldNode::nid(2), ShardId{0});
  Deaf handler;
  (void)rig.attach(handler);
  ASSERT_TRUE(rig.node.faults()
                  .add({.kind = FaultKind::kDelay, .rate = 1, .latency_s = 1}, rig.now)
                  .has_value());
  rig.node.publish_faults();
  for (std::uint32_t i = 0; i < FaultGate::kHeldMax; ++i)
    ASSERT_EQ(rig.offer_put(2, {i, 1}).verdict, RxVerdict::kPark);
  EXPECT_EQ(rig.offer_put(2, {5000, 1}).verdict, RxVerdict::kReceive);
  EXPECT_EQ(rig.cause(Cause::kFaultsFull), 1U);
  EXPECT_EQ(rig.cause(Cause::kDelayedByRule), FaultGate::kHeldMax);
  rig.pass(std::chrono::seconds(2));
  EXPECT_EQ(rig.lnds[0]->resumed.size(), FaultGate::kHeldMax);
  for (std::uint32_t i = 0; i < FaultGate::kHeldMax; ++i) {
    EXPECT_EQ(rig.lnds[0]->resumed[i].first.index, i) << "in the order of their arrival";
    rig.port().on_received({i, 1}, {}, Health::kOk);
  }
  rig.port().on_received({5000, 1}, {}, Health::kOk);
  rig.expect_conserved();
}

// The coordinator may remove the last rule after a shard has seen it.
TEST(FaultGateTest, NoMessageIsHeldBackWhenTheLastRuleHasJustGone) {
  const std::atomic<const FaultView*> none{nullptr};
  Counters<LnetCauses> causes;
  FaultGate gate(none, causes, 4);
  MessageHeader header;
  Message message;
  Receive receive;
  EXPECT_FALSE(gate.drops(header, Nid{}, Instant{}));
  EXPECT_FALSE(gate.delays(message, Instant{}));
  EXPECT_FALSE(gate.delays(receive, Instant{}));
  EXPECT_FALSE(gate.fails(message, Instant{}));
  EXPECT_TRUE(gate.empty());
}

}  // namespace
}  // namespace plnet::lnet::faults_test
