// SPDX-License-Identifier: BSD-3-Clause
// The fault drivers over the simulator's. Without rules they are invisible. With delays, stalls and
// overtaking, which each seam allows anyway, its conformance still holds. With breaks and losses
// the remaining guarantees hold (check_…() in broken_checks.hpp).
#include <initializer_list>
#include <string>

#include <gtest/gtest.h>

#include "tests/mocks/seeds.hpp"
#include "tests/sim/broken_checks.hpp"
#include "tests/sim/fault_benches.hpp"

namespace plnet::testsim::fault_over_sim_test {
namespace {

using conformance::BufferOrder;
using conformance::WireFault;
using drivers::Direction;
using drivers::Fault;
using drivers::FaultPlan;
using drivers::FaultRule;
using drivers::SimShape;
using std::chrono::microseconds;

const std::uint64_t kSeeds = mocks::seeds_of(40);
constexpr std::uint64_t kFewSeeds = 10;  // for checks that depend little on chance
constexpr Direction kTx = Direction::kTx;
constexpr Direction kRx = Direction::kRx;

// Counts how often each rule of a plan was applied.
class Tried {
 public:
  explicit Tried(std::initializer_list<FaultRule> rules) {
    for (const FaultRule& rule : rules)
      EXPECT_TRUE(plan.add(rule));
  }
  Tried(const Tried& one, const Tried& other) {
    for (const Tried* tried : {&one, &other}) {
      for (const FaultRule& rule : tried->plan.view())
        EXPECT_TRUE(plan.add(rule));
    }
  }
  // A rule that was never applied proves nothing.
  void expect_all_applied() const {
    for (std::size_t i = 0; i < plan.count; ++i) {
      const FaultRule& rule = plan.rules[i];
      EXPECT_GT(i < applied.size() ? applied[i] : 0, 0U)
          << "rule " << i + 1 << " (" << drivers::name_of(rule.fault)
          << (rule.direction == kTx ? ", tx" : ", rx") << ") was never applied";
    }
  }

  FaultPlan plan;
  std::vector<std::uint64_t> applied;
};

SimShape shape_of(std::uint64_t seed) {
  SimShape shape = seed % 2 == 0 ? SimShape::rough() : SimShape::calm();
  shape.endpoint.retries_max = 1000;  // messages wait for a late buffer instead of failing
  return shape;
}

// Runs `check(bench, seed)` on a new bench for every seed, up to the first failure.
template <class Bench, class Check>
void for_seeds(std::uint64_t seeds, Tried& tried, Check&& check) {
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Bench bench(seed, shape_of(seed), tried.plan);
    check(bench, seed);
    bench.stacks.add_applied(tried.applied);
    if (testing::Test::HasFailure()) return;
  }
}

// The same run with an empty plan and without the layer: same events, same order, same times.
template <class Bench, class Check>
void expect_invisible(std::uint64_t seeds, Check&& check) {
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Bench bare(seed, shape_of(seed), std::nullopt);
    Bench stacked(seed, shape_of(seed), FaultPlan{});
    check(bare, seed);
    check(stacked, seed);
    EXPECT_EQ(bare.cluster.loop.digest(), stacked.cluster.loop.digest());
    EXPECT_EQ(bare.cluster.loop.now(), stacked.cluster.loop.now());
    if (testing::Test::HasFailure()) return;
  }
}

// Streams.

const auto kTransfer = [](StreamFaultBench& bench, std::uint64_t seed) {
  conformance::check_transfer(bench, seed, 20'000 + seed * 100, seed % 3 == 0 ? 0 : 12'000);
  EXPECT_EQ(bench.fabric.connections(), 0U);
};
const auto kRefused = [](StreamFaultBench& bench, std::uint64_t seed) {
  conformance::check_refused(bench, seed);
};
const auto kCloseByListener = [](StreamFaultBench& bench, std::uint64_t seed) {
  conformance::check_close_by_listener(bench, seed);
};

Tried stream_detours() {
  return Tried{
      {.fault = Fault::kDelay, .direction = kTx, .probability = 0.05, .delay = microseconds(60)},
      {.fault = Fault::kStall, .direction = kTx, .probability = 0.05, .delay = microseconds(300)},
      {.fault = Fault::kSplit, .direction = kTx, .probability = 0.2},
      {.fault = Fault::kDelay, .direction = kRx, .probability = 0.05, .delay = microseconds(60)},
      {.fault = Fault::kStall, .direction = kRx, .probability = 0.05, .delay = microseconds(300)}};
}

