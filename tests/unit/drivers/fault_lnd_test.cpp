// SPDX-License-Identifier: BSD-3-Clause
#include <chrono>
#include <utility>
#include <vector>

#include "drivers/net/fault/lnd.hpp"
#include "tests/mocks/seeds.hpp"
#include "tests/unit/drivers/lnd_rigs.hpp"

namespace plnet::fault_lnd_test {
namespace {

using conformance::LndCase;
using conformance::LndConformance;
using conformance::LndRigOptions;
using drivers::Direction;
using drivers::Fault;
using drivers::FaultLnd;
using drivers::FaultPlan;
using drivers::FaultRule;
using drivers::Trigger;
using testrig::Memory;

// Two nodes; the first one's LND is seen through a fault driver.
template <class MockLnd, lnet::NetType kType>
class FaultRig final : public conformance::LndRig {
 public:
  explicit FaultRig(const LndRigOptions& options, bool check_bytes = true)
      : core_a_([&] {
          auto config = testrig::core_config(options, memory_, testrig::nid(kType, 1), 0);
          config.check_bytes = check_bytes;
          return config;
        }()),
        core_b_(testrig::core_config(options, memory_, testrig::nid(kType, 2), 1)),
        fault_(core_a_, Random(options.seed), &memory_.arenas),
        lnd_a_({.nid = testrig::nid(kType, 1), .arenas = &memory_.arenas}, network_, fault_),
        lnd_b_({.nid = testrig::nid(kType, 2), .arenas = &memory_.arenas}, network_, core_b_) {
    fault_.attach(lnd_a_);
    core_a_.attach(fault_);
    core_b_.attach(lnd_b_);
  }
  mocks::FakeCore& a() override { return core_a_; }
  mocks::FakeCore* b() override { return &core_b_; }
  FaultLnd& lnd_a() override { return fault_; }
  lnet::Nid nid_b() override { return testrig::nid(kType, 2); }
  bool quiet() override { return fault_.idle() && lnd_b_.idle(); }
  void turn(Instant now) override {
    core_a_.turn(now);
    core_b_.turn(now);
  }

