// SPDX-License-Identifier: BSD-3-Clause
#include "apps/lnet-pin/plan/plan.hpp"

#include <algorithm>
#include <set>
#include <string>

#include <gtest/gtest.h>

#include "apps/lnet-pin/plan/design.hpp"

namespace plnet::pin::plan_test {
namespace {

constexpr const char* kTwoSockets = "pack:2 [numa] l3:2 core:2 pu:2";

Machine machine_of(const char* words) {
  auto machine = read_machine({.synthetic = words}, "");
  EXPECT_TRUE(machine) << (machine ? "" : machine.error().what);
  return *machine;
}

Plan plan_of(const std::string& text, const char* words = kTwoSockets) {
  auto sweep = read_sweep(text, "sweep.yaml");
  EXPECT_TRUE(sweep) << (sweep ? "" : sweep.error().what);
  auto plan = make_plan(std::move(*sweep), machine_of(words));
  EXPECT_TRUE(plan) << (plan ? "" : plan.error().what);
  return std::move(*plan);
}

std::string error_of(const std::string& text) {
  const auto sweep = read_sweep(text, "sweep.yaml");
  return sweep ? "" : sweep.error().what;
}

TEST(PinPlan, PlacementsThatAreEqualAreListedOnce) {
  const Plan plan = plan_of("factors: {cores: ['0', '1', '2', '8'], memory: [local, remote]}\n");
  // CPU 8 shares the node of the other processes' CPU 15; the remaining CPUs are equivalent.
  ASSERT_EQ(plan.placements.size(), 4U);
  EXPECT_EQ(plan.placements[0].same.size(), 2U);
  EXPECT_EQ(plan.level_text(plan.placements[1].levels), "cores=0 memory=remote");
  EXPECT_EQ(plan.placements[1].cpts[0].memory_node, 1U);
  EXPECT_EQ(plan.others, std::vector<unsigned>{15});
}

TEST(PinPlan, EachSetOfCpusThatDiffers) {
  const Plan one = plan_of("factors: {cores: each}\nothers: '15'\n");
  // The CPU of the other processes, its sibling, its cache, its node, the other node.
  EXPECT_EQ(one.placements.size(), 5U);
  const Plan alike = plan_of("factors: {cores: each, shards: [4]}\nothers: '0'\n", "core:8 pu:1");
  EXPECT_EQ(alike.placements.size(), 2U);
  const auto varied = read_sweep("factors: {cores: each, shards: [1, 2]}\n", "s");
  EXPECT_FALSE(make_plan(*varied, machine_of("core:8 pu:1")));
}

TEST(PinPlan, PackedSpreadAndPairs) {
  const Plan plan = plan_of("factors: {cores: [pack, spread], smt: [first, pairs], shards: [4]}\n");
  ASSERT_EQ(plan.placements.size(), 4U);
  using Cpus = std::vector<unsigned>;
  EXPECT_EQ(plan.placements[0].cpus(), (Cpus{0, 2, 4, 6}));
  EXPECT_EQ(plan.placements[1].cpus(), (Cpus{0, 1, 2, 3}));
  EXPECT_EQ(plan.placements[2].cpus(), (Cpus{0, 8, 4, 12}));
  EXPECT_EQ(plan.placements[3].cpus(), (Cpus{0, 1, 8, 9}));
}

TEST(PinPlan, UnavailablePlacementsAreOmittedWithAReason) {
  const Plan plan =
      plan_of("factors: {cores: ['0', '99'], governor: [keep, powersave], memory: [local, 7]}\n");
  EXPECT_EQ(plan.placements.size(), 1U);
  ASSERT_EQ(plan.left_out.size(), 7U);
  const auto says = [&plan](const char* words) {
    return std::ranges::any_of(plan.left_out, [words](const LeftOut& each) {
      return each.why.find(words) != std::string::npos;
    });
  };
  EXPECT_TRUE(says("CPU 99: this machine has CPUs 0-15"));
  EXPECT_TRUE(says("memory node 7"));
  EXPECT_TRUE(says("no frequency governors"));
  const auto none =
      make_plan(*read_sweep("factors: {shards: [99]}\n", "s"), machine_of("core:2 pu:1"));
  ASSERT_FALSE(none);
  EXPECT_NE(none.error().what.find("no placement exists here"), std::string::npos);
}

TEST(PinPlan, Designs) {
  const std::string factors =
      "factors: {shards: [1, 2, 4], memory: [local, remote], idle: [busy, yield, sleep], cores: "
      "[pack, spread]}\n";
  // one shard cannot be spread
  EXPECT_EQ(plan_of("design: one\n" + factors).placements.size(), 6U);
  EXPECT_EQ(all_combinations({3, 2, 3, 2}).size(), 36U);
  const auto all = all_combinations({3, 2, 3, 2});
  const auto some = choose(Design::kFractional, all);
  EXPECT_LT(some.size(), 14U);
  EXPECT_EQ(some.front(), all.front());
  std::set<std::tuple<std::size_t, std::size_t, std::size_t, std::size_t>> pairs;
  for (const Levels& each : some) {
    for (std::size_t a = 0; a < each.size(); ++a) {
      for (std::size_t b = a + 1; b < each.size(); ++b)
        pairs.emplace(a, each[a], b, each[b]);
    }
  }
  EXPECT_EQ(pairs.size(), 6U + 9U + 6U + 6U + 4U + 6U);
}

TEST(PinPlan, RunsAndMinutes) {
  const Plan plan = plan_of("rounds: {least: 3, most: 5}\nfactors: {idle: [busy, sleep]}\n");
  EXPECT_EQ(plan.rounds_min(), 6U);
  EXPECT_EQ(plan.rounds_max(), 10U);
  const std::string text = text_of(plan, machine_of(kTwoSockets), true);
  EXPECT_NE(text.find("6 to 10 runs, about 1 min; the budget"), std::string::npos) << text;
  EXPECT_NE(text.find("(baseline)"), std::string::npos);
  EXPECT_EQ(json_of(plan)["placements"].size(), 2U);
  EXPECT_NE(fingerprint_of(plan), fingerprint_of(plan_of("factors: {idle: [busy, sleep]}\n")));
}

TEST(PinPlan, RoutersNeedTwoNetworks) {
  const Plan plan = plan_of(
      "measured: router\nworkload: {networks: [tcp, tcp1]}\nfactors: {cpts: [1, 2], sides: "
      "[together, apart]}\n");
  EXPECT_EQ(plan.placements.size(), 3U);
  EXPECT_EQ(plan.left_out.size(), 1U);
  EXPECT_NE(error_of("measured: router\n").find("two networks"), std::string::npos);
  EXPECT_NE(error_of("workload: {networks: [tcp, tcp]}\n").find("two different"),
            std::string::npos);
}

TEST(PinPlan, MistakesHavePlaces) {
  EXPECT_NE(error_of("speed: 3\n").find("sweep.yaml:1:1"), std::string::npos);
  EXPECT_NE(error_of("factors: {colour: [red]}\n").find("unknown factor 'colour'"),
            std::string::npos);
  EXPECT_NE(error_of("factors: {idle: [loud]}\n").find("expected auto, busy"), std::string::npos);
  EXPECT_NE(error_of("factors: {idle: [busy, busy]}\n").find("twice"), std::string::npos);
  EXPECT_NE(error_of("name: ../../etc\n").find("plain name"), std::string::npos);
  EXPECT_NE(error_of("rounds: {least: 9, most: 3}\n").find("above most"), std::string::npos);
  EXPECT_NE(error_of("hosts: {client: {on: 'telnet:x'}}\n").find("ssh:HOST"), std::string::npos);
  EXPECT_NE(error_of("hosts: {client: {on: 'ssh:-oProxy'}}\n").find("ssh:HOST"), std::string::npos);
  EXPECT_NE(error_of("workload: {networks: o2ib}\n").find("needs hosts"), std::string::npos);
  EXPECT_NE(error_of("budget: 0\n").find("above zero"), std::string::npos);
  EXPECT_NE(error_of(std::string(3000, '[')), "");
  EXPECT_NE(error_of(std::string("\x00\xff\x01", 3)), "");
}

TEST(PinPlan, MistakesAreAtTheLinesOfTheirKeys) {
  EXPECT_NE(
      error_of("name: a\nworkload:\n    networks: o2ib\n").find("sweep.yaml:3:5: networks: o2ib"),
      std::string::npos)
      << error_of("name: a\nworkload:\n    networks: o2ib\n");
  EXPECT_NE(error_of("name: a\nmeasured: router\n").find("sweep.yaml:2:1: measured"),
            std::string::npos);
  EXPECT_NE(error_of("name: a\nhosts: {client: {on: 'ssh:a'}}\n").find("sweep.yaml:2:1: hosts"),
            std::string::npos);
}

// lnet-pin writes to /proc and /sys of its own host only.
TEST(PinPlan, SettingsOfOtherHostsAreRefused) {
  const auto with = [](const std::string& server, const std::string& factor) {
    return error_of("interfaces: eth0\nhosts:\n    client: {on: 'ssh:a', addresses: 10.0.0.1}\n" +
                    std::string("    server: {") + server + "addresses: 10.0.0.2}\nfactors:\n    " +
                    factor + "\n");
  };
  for (const char* const factor :
       {"interrupts: [keep, same]", "governor: [performance]", "hugepages: [keep, '64']"}) {
    const std::string error = with("on: 'ssh:b', ", factor);
    EXPECT_NE(error.find("sweep.yaml:6:5: "), std::string::npos) << error;
    EXPECT_NE(error.find("the server is on ssh:b"), std::string::npos) << error;
    EXPECT_NE(with("on: 'slurm:7:b', ", factor).find("run lnet-pin on that host"),
              std::string::npos);
    EXPECT_EQ(with("", factor), "") << "the placed node is on this host";
  }
  EXPECT_EQ(with("on: 'ssh:b', ", "hugepages: keep"), "");
  EXPECT_EQ(with("on: 'ssh:b', ", "idle: [yield, sleep]"), "");
}

TEST(PinPlan, CardsThatTheTrafficDoesNotUseAreRefused) {
  const std::string error = error_of("name: a\ninterfaces: eth0\nfactors: {interrupts: [same]}\n");
  EXPECT_NE(error.find("sweep.yaml:2:1: interfaces: without the key hosts"), std::string::npos)
      << error;
}

TEST(PinPlan, AMachineSurvivesItsFile) {
  const Machine machine = machine_of(kTwoSockets);
  const auto again = machine_of(kTwoSockets);
  EXPECT_EQ(json_of(machine), json_of(again));
  auto read = pin::machine_of(json_of(machine));
  ASSERT_TRUE(read);
  EXPECT_EQ(json_of(*read), json_of(machine));
  Json bad = json_of(machine);
  bad["threads"][0]["cpu"] = 70000;
  EXPECT_FALSE(pin::machine_of(bad));
  bad = json_of(machine);
  bad.erase("distance");
  EXPECT_FALSE(pin::machine_of(bad));
  EXPECT_FALSE(pin::machine_of(Json::array()));
}

}  // namespace
}  // namespace plnet::pin::plan_test