TEST(FaultOverSimStream, WithoutRulesIsInvisible) {
  expect_invisible<StreamFaultBench>(kSeeds, kTransfer);
  expect_invisible<StreamFaultBench>(kFewSeeds, kRefused);
  expect_invisible<StreamFaultBench>(kSeeds, kCloseByListener);
  expect_invisible<StreamFaultBench>(kSeeds, [](StreamFaultBench& bench, std::uint64_t seed) {
    conformance::check_broken_transfer(bench, seed, 20'000);
  });
}

TEST(FaultOverSimStream, DelayStallAndSplitKeepThePromises) {
  Tried tried = stream_detours();
  for_seeds<StreamFaultBench>(kSeeds, tried, kTransfer);
  for_seeds<StreamFaultBench>(kFewSeeds, tried, kRefused);
  for_seeds<StreamFaultBench>(kSeeds, tried, kCloseByListener);
  tried.expect_all_applied();
}

TEST(FaultOverSimStream, AfterAResetBytesAreAPrefixAndTheEndComesOnce) {
  Tried tried(
      Tried{{.fault = Fault::kReset, .direction = kTx, .probability = 0.02, .error = Errc::kReset},
            {.fault = Fault::kReset, .direction = kRx, .probability = 0.02, .error = Errc::kReset},
            {.fault = Fault::kTruncate,
             .direction = kTx,
             .probability = 0.02,
             .error = Errc::kReset}},
      stream_detours());
  unsigned broken = 0;
  for_seeds<StreamFaultBench>(kSeeds * 2, tried, [&](StreamFaultBench& bench, std::uint64_t seed) {
    broken += check_broken_streams(bench, seed, 20'000) ? 1U : 0U;
    EXPECT_EQ(bench.fabric.connections(), 0U);
  });
  tried.expect_all_applied();
  EXPECT_GT(broken, kSeeds / 2);
  EXPECT_LT(broken, kSeeds * 2) << "some must get through for the rest to mean something";
}

// Queue pairs.

const auto kChains = [](VerbsFaultBench& bench, std::uint64_t seed) {
  conformance::check_chains(bench, seed, 30);
};
const auto kDrain = [](VerbsFaultBench& bench, std::uint64_t seed) {
  conformance::check_drain(bench, seed);
  EXPECT_EQ(bench.fabric.queue_pairs(), 0U);
};
const auto kWireFaults = [](VerbsFaultBench& bench, std::uint64_t seed) {
  const std::array all{WireFault::kWrongKey, WireFault::kOutsideArena, WireFault::kTooLong,
                       WireFault::kNoReceive};
  conformance::check_fault(bench, all[seed % all.size()]);
};
const auto kRejections = [](VerbsFaultBench& bench, std::uint64_t /*seed*/) {
  conformance::check_rejections(bench);
};

Tried verbs_detours() {
  return Tried{
      {.fault = Fault::kDelay, .direction = kRx, .probability = 0.1, .delay = microseconds(30)},
      {.fault = Fault::kDelay, .direction = kRx, .probability = 0.05, .delay = microseconds(200)},
      {.fault = Fault::kStall, .direction = kTx, .probability = 0.1, .delay = microseconds(100)}};
}

TEST(FaultOverSimVerbs, WithoutRulesIsInvisible) {
  expect_invisible<VerbsFaultBench>(kSeeds, kChains);
  expect_invisible<VerbsFaultBench>(kSeeds, kDrain);
  expect_invisible<VerbsFaultBench>(kSeeds, kWireFaults);
  expect_invisible<VerbsFaultBench>(kFewSeeds, kRejections);
}

TEST(FaultOverSimVerbs, DelayAndStallKeepThePromises) {
  Tried tried = verbs_detours();
  for_seeds<VerbsFaultBench>(kSeeds, tried, kChains);
  for_seeds<VerbsFaultBench>(kSeeds, tried, kDrain);
  for_seeds<VerbsFaultBench>(kSeeds, tried, kWireFaults);
  for_seeds<VerbsFaultBench>(kFewSeeds, tried, kRejections);
  tried.expect_all_applied();
}

TEST(FaultOverSimVerbs, AfterABreakEverythingPostedEndsOnceAndDrains) {
  Tried tried(Tried{{.fault = Fault::kReset, .direction = kTx, .probability = 0.01},
                    {.fault = Fault::kReset, .direction = kRx, .probability = 0.005},
                    {.fault = Fault::kFail, .direction = kRx, .probability = 0.01}},
              verbs_detours());
  unsigned broken = 0;
  for_seeds<VerbsFaultBench>(kSeeds * 2, tried, [&](VerbsFaultBench& bench, std::uint64_t seed) {
    broken += check_broken_queue_pair(bench, seed, 40) ? 1U : 0U;
    EXPECT_EQ(bench.fabric.queue_pairs(), 0U);
  });
  tried.expect_all_applied();
  EXPECT_GT(broken, kSeeds / 2);
  EXPECT_LT(broken, kSeeds * 2);
}

// Endpoints.

const auto kMessages = [](EndpointFaultBench& bench, std::uint64_t seed) {
  conformance::check_messages(bench, seed, 40);
  EXPECT_EQ(bench.fabric.operations(), 0U);
};
const auto kMessagesAnyOrder = [](EndpointFaultBench& bench, std::uint64_t seed) {
  conformance::check_messages(bench, seed, 40, BufferOrder::kAny);
  EXPECT_EQ(bench.fabric.operations(), 0U);
};
const auto kTagged = [](EndpointFaultBench& bench, std::uint64_t seed) {
  conformance::check_tagged(bench, seed, 12);
};
const auto kCancelRace = [](EndpointFaultBench& bench, std::uint64_t seed) {
  (void)conformance::check_cancel_race(bench, seed);
};
const auto kFailures = [](EndpointFaultBench& bench, std::uint64_t /*seed*/) {
  conformance::check_failures(bench);
};

Tried endpoint_detours() {
  return Tried{
      {.fault = Fault::kDelay, .direction = kRx, .probability = 0.1, .delay = microseconds(150)},
      {.fault = Fault::kReorder,
       .direction = kRx,
       .probability = 0.2,
       .delay = microseconds(400),
       .span = 3},
      {.fault = Fault::kStall, .direction = kTx, .probability = 0.1, .delay = microseconds(100)}};
}

TEST(FaultOverSimEndpoint, WithoutRulesIsInvisible) {
  expect_invisible<EndpointFaultBench>(kSeeds, kMessages);
  expect_invisible<EndpointFaultBench>(kSeeds, kTagged);
  expect_invisible<EndpointFaultBench>(kSeeds, kCancelRace);
  expect_invisible<EndpointFaultBench>(kFewSeeds, kFailures);
}

TEST(FaultOverSimEndpoint, DelayReorderAndStallKeepThePromises) {
  Tried tried = endpoint_detours();
  for_seeds<EndpointFaultBench>(kSeeds, tried, kMessagesAnyOrder);
  for_seeds<EndpointFaultBench>(kSeeds, tried, kTagged);
  for_seeds<EndpointFaultBench>(kSeeds, tried, kCancelRace);
  for_seeds<EndpointFaultBench>(kSeeds, tried, kFailures);
  tried.expect_all_applied();
}

TEST(FaultOverSimEndpoint, LossesAndFailuresEndEverythingOnce) {
  Tried tried(Tried{{.fault = Fault::kDrop, .direction = kTx, .probability = 0.1},
                    {.fault = Fault::kDrop,
                     .direction = kTx,
                     .probability = 0.1,
                     .delay = microseconds(300),
                     .fails_late = true},
                    {.fault = Fault::kFail, .direction = kTx, .probability = 0.1},
                    {.fault = Fault::kDrop, .direction = kRx, .probability = 0.1}},
              endpoint_detours());
  unsigned lost = 0;
  for_seeds<EndpointFaultBench>(kSeeds, tried, [&](EndpointFaultBench& bench, std::uint64_t seed) {
    lost += check_lossy_endpoints(bench, seed, 40);
  });
  tried.expect_all_applied();
  EXPECT_GT(lost, kSeeds)
      << "messages that vanished although their sender was told that all is well";
}

// One seed gives one run, with any faults.
TEST(FaultOverSim, SameSeedSameRunOtherSeedOtherRun) {
  const auto digest = [](std::uint64_t seed) {
    StreamFaultBench streams(seed, SimShape::rough(), stream_detours().plan);
    conformance::check_transfer(streams, 1, 20'000, 20'000);
    VerbsFaultBench verbs(seed, SimShape::rough(), verbs_detours().plan);
    conformance::check_chains(verbs, 1, 20);
    EndpointFaultBench endpoints(seed, shape_of(0), endpoint_detours().plan);
    conformance::check_messages(endpoints, 1, 20, BufferOrder::kAny);
    return std::array{streams.cluster.loop.digest(), verbs.cluster.loop.digest(),
                      endpoints.cluster.loop.digest()};
  };
  const auto first = digest(1);
  EXPECT_EQ(first, digest(1));
  const auto other = digest(2);
  for (std::size_t i = 0; i < first.size(); ++i)
    EXPECT_NE(first[i], other[i]);
}

}  // namespace
}  // namespace plnet::testsim::fault_over_sim_test