 private:
  Memory memory_;
  typename MockLnd::Network network_;
  mocks::FakeCore core_a_;
  mocks::FakeCore core_b_;
  FaultLnd fault_;
  MockLnd lnd_a_;
  MockLnd lnd_b_;
};
using StreamRig = FaultRig<mocks::MockStreamLnd, lnet::NetType::kTcp>;
using RdmaRig = FaultRig<mocks::MockRdmaLnd, lnet::NetType::kO2ib>;

INSTANTIATE_TEST_SUITE_P(
    FaultWithoutRules, LndConformance,
    testing::Values(
        LndCase{"stream", [](const LndRigOptions& o) { return std::make_unique<StreamRig>(o); }},
        LndCase{"rdma", [](const LndRigOptions& o) { return std::make_unique<RdmaRig>(o); }}),
    [](const auto& test) { return test.param.name; });

FaultPlan plan_of(std::initializer_list<FaultRule> rules) {
  FaultPlan plan;
  for (const FaultRule& rule : rules)
    EXPECT_TRUE(plan.add(rule));
  return plan;
}

FaultRule at(std::uint64_t nth, Fault fault, Direction direction) {
  return {.fault = fault, .direction = direction, .trigger = Trigger::kAtNth, .nth = nth};
}

TEST(FaultLnd, ADroppedSendEndsWellAndNeverArrives) {
  StreamRig rig({});
  ASSERT_TRUE(rig.lnd_a().set_plan(plan_of({at(2, Fault::kDrop, Direction::kTx)})));
  for (int i = 0; i < 3; ++i)
    rig.a().put(rig.nid_b(), 100, false);
  ASSERT_TRUE(rig.settle());
  EXPECT_EQ(rig.a().tally().sent, 3U);
  EXPECT_EQ(rig.b()->order(), (std::vector<std::uint64_t>{1, 3}));
  EXPECT_EQ(rig.lnd_a().judge().counts(0).applied(), 1U);
  EXPECT_EQ(rig.lnd_a().judge().counts(0).seen, 3U);
  rig.expect_no_breach();
}

TEST(FaultLnd, ADropThatFailsLateEndsAtTheDeadline) {
  StreamRig rig({});
  FaultRule rule = at(1, Fault::kDrop, Direction::kTx);
  rule.fails_late = true;
  rule.error = Errc::kTimedOut;
  rule.health = Health::kNetworkTimeout;
  ASSERT_TRUE(rig.lnd_a().set_plan(plan_of({rule})));
  rig.a().put(rig.nid_b(), 100, false, Instant{} + std::chrono::microseconds(50));
  for (int i = 0; i < 49; ++i)
    rig.step();
  EXPECT_EQ(rig.a().completions().size(), 0U);
  rig.step();
  ASSERT_EQ(rig.a().completions().size(), 1U);
  EXPECT_EQ(rig.a().completions()[0].status.error(), Errc::kTimedOut);
  EXPECT_EQ(rig.a().completions()[0].health, Health::kNetworkTimeout);
}

TEST(FaultLnd, ADropOnReceiveHasNoEvents) {
  StreamRig rig({});
  ASSERT_TRUE(rig.lnd_a().set_plan(plan_of({at(1, Fault::kDrop, Direction::kRx)})));
  rig.b()->put(testrig::nid(lnet::NetType::kTcp, 1), 100, false);
  rig.b()->put(testrig::nid(lnet::NetType::kTcp, 1), 100, false);
  ASSERT_TRUE(rig.settle());
  EXPECT_EQ(rig.a().order(), (std::vector<std::uint64_t>{2}));
}

TEST(FaultLnd, AFailedSendCarriesTheHealthOfTheRule) {
  StreamRig rig({});
  FaultRule rule = at(1, Fault::kFail, Direction::kTx);
  rule.error = Errc::kNoRoute;
  rule.health = Health::kRemoteDropped;
  ASSERT_TRUE(rig.lnd_a().set_plan(plan_of({rule})));
  rig.a().put(rig.nid_b(), 10, true);
  ASSERT_TRUE(rig.settle());
  EXPECT_EQ(rig.a().completions()[0].status.error(), Errc::kNoRoute);
  EXPECT_EQ(rig.a().completions()[0].health, Health::kRemoteDropped);
  EXPECT_EQ(rig.b()->tally().puts, 0U);
}

TEST(FaultLnd, ADelayedMessageComesLaterInEitherDirection) {
  for (const Direction direction : {Direction::kTx, Direction::kRx}) {
    RdmaRig rig({});
    FaultRule rule = at(1, Fault::kDelay, direction);
    rule.delay = std::chrono::microseconds(100);
    ASSERT_TRUE(rig.lnd_a().set_plan(plan_of({rule})));
    rig.a().put(rig.nid_b(), 1000, true);
    for (int i = 0; i < 95; ++i)
      rig.step();
    EXPECT_EQ(rig.a().tally().acks, 0U);
    EXPECT_EQ(rig.b()->tally().puts, direction == Direction::kTx ? 0U : 1U);
    ASSERT_TRUE(rig.settle());
    EXPECT_EQ(rig.a().tally().acks, 1U);
    rig.expect_no_breach();
  }
}

TEST(FaultLnd, ADuplicateArrivesTwiceAndEndsOnce) {
  StreamRig rig({});
  ASSERT_TRUE(rig.lnd_a().set_plan(plan_of({at(1, Fault::kDuplicate, Direction::kTx)})));
  rig.a().put(rig.nid_b(), 700, true);
  ASSERT_TRUE(rig.settle());
  EXPECT_EQ(rig.a().tally().sent, 1U);
  EXPECT_EQ(rig.b()->order(), (std::vector<std::uint64_t>{1, 1}));
  EXPECT_EQ(rig.a().tally().acks, 2U);
  EXPECT_EQ(rig.b()->tally().wrong_bytes, 0U);
  rig.expect_no_breach();
}

// Lends one message whose payload is still kept elsewhere.
class KeepingCore final : public lnet::LndUpcalls, private lnet::PayloadKeeper {
 public:
  KeepingCore(const lnet::Transmit& like, const ArenaTable& arenas)
      : transmit(like), arenas_(arenas) {
    transmit.kept = true;
    lnet::for_each_piece(transmit.source, [this](const Fragment& piece) {
      for (std::byte& byte : arenas_.bytes(piece))
        bytes_.push_back(std::exchange(byte, std::byte{0xee}));
    });
  }
  lnet::KeptPayload kept_payload(const lnet::Transmit& lent) const override {
    EXPECT_EQ(&lent, &transmit) << "no other is known";
    return {const_cast<KeepingCore*>(this), {}};
  }
  void on_sent(std::span<const lnet::Completion> burst) override { ended += burst.size(); }
  lnet::RxDecision on_header(const lnet::RxOffer& /*offer*/) override { return {}; }
  void on_received(lnet::RxHandle /*rx*/, Result<void> /*status*/, Health /*health*/) override {}
  void on_parked_gone(lnet::RxHandle /*rx*/, Errc /*cause*/) override {}
  void on_quarantine_over(lnet::Transmit& /*transmit*/) override {}
  void on_lane(lnet::PeerLink& /*link*/, lnet::LaneId /*lane*/, bool /*up*/,
               bool /*bulk*/) override {}
  void on_peer(const lnet::Nid& /*nid*/, lnet::PeerNotice /*notice*/, Instant /*when*/) override {}
  void on_peer_released(lnet::PeerLink& /*link*/) override {}
  void on_interface(lnet::InterfaceState /*state*/, Errc /*cause*/) override {}

