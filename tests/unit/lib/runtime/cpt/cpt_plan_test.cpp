// SPDX-License-Identifier: BSD-3-Clause
#include "lib/runtime/cpt/cpt_plan.hpp"

#include <algorithm>
#include <set>

#include "tests/unit/lib/runtime/cpt/machines.hpp"

namespace plnet::runtime::cpt_plan_test {
namespace {

using machines::machine;
using machines::Numbers;
using By = CptPlanRequest::By;
using Kind = PlanWarning::Kind;

CptPlan planned(const CptPlanRequest& request, const Topology& topology) {
  auto plan = plan_cpts(request, topology);
  EXPECT_TRUE(plan) << (plan ? "" : plan.error().what);
  return plan.value_or(CptPlan{});
}

std::string refusal(const CptPlanRequest& request, const Topology& topology) {
  const auto plan = plan_cpts(request, topology);
  return plan ? "accepted" : plan.error().what;
}

CptPlanRequest list_of(std::vector<CptRequest> list) {
  return {.by = By::kList, .list = std::move(list)};
}

Numbers cpus_of(const PlannedCpt& cpt) {
  Numbers cpus;
  std::ranges::transform(cpt.shards, std::back_inserter(cpus), &PlannedShard::cpu);
  return cpus;
}

std::string warning_of(const CptPlan& plan, Kind kind) {
  const auto found = std::ranges::find(plan.warnings, kind, &PlanWarning::kind);
  return found == plan.warnings.end() ? "" : found->text;
}

Topology asymmetric() {
  return machines::asymmetric_machine();
}

TEST(CptPlanAuto, LeavesOneCoreOfEachLargeNodeToTheSystem) {
  const CptPlan plan = planned({}, machine("pack:2 [numa] core:8 pu:2"));
  ASSERT_EQ(plan.cpts.size(), 2U);
  EXPECT_EQ(plan.reserved_cpus, (Numbers{0, 1, 16, 17}));
  EXPECT_EQ(plan.admin_cpus, plan.reserved_cpus);
  EXPECT_EQ(cpus_of(plan.cpts[0]), (Numbers{2, 4, 6, 8, 10, 12, 14}));
  EXPECT_EQ(plan.cpts[0].spare_cpus, (Numbers{3, 5, 7, 9, 11, 13, 15}));
  EXPECT_EQ(plan.cpts[1].shards.front().number, 7U);
  EXPECT_EQ(plan.shard_count, 14U);
  EXPECT_EQ(plan.usable_cpus, 32U);
  EXPECT_TRUE(plan.warnings.empty());
}

TEST(CptPlan, WarnsOfSettingsThatTheMethodIgnores) {
  const Topology two = machine("pack:1 [numa] core:2 pu:1");
  const auto told = [&](const CptPlanRequest& request) {
    return warning_of(planned(request, two), Kind::kNoEffect);
  };
  const std::vector<CptRequest> list{{.shards = {{.cpu = 0}}}};
  EXPECT_EQ(told({.list = list}), "list: no effect with `by: auto`, expected `by: list`");
  EXPECT_EQ(told({.by = By::kNumaNode, .pattern = "N"}),
            "pattern: no effect with `by: numa`, expected `by: pattern`");
  EXPECT_EQ(told({.by = By::kCore, .partitions = 1}),
            "partitions: no effect with `by: core`, expected `by: partitions` or `by: pattern`");
  EXPECT_NE(told({.by = By::kList, .shards_per_cpt = 1, .list = list}), "");
  EXPECT_EQ(told({.by = By::kList, .list = list}), "");
  EXPECT_EQ(told({.by = By::kPattern, .partitions = 1, .pattern = "0[0-1]"}), "");
  EXPECT_EQ(told({.by = By::kPartitions, .partitions = 1, .shards_per_cpt = 1}), "");
}

TEST(CptPlan, AnErrorNamesThePlaceOfTheEntry) {
  const Topology two = machine("pack:1 [numa] core:2 pu:1");
  CptPlanRequest request = list_of({{.shards = {{.cpu = 0}, {.cpu = 9}}}});
  EXPECT_TRUE(refusal(request, two).starts_with("cpt 0 shard 1: cpu 9: ")) << refusal(request, two);
  request.list[0].shards[1].origin.place = "node.yaml:7:24";
  EXPECT_TRUE(refusal(request, two).starts_with("node.yaml:7:24: cpt 0 shard 1: cpu 9: "));
  request = list_of({{.shards = {{.cpu = 0}}, .memory_node = 5}});
  request.list[0].memory_origin.place = "node.yaml:8:30";
  EXPECT_TRUE(refusal(request, two).starts_with("node.yaml:8:30: cpt 0: memory node 5: "));
  request = {.by = By::kPattern, .pattern = "0[0-77]"};
  request.pattern_origin.place = "node.yaml:3:18";
  EXPECT_TRUE(refusal(request, two).starts_with("node.yaml:3:18: pattern "));
  request = {.reserved_cpus = {5}};
  request.reserved_origin.place = "node.yaml:4:24";
  EXPECT_TRUE(refusal(request, two).starts_with("node.yaml:4:24: reserved_cpus: cpu 5: "));
  EXPECT_EQ(request, CptPlanRequest{.reserved_cpus = {5}})
      << "its position differs from its number";
}

TEST(CptPlanAuto, LeavesOneCoreOfASmallMachine) {
  const CptPlan plan = planned({}, machine("numa:2 core:2 pu:1"));
  EXPECT_EQ(plan.reserved_cpus, Numbers{0});
  EXPECT_EQ(cpus_of(plan.cpts[0]), Numbers{1});
  EXPECT_EQ(cpus_of(plan.cpts[1]), (Numbers{2, 3}));
}

TEST(CptPlanAuto, UsesEveryCoreOfATinyMachineAndWarns) {
  const CptPlan plan = planned({}, machine("core:2 pu:1"));
  EXPECT_TRUE(plan.reserved_cpus.empty());
  EXPECT_EQ(cpus_of(plan.cpts[0]), (Numbers{0, 1}));
  EXPECT_EQ(plan.admin_cpus, (Numbers{0, 1}));
  EXPECT_EQ(warning_of(plan, Kind::kNoSystemCpu),
            "shards poll on every CPU (0-1): the admin thread and the system take turns with them");
  EXPECT_EQ(planned({}, machine("pu:1")).shard_count, 1U);
}

TEST(CptPlanAuto, DoesNotTakeTheOnlyCoreOfANode) {
  const CptPlan plan = planned({}, machine("numa:4 core:1 pu:1"));
  EXPECT_EQ(plan.cpts.size(), 4U);
  EXPECT_TRUE(plan.reserved_cpus.empty());
}

TEST(CptPlanAuto, ObeysReservedCpusAndShardsPerCpt) {
  const CptPlan plan =
      planned({.shards_per_cpt = 2, .reserved_cpus = {3}}, machine("pack:2 [numa] core:8 pu:1"));
  EXPECT_EQ(plan.reserved_cpus, Numbers{3});
  EXPECT_EQ(cpus_of(plan.cpts[0]), (Numbers{0, 1}));
  EXPECT_EQ(cpus_of(plan.cpts[1]), (Numbers{8, 9}));
}

TEST(CptPlanAuto, StaysWithinTheLimitOfShards) {
  const CptPlan plan = planned({}, machine("numa:4 core:128 pu:2"));
  EXPECT_EQ(plan.shard_count, kAutoShards);
  for (const PlannedCpt& cpt : plan.cpts) {
    EXPECT_EQ(cpt.shards.size(), 16U);
  }
}

TEST(CptPlanAuto, MilanWithFourNodesPerPackage) {
  const CptPlan plan = planned({}, machine(machines::kMilanNps4));
  ASSERT_EQ(plan.cpts.size(), 8U);
  EXPECT_EQ(plan.shard_count, 8U * 8);
  EXPECT_EQ(plan.cpts[7].memory_node, 7U);
  EXPECT_EQ(plan.cpts[7].shards[0].package, 1U);
  EXPECT_EQ(plan.cpts[7].shards[0].l3, 14);
}

TEST(CptPlanAuto, KeepsToTheCgroup) {
  const CptPlan plan = planned({}, asymmetric());
  ASSERT_EQ(plan.cpts.size(), 1U);  // node 1 has memory only
  EXPECT_EQ(cpus_of(plan.cpts[0]), (Numbers{0, 2, 4}));
  EXPECT_EQ(plan.cpts[0].spare_cpus, (Numbers{1, 3}));
  EXPECT_EQ(plan.admin_cpus, (Numbers{1, 3}));
  EXPECT_EQ(plan.usable_cpus, 5U);
  EXPECT_EQ(warning_of(plan, Kind::kMixedCores),
            "cpt 0: it mixes fast and slow cores, the slow ones set its pace");
}

TEST(CptPlan, KeepsToTheMaskItWasStartedWith) {
  Topology masked = machine("core:4 pu:1");
  masked.threads[0].in_affinity = false;
  EXPECT_EQ(cpus_of(planned({.by = By::kNumaNode}, masked).cpts[0]), (Numbers{1, 2, 3}));
  EXPECT_EQ(
      refusal({.by = By::kPattern, .pattern = "0[0]"}, masked),
      "pattern \"0[0]\": column 3: cpu 0 is outside the CPU mask that this process was started "
      "with");
  const CptPlan listed = planned(list_of({{.shards = {{.cpu = 0}}}}), masked);
  EXPECT_TRUE(listed.cpts[0].shards[0].outside_mask);
  EXPECT_EQ(warning_of(listed, Kind::kOutsideMask),
            "cpus 0: outside the CPU mask that this process was started with");
  for (HardwareThread& thread : masked.threads) {
    thread.in_cgroup = false;
  }
  EXPECT_EQ(refusal({}, masked), "this process may not use any CPU of this machine");
}

TEST(CptPlan, ByNumaNodeTakesEveryCpuAndWarnsOfSiblings) {
  const CptPlan plan = planned({.by = By::kNumaNode}, machine(machines::kTwoPackages));
  ASSERT_EQ(plan.cpts.size(), 2U);
  EXPECT_EQ(cpus_of(plan.cpts[1]), (Numbers{8, 9, 10, 11, 12, 13, 14, 15}));
  EXPECT_EQ(warning_of(plan, Kind::kSharedCore).substr(0, 11), "cores 0-7: ");
  EXPECT_TRUE(plan.cpts[0].shards[0].shares_core);
  EXPECT_FALSE(plan.cpts[0].shards[0].shares_cpu);
  EXPECT_EQ(plan.cpts[0].distance_to_cpt, (Numbers{10, 20}));
  EXPECT_EQ(plan.cpts[1].distance_to_node, (Numbers{20, 10}));
}

TEST(CptPlan, ShardsTakeFirstSiblingsFirst) {
  const CptPlan plan =
      planned({.by = By::kNumaNode, .shards_per_cpt = 5}, machine(machines::kInterleaved));
  EXPECT_EQ(cpus_of(plan.cpts[0]), (Numbers{0, 8, 2, 4, 6}));
  EXPECT_EQ(plan.cpts[0].spare_cpus, (Numbers{10, 12, 14}));
  EXPECT_EQ(cpus_of(plan.cpts[1]), (Numbers{1, 9, 3, 5, 7}));
  const std::set<unsigned> admin(plan.admin_cpus.begin(), plan.admin_cpus.end());
  EXPECT_EQ(admin, (std::set<unsigned>{10, 11, 12, 13, 14, 15}));
}

TEST(CptPlan, ByCore) {
  const CptPlan plan = planned({.by = By::kCore}, machine(machines::kSmt4));
  ASSERT_EQ(plan.cpts.size(), 4U);
  EXPECT_EQ(cpus_of(plan.cpts[2]), (Numbers{8, 9, 10, 11}));
  EXPECT_EQ(planned({.by = By::kCore}, asymmetric()).cpts.size(), 3U);
  EXPECT_EQ(refusal({.by = By::kCore}, machine("core:300 pu:1")),
            "300 CPTs, but LNet allows at most 256");
}

TEST(CptPlan, ByPartitionsReservedCpusStayOut) {
  const CptPlan plan = planned({.by = By::kPartitions, .partitions = 2, .reserved_cpus = {0, 1}},
                               machine("core:6 pu:1"));
  EXPECT_EQ(cpus_of(plan.cpts[0]), (Numbers{2, 3}));
  EXPECT_EQ(cpus_of(plan.cpts[1]), (Numbers{4, 5}));
  EXPECT_EQ(plan.admin_cpus, (Numbers{0, 1}));
  EXPECT_EQ(planned({.by = By::kPartitions}, machine("core:16 pu:1")).cpts.size(), 8U);
}

TEST(CptPlan, ByPattern) {
  const CptPlan plan =
      planned({.by = By::kPattern, .pattern = "N 0[1] 1[0]"}, machine("numa:2 core:2 pu:1"));
  EXPECT_EQ(cpus_of(plan.cpts[0]), (Numbers{2, 3}));
  EXPECT_EQ(plan.cpts[0].memory_node, 1U);
  EXPECT_EQ(refusal({.by = By::kPattern, .pattern = "0[0", .reserved_cpus = {}}, machine("pu:2")),
            "pattern \"0[0\": column 4: expected ',' or ']', the pattern ends here");
  EXPECT_EQ(refusal({.by = By::kPattern, .pattern = "0[0]", .reserved_cpus = {0}}, machine("pu:2")),
            "pattern \"0[0]\": column 3: cpu 0 is reserved (reserved_cpus)");
  EXPECT_FALSE(warning_of(planned({.by = By::kPattern, .pattern = "X[0]"}, machine("core:16 pu:1")),
                          Kind::kUnlikeKernel)
                   .empty());
}

TEST(CptPlan, FewerCpusThanShardsAskedFor) {
  const CptPlan plan =
      planned({.by = By::kNumaNode, .shards_per_cpt = 3}, machine("numa:2 core:2 pu:1"));
  EXPECT_EQ(plan.shard_count, 4U);
  EXPECT_EQ(warning_of(plan, Kind::kFewerCpus), "cpt 0: 2 CPUs, so 2 shards instead of 3");
}

TEST(CptPlan, TooManyShardsSuggestsASolution) {
  EXPECT_EQ(refusal({.by = By::kNumaNode}, machine("numa:4 core:80 pu:1")),
            "320 shards, at most 256 are possible; shards_per_cpt: 64 would do");
}

TEST(CptPlanList, ChoosesCpuMemoryAndQueuesIndependently) {
  const CptPlan plan = planned(
      list_of({{.shards = {{.cpu = 2}, {.core = 3, .smt = 1}},
                .memory_node = 1,
                .nic_queues = {{.interface = "eth0", .queues = {0, 1}}}},
               {.shards = {{.core = 5}}, .nic_queues = {{.interface = "eth0", .queues = {2}}}}}),
      machine(machines::kTwoPackages));
  EXPECT_EQ(cpus_of(plan.cpts[0]), (Numbers{2, 7}));
  EXPECT_EQ(plan.cpts[0].memory_node, 1U);
  EXPECT_TRUE(plan.cpts[0].shards[0].remote_memory);
  EXPECT_EQ(warning_of(plan, Kind::kRemoteMemory),
            "cpt 0: memory is on node 1, but CPUs 2,7 are on node 0 (distance 20)");
  EXPECT_EQ(cpus_of(plan.cpts[1]), Numbers{10});
  EXPECT_EQ(plan.cpts[1].memory_node, 1U);  // the node of its CPU
  EXPECT_EQ(plan.cpts[1].nic_queues[0].queues, Numbers{2});
}

TEST(CptPlanList, TwoShardsMayShareACpu) {
  const CptPlan plan =
      planned(list_of({{.shards = {{.cpu = 1}}}, {.shards = {{.cpu = 1}, {.cpu = 0}}}}),
              machine("core:2 pu:1"));
  EXPECT_TRUE(plan.any_shared_cpu());
  EXPECT_TRUE(plan.cpts[0].shards[0].shares_cpu);
  EXPECT_FALSE(plan.cpts[1].shards[1].shares_cpu);
  EXPECT_EQ(warning_of(plan, Kind::kSharedCpu), "cpu 1: shards 0-1 share it and take turns");
}

TEST(CptPlanList, MemoryOnlyNodeServesAsMemory) {
  const CptPlan plan = planned(list_of({{.shards = {{.cpu = 0}}, .memory_node = 1}}), asymmetric());
  EXPECT_EQ(plan.cpts[0].memory_node, 1U);
  EXPECT_EQ(warning_of(plan, Kind::kRemoteMemory),
            "cpt 0: memory is on node 1, but CPUs 0 are on node 0 (distance 17)");
}

TEST(CptPlan, NodeWithoutMemoryBorrowsFromTheNearest) {
  Topology bare = machine("numa:3 core:2 pu:1");
  bare.nodes[0].memory_bytes = 0;
  bare.distance[0] = {10, 31, 21};
  const CptPlan plan = planned({.by = By::kNumaNode}, bare);
  EXPECT_EQ(plan.cpts[0].memory_node, 2U);
  EXPECT_EQ(plan.cpts[1].memory_node, 1U);
  EXPECT_EQ(warning_of(plan, Kind::kNoNodeMemory),
            "cpt 0: its own node has no memory, node 2 is the nearest that has");
  EXPECT_EQ(refusal(list_of({{.shards = {{.cpu = 0}}, .memory_node = 0}}), bare),
            "cpt 0: memory node 0 has no memory for us");
}

TEST(CptPlan, CpusWithoutANode) {
  Topology lost = machine("numa:2 core:2 pu:1");
  lost.threads[0].numa_node = -1;
  const CptPlan plan = planned({.by = By::kNumaNode}, lost);
  ASSERT_EQ(plan.cpts.size(), 3U);
  EXPECT_EQ(cpus_of(plan.cpts[2]), Numbers{0});
  EXPECT_EQ(plan.cpts[2].memory_node, 0U);
}

TEST(CptPlanList, NonsenseIsRefusedPrecisely) {
  const Topology two = machine(machines::kTwoPackages);
  const auto list = [&](std::vector<CptRequest> entries) {
    return refusal(list_of(std::move(entries)), two);
  };
  const CptRequest fine{.shards = {{.cpu = 0}}};
  EXPECT_EQ(list({}), "list: expected at least one CPT");
  EXPECT_EQ(list({fine, {}}), "cpt 1: expected at least one shard");
  EXPECT_EQ(list({fine, {.shards = {{.cpu = 99}}}}),
            "cpt 1 shard 0: cpu 99: this machine has CPUs 0-15");
  EXPECT_EQ(list({{.shards = {{.cpu = 0}, {.core = 8}}}}),
            "cpt 0 shard 1: core 8: this machine has cores 0-7");
  EXPECT_EQ(list({{.shards = {{.core = 0, .smt = 2}}}}),
            "cpt 0 shard 0: core 0 smt 2: that core has 2 hardware threads, counted from 0");
  EXPECT_EQ(list({{.shards = {{.cpu = 0, .core = 0}}}}),
            "cpt 0 shard 0: expected either cpu or core, not both");
  EXPECT_EQ(list({{.shards = {{}}}}), "cpt 0 shard 0: expected cpu, or core (with smt)");
  EXPECT_EQ(list({{.shards = {{.cpu = 1, .smt = 1}}}}),
            "cpt 0 shard 0: smt goes with core, not with cpu");
  EXPECT_EQ(list({{.shards = {{.cpu = 0}}, .memory_node = 2}}),
            "cpt 0: memory node 2: this machine has NUMA nodes 0-1");
  EXPECT_EQ(list(std::vector<CptRequest>(257, fine)),
            "list: 257 CPTs, but LNet allows at most 256");
  EXPECT_EQ(list({{.shards = std::vector<ShardRequest>(257, {.cpu = 0})}}),
            "list: 257 shards, at most 256 are possible");
  const auto queues = [&](std::vector<NicQueues> first, std::vector<NicQueues> second) {
    return list({{.shards = {{.cpu = 0}}, .nic_queues = std::move(first)},
                 {.shards = {{.cpu = 1}}, .nic_queues = std::move(second)}});
  };
  EXPECT_EQ(queues({{"eth0", {0, 1}}}, {{"eth0", {1}}}),
            "cpt 1: nic queues of \"eth0\": queue 1 belongs to cpt 0 already");
  EXPECT_EQ(queues({{"eth0", {}}}, {}),
            "cpt 0: nic queues of \"eth0\": expected at least one queue");
  EXPECT_EQ(queues({{"", {0}}}, {}),
            "cpt 0: nic queues of \"\": expected the name of a network interface: 1 to 15 "
            "letters, no blank and no '/'");
  EXPECT_EQ(queues({{"eth0", {4096}}}, {}),
            "cpt 0: nic queues of \"eth0\": queue 4096 is over the limit 4095");
}

TEST(CptPlan, ReservedCpusAreChecked) {
  const Topology two = machine("core:2 pu:1");
  EXPECT_EQ(refusal({.reserved_cpus = {7}}, two),
            "reserved_cpus: cpu 7: this machine has CPUs 0-1");
  EXPECT_EQ(refusal({.reserved_cpus = {0, 1}}, two), "reserved_cpus: no CPU is left to poll on");
  CptPlanRequest both = list_of({{.shards = {{.cpu = 0}}}});
  both.reserved_cpus = {0};
  EXPECT_EQ(refusal(both, two), "cpt 0 shard 0: cpu 0 is in reserved_cpus, too");
  CptPlanRequest offline = list_of({{.shards = {{.cpu = 6}}}});
  EXPECT_EQ(refusal(offline, asymmetric()), "cpt 0 shard 0: cpu 6 is offline");
  offline.list[0].shards[0].cpu = 5;
  EXPECT_EQ(refusal(offline, asymmetric()),
            "cpt 0 shard 0: cpu 5 is outside the cgroup that this process runs in");
}

// Properties of every plan method on every machine.
class EveryMachine : public ::testing::TestWithParam<const char*> {};

TEST_P(EveryMachine, PlansAreSound) {
  const Topology topology = machine(GetParam());
  const auto highest = static_cast<unsigned>(topology.threads.size());
  std::vector<CptPlanRequest> requests;
  for (const By by : {By::kAuto, By::kNumaNode, By::kCore, By::kPartitions, By::kPattern}) {
    for (const unsigned shards : {0U, 1U, 3U}) {
      requests.push_back({.by = by, .pattern = "N", .shards_per_cpt = shards});
      if (highest > 1) {
        requests.push_back(
            {.by = by, .pattern = "", .shards_per_cpt = shards, .reserved_cpus = {highest / 2}});
      }
    }
  }
  for (const CptPlanRequest& request : requests) {
    SCOPED_TRACE(::testing::Message() << name_of(request.by) << " " << request.shards_per_cpt);
    const CptPlan plan = planned(request, topology);
    std::set<unsigned> seen(plan.reserved_cpus.begin(), plan.reserved_cpus.end());
    unsigned number = 0;
    for (const PlannedCpt& cpt : plan.cpts) {
      EXPECT_FALSE(cpt.shards.empty());
      EXPECT_NE(topology.find_node(cpt.memory_node), nullptr);
      EXPECT_EQ(cpt.distance_to_cpt.size(), plan.cpts.size());
      EXPECT_EQ(cpt.distance_to_node.size(), topology.nodes.size());
      for (const PlannedShard& shard : cpt.shards) {
        EXPECT_EQ(shard.number, number++);
        EXPECT_TRUE(seen.insert(shard.cpu).second) << "cpu " << shard.cpu << " used twice";
        EXPECT_FALSE(shard.shares_cpu);
      }
      for (const unsigned cpu : cpt.spare_cpus) {
        EXPECT_TRUE(seen.insert(cpu).second) << "cpu " << cpu << " used twice";
      }
      if (request.shards_per_cpt == 0 && request.by != By::kAuto) {
        EXPECT_TRUE(cpt.spare_cpus.empty());
      }
    }
    EXPECT_EQ(number, plan.shard_count);
    EXPECT_EQ(seen.size(), topology.threads.size());  // every CPU is assigned
    EXPECT_FALSE(plan.admin_cpus.empty());
    EXPECT_FALSE(plan.reason.empty());

    // Given back as a list it is the same plan, except for facts known to the method only.
    const CptPlan again = planned(request_of(plan), topology);
    ASSERT_EQ(again.cpts.size(), plan.cpts.size());
    for (std::size_t i = 0; i < plan.cpts.size(); ++i) {
      EXPECT_EQ(again.cpts[i].shards, plan.cpts[i].shards);
      EXPECT_EQ(again.cpts[i].memory_node, plan.cpts[i].memory_node);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Machines, EveryMachine,
    ::testing::Values("pu:1", "core:2 pu:1", "core:1 pu:2", "numa:2 core:2 pu:1",
                      machines::kTwoPackages, machines::kInterleaved, machines::kSmt4,
                      machines::kMilanNps4, "[numa] pack:2 [numa] l3:2 core:4 pu:2",
                      "pack:2 [numa(memory=1GB)] [numa(memory=2GB)] core:3 pu:2", "core:128 pu:1"));

TEST(PlanMachine, ReadsAndPlans) {
  const auto done = plan_machine({}, {.synthetic = "core:2 pu:1"});
  ASSERT_TRUE(done) << done.error().what;
  EXPECT_EQ(done->topology.threads.size(), 2U);
  EXPECT_EQ(done->plan.shard_count, 2U);
  EXPECT_FALSE(plan_machine({}, {.synthetic = "nonsense"}));
  EXPECT_FALSE(plan_machine({.reserved_cpus = {9}}, {.synthetic = "pu:1"}));
  EXPECT_TRUE(plan_machine({}, {}));
}

}  // namespace
}  // namespace plnet::runtime::cpt_plan_test