  lnet::Transmit transmit;
  std::size_t ended = 0;

 private:
  Result<void> bring(lnet::RxHandle /*rx*/) override {
    auto byte = bytes_.begin();
    lnet::for_each_piece(transmit.source, [&](const Fragment& piece) {
      for (std::byte& to : arenas_.bytes(piece))
        to = *byte++;
    });
    return {};
  }
  [[nodiscard]] const void* family() const override { return this; }

  const ArenaTable& arenas_;
  std::vector<std::byte> bytes_;
};

TEST(FaultLnd, ADuplicateOfAKeptMessageHasItsPayload) {
  const LndRigOptions options;
  Memory memory;
  const lnet::Nid us = testrig::nid(lnet::NetType::kTcp, 1);
  const lnet::Nid they = testrig::nid(lnet::NetType::kTcp, 2);
  mocks::MockStreamLnd::Network network;
  mocks::FakeCore maker(testrig::core_config(options, memory, us, 0));
  mocks::FakeCore target(testrig::core_config(options, memory, they, 1));
  KeepingCore core(maker.put(they, 5000, false), memory.arenas);
  FaultLnd fault(core, Random(1), &memory.arenas);
  const char family{};
  mocks::MockStreamLnd lower({.nid = us, .arenas = &memory.arenas, .family = &family}, network,
                             fault);
  mocks::MockStreamLnd end({.nid = they, .arenas = &memory.arenas}, network, target);
  fault.attach(lower);
  target.attach(end);
  ASSERT_TRUE(fault.set_plan(plan_of({at(1, Fault::kDuplicate, Direction::kTx)})));
  lnet::Transmit* const message = &core.transmit;
  ASSERT_EQ(fault.send({&message, 1}), 1U);
  Instant now{};
  for (unsigned i = 0; i < 20; ++i) {
    (void)fault.flush(now += std::chrono::microseconds(1));
    (void)target.turn(now);
  }
  EXPECT_EQ(target.tally().puts, 2U);
  EXPECT_EQ(target.tally().wrong_bytes, 0U);
  EXPECT_EQ(core.ended, 1U);
}

TEST(FaultLnd, AnAckIsDuplicatedOnReceiveAndAPayloadIsNot) {
  StreamRig rig({});
  FaultRule rule{.fault = Fault::kDuplicate, .direction = Direction::kRx};
  ASSERT_TRUE(rig.lnd_a().set_plan(plan_of({rule})));
  rig.a().put(rig.nid_b(), 10, true);
  rig.a().get(rig.nid_b(), 10);
  ASSERT_TRUE(rig.settle());
  EXPECT_EQ(rig.a().tally().acks, 2U);
  EXPECT_EQ(rig.a().tally().replies, 1U);
  EXPECT_EQ(rig.lnd_a().judge().counts(0).fired, 2U);
  EXPECT_EQ(rig.lnd_a().judge().counts(0).skipped, 1U);
  rig.expect_no_breach();
}

TEST(FaultLnd, AReorderedMessageIsOvertakenByItsSpan) {
  StreamRig rig({});
  FaultRule rule = at(2, Fault::kReorder, Direction::kTx);
  rule.span = 2;
  rule.delay = std::chrono::seconds(1);
  ASSERT_TRUE(rig.lnd_a().set_plan(plan_of({rule})));
  for (int i = 0; i < 5; ++i)
    rig.a().put(rig.nid_b(), 10, false);
  ASSERT_TRUE(rig.settle());
  const auto& order = rig.b()->order();
  ASSERT_EQ(order.size(), 5U);
  EXPECT_GE(std::ranges::find(order, 2U) - order.begin(), 3);
  rig.expect_no_breach();
}

TEST(FaultLnd, AReorderedAckIsOvertakenOnReceive) {
  StreamRig rig({});
  FaultRule rule = at(1, Fault::kReorder, Direction::kRx);
  rule.span = 1;
  rule.delay = std::chrono::seconds(1);
  ASSERT_TRUE(rig.lnd_a().set_plan(plan_of({rule})));
  rig.a().put(rig.nid_b(), 10, true);
  rig.a().put(rig.nid_b(), 10, true);
  ASSERT_TRUE(rig.settle());
  EXPECT_EQ(rig.a().tally().acks, 2U);
  EXPECT_EQ(rig.lnd_a().judge().counts(0).applied(), 1U);
  rig.expect_no_breach();
}

TEST(FaultLnd, ATruncatedReceiveFailsWithTheErrorOfTheRule) {
  StreamRig rig({});
  ASSERT_TRUE(rig.lnd_a().set_plan(plan_of({at(1, Fault::kTruncate, Direction::kRx)})));
  rig.a().get(rig.nid_b(), 500);
  rig.a().get(rig.nid_b(), 500);
  ASSERT_TRUE(rig.settle());
  EXPECT_EQ(rig.a().tally().receive_failures, 1U);
  EXPECT_EQ(rig.a().tally().replies, 1U);
  rig.expect_no_breach();
}

TEST(FaultLnd, ACorruptedReceiveHasAWrongByte) {
  for (const unsigned park : {0U, 100U}) {
    StreamRig rig({.park_percent = park});
    ASSERT_TRUE(rig.lnd_a().set_plan(plan_of({at(1, Fault::kCorrupt, Direction::kRx)})));
    rig.a().get(rig.nid_b(), 500);
    rig.a().get(rig.nid_b(), 500);
    ASSERT_TRUE(rig.settle());
    EXPECT_EQ(rig.a().tally().wrong_bytes, 1U);
    EXPECT_EQ(rig.a().tally().replies, 2U);
  }
}

TEST(FaultLnd, AStallIsBackPressure) {
  StreamRig rig({});
  FaultRule rule = at(3, Fault::kStall, Direction::kTx);
  rule.delay = std::chrono::microseconds(50);
  ASSERT_TRUE(rig.lnd_a().set_plan(plan_of({rule})));
  for (int i = 0; i < 6; ++i)
    rig.a().put(rig.nid_b(), 10, false);
  for (int i = 0; i < 40; ++i)
    rig.step();
  EXPECT_EQ(rig.a().tally().accepted, 2U);
  ASSERT_TRUE(rig.settle());
  EXPECT_EQ(rig.b()->tally().puts, 6U);
}

TEST(FaultLnd, AShardWithNothingElseToDoWakesWhenAStallEndsAndSleepsAfterIt) {
  StreamRig rig({});
  FaultRule rule = at(1, Fault::kStall, Direction::kTx);
  rule.delay = std::chrono::microseconds(50);
  ASSERT_TRUE(rig.lnd_a().set_plan(plan_of({rule})));
  EXPECT_EQ(rig.lnd_a().next_deadline(), Instant::max());
  rig.a().put(rig.nid_b(), 10, false);
  rig.step();
  EXPECT_EQ(rig.a().tally().accepted, 0U);
  const Instant end = rig.lnd_a().next_deadline();
  EXPECT_EQ(end, Instant{} + std::chrono::microseconds(50)) << "nothing else wakes the core";
  EXPECT_EQ(rig.lnd_a().flush(end - Duration(1)), 0U);
  EXPECT_EQ(rig.lnd_a().next_deadline(), end);
  EXPECT_EQ(rig.lnd_a().flush(end), 1U) << "another turn, in which the core offers again";
  EXPECT_EQ(rig.lnd_a().next_deadline(), Instant::max());
  ASSERT_TRUE(rig.settle());
  EXPECT_EQ(rig.b()->tally().puts, 1U);
}

TEST(FaultLnd, ShuttingDownEndsAStall) {
  StreamRig rig({});
  FaultRule rule = at(1, Fault::kStall, Direction::kTx);
  rule.delay = std::chrono::hours(1);
  ASSERT_TRUE(rig.lnd_a().set_plan(plan_of({rule})));
  rig.a().put(rig.nid_b(), 10, false);
  rig.step();
  rig.lnd_a().shut_down();
  EXPECT_EQ(rig.lnd_a().next_deadline(), Instant::max()) << "no time is waited for any more";
  rig.step();
  EXPECT_EQ(rig.a().tally().accepted, 0U);
  EXPECT_TRUE(rig.lnd_a().idle());
  rig.expect_no_breach();
}

TEST(FaultLnd, ShutDownItLeavesRefusingToTheRealLnd) {
  for (const Fault fault : {Fault::kStall, Fault::kDelay, Fault::kDrop}) {
    StreamRig rig({});
    FaultRule rule{.fault = fault, .direction = Direction::kTx};
    rule.delay = std::chrono::hours(1);
    ASSERT_TRUE(rig.lnd_a().set_plan(plan_of({rule})));
    rig.lnd_a().shut_down();
    rig.a().put(rig.nid_b(), 10, false);
    rig.step();
    EXPECT_EQ(rig.a().tally().accepted, 0U);
    EXPECT_EQ(rig.lnd_a().judge().counts(0).seen, 0U);
    EXPECT_EQ(rig.lnd_a().next_deadline(), Instant::max());
    EXPECT_TRUE(rig.lnd_a().idle());
  }
}

TEST(FaultLnd, ShuttingDownEndsDelayedIncomingMessages) {
  StreamRig rig({});
  FaultRule rule = at(1, Fault::kDelay, Direction::kRx);
  rule.delay = std::chrono::hours(1);
  ASSERT_TRUE(rig.lnd_a().set_plan(plan_of({rule})));
  rig.b()->put(testrig::nid(lnet::NetType::kTcp, 1), 100, false);
  for (int i = 0; i < 20; ++i)
    rig.step();
  EXPECT_GT(rig.lnd_a().next_deadline(), rig.now());
  rig.lnd_a().shut_down();
  ASSERT_TRUE(rig.settle(100));
  EXPECT_EQ(rig.a().order(), std::vector<std::uint64_t>{}) << "the core never knew of it";
  EXPECT_TRUE(rig.lnd_a().idle());
  EXPECT_EQ(rig.lnd_a().next_deadline(), Instant::max());
  rig.expect_no_breach();
}

TEST(FaultLnd, AResetClosesTheConnection) {
  RdmaRig rig({});
  ASSERT_TRUE(rig.lnd_a().set_plan(plan_of({at(1, Fault::kReset, Direction::kRx)})));
  rig.b()->put(testrig::nid(lnet::NetType::kO2ib, 1), 1000, false);
  ASSERT_TRUE(rig.settle());
  EXPECT_EQ(rig.b()->tally().failed, 1U);
  EXPECT_EQ(rig.b()->completions()[0].status.error(), Errc::kReset);
}

TEST(FaultLnd, RulesMatchTheirNidOnlyAndPlansChangeLive) {
  StreamRig rig({});
  FaultRule rule{.fault = Fault::kDrop, .direction = Direction::kTx};
  rule.nid = testrig::nid(lnet::NetType::kTcp, 9);
  ASSERT_TRUE(rig.lnd_a().set_plan(plan_of({rule})));
  rig.a().put(rig.nid_b(), 10, false);
  ASSERT_TRUE(rig.settle());
  EXPECT_EQ(rig.b()->tally().puts, 1U);
  EXPECT_EQ(rig.lnd_a().judge().counts(0).seen, 0U);
  rule.nid = rig.nid_b();
  ASSERT_TRUE(rig.lnd_a().set_plan(plan_of({rule})));
  rig.a().put(rig.nid_b(), 10, false);
  ASSERT_TRUE(rig.settle());
  EXPECT_EQ(rig.b()->tally().puts, 1U);
  ASSERT_TRUE(rig.lnd_a().set_plan({}));
  rig.a().put(rig.nid_b(), 10, false);
  ASSERT_TRUE(rig.settle());
  EXPECT_EQ(rig.b()->tally().puts, 2U);
}

// With messages dropped, delayed and duplicated, every message ends once and the contract holds.
template <class Rig>
mocks::FakeCoreTally storm(std::uint64_t seed, unsigned cancel_every, bool release) {
  Rig rig({.seed = seed, .park_percent = 20, .drop_percent = 10});
  FaultPlan plan;
  for (const Direction direction : {Direction::kTx, Direction::kRx}) {
    for (const Fault fault : {Fault::kDrop, Fault::kDelay, Fault::kDuplicate, Fault::kReorder}) {
      EXPECT_TRUE(plan.add({.fault = fault,
                            .direction = direction,
                            .probability = 0.1,
                            .delay = std::chrono::microseconds(20),
                            .span = 3}));
    }
  }
  EXPECT_TRUE(plan.add(
      {.fault = Fault::kStall, .probability = 0.02, .delay = std::chrono::microseconds(10)}));
  EXPECT_TRUE(rig.lnd_a().set_plan(plan));
  for (std::uint32_t i = 1; i <= 60; ++i) {
    lnet::Transmit& put = rig.a().put(rig.nid_b(), i * 37 % 3000, true);
    lnet::Transmit& get = rig.a().get(rig.nid_b(), i * 41 % 3000);
    rig.b()->put(rig.a().link(rig.nid_b()).nid, 0, false);
    if (i % 3 == 0) rig.step();
    if (cancel_every != 0 && i % cancel_every == 0) {
      rig.a().cancel(put);
      rig.a().cancel(get);
    }
    if (release && i == 40) rig.a().release_peer(rig.nid_b());
  }
  EXPECT_TRUE(rig.settle()) << "seed " << seed;
  rig.expect_no_breach();
  EXPECT_EQ(rig.a().tally().wrong_bytes + rig.b()->tally().wrong_bytes, 0U) << "seed " << seed;
  const auto& tally = rig.a().tally();
  EXPECT_EQ(tally.accepted, tally.sent + tally.failed + tally.cancelled) << "seed " << seed;
  return tally;
}

TEST(FaultLndStorm, ConservationHoldsOverManySeeds) {
  for (std::uint64_t seed = 1; seed <= mocks::seeds_of(100); ++seed) {
    storm<StreamRig>(seed, seed % 4, seed % 5 == 0);
    storm<RdmaRig>(seed, seed % 4, seed % 5 == 0);
    if (testing::Test::HasFailure()) FAIL() << "seed " << seed;
  }
}

TEST(FaultLndStorm, TheSameSeedGivesTheSameRun) {
  EXPECT_EQ(storm<StreamRig>(11, 3, true), storm<StreamRig>(11, 3, true));
  EXPECT_EQ(storm<RdmaRig>(11, 3, true), storm<RdmaRig>(11, 3, true));
  EXPECT_FALSE(storm<RdmaRig>(11, 3, true) == storm<RdmaRig>(12, 3, true));
}

}  // namespace
}  // namespace plnet::fault_lnd_test
