// SPDX-License-Identifier: BSD-3-Clause
#include "lib/runtime/cpt/plan_report.hpp"

#include <sstream>

#include <nlohmann/json.hpp>

#include "tests/unit/lib/runtime/cpt/machines.hpp"

namespace plnet::runtime::plan_report_test {
namespace {

using By = CptPlanRequest::By;

PlannedMachine planned(const CptPlanRequest& request, const std::string& description) {
  auto done = plan_machine(request, {.synthetic = description});
  EXPECT_TRUE(done) << (done ? "" : done.error().what);
  return done.value_or(PlannedMachine{});
}

TEST(PlanReport, DrawsTheMachineWithThePlan) {
  const auto [plan, topology] = planned(
      {.by = By::kList,
       .reserved_cpus = {0},
       .list = {{.shards = {{.cpu = 2}, {.cpu = 2}}, .memory_node = 1}, {.shards = {{.cpu = 5}}}}},
      "pack:2 [numa(memory=1073741824)] l3:1 core:2 pu:2");
  EXPECT_EQ(
      draw_plan(plan, topology),
      "pack:2 [numa(memory=1073741824)] l3:1 core:2 pu:2: 8 CPUs, 4 cores, 2 packages, 2 NUMA "
      "nodes\n"
      "package 0\n"
      "  node 0  1.0 GiB\n"
      "    l3 0   [0:sys 1:-] [2:c0s0+c0s1 3:-]\n"
      "package 1\n"
      "  node 1  1.0 GiB  memory of c0 c1\n"
      "    l3 1   [4:- 5:c1s2] [6:- 7:-]\n"
      "[...] a core, 4: CPU 4, c0s1: shard 1 in CPT 0, sys: left to the system, -: unused, x: "
      "not ours\n");
}

TEST(PlanReport, DrawsForeignCpusAndNodesWithoutCpus) {
  const Topology odd = machines::asymmetric_machine();
  const auto plan = plan_cpts({}, odd);
  ASSERT_TRUE(plan);
  const std::string drawing = draw_plan(*plan, odd);
  EXPECT_NE(drawing.find("[0:c0s0 1:-] [2:c0s1 3:-] [4:c0s2] [5:x]\n"), std::string::npos)
      << drawing;
  EXPECT_NE(drawing.find("node 1  8.0 GiB  no CPUs\n"), std::string::npos) << drawing;
}

TEST(PlanReport, RowsOfALargeMachineWrap) {
  const auto [plan, topology] = planned({}, "numa:2 core:64 pu:2");
  std::istringstream lines(draw_plan(plan, topology));
  std::size_t count = 0;
  for (std::string line; std::getline(lines, line); ++count) {
    EXPECT_LE(line.size(), 100U) << line;
  }
  EXPECT_LT(count, 40U);
}

TEST(PlanReport, TextHoldsReasonAndWarnings) {
  const auto [plan, topology] = planned({}, "core:2 pu:1");
  const std::string text = plan_text(plan, topology);
  EXPECT_NE(text.find("plan: 1 CPT, 2 shards: one CPT for each NUMA node, one shard on each core; "
                      "with fewer than 4 cores none is left to the system\n"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("warning: shards poll on every CPU (0-1)"), std::string::npos);
}

TEST(PlanReport, Document) {
  const auto [plan, topology] =
      planned({.by = By::kList,
               .list = {{.shards = {{.cpu = 0}},
                         .memory_node = 1,
                         .nic_queues = {{.interface = "eth0", .queues = {0, 1, 2, 5}}}},
                        {.shards = {{.cpu = 2}}}}},
              "numa:2 core:2 pu:1");
  EXPECT_EQ(plan_to_json(plan, topology).dump(),
            R"({"by":"list","reason":"as listed","machine":{"name":"numa:2 core:2 pu:1",)"
            R"("cpus":"0-3","cores":4,"packages":1,"numa nodes":"0-1","distances":"assumed"},)"
            R"("cpts":[{"cpt":0,"memory node":1,"shards":[{"shard":0,"cpu":0,"core":0,"smt":0,)"
            R"("package":0,"l3":-1,"numa node":0,"remote memory":true}],"nic queues":)"
            R"({"eth0":"0-2,5"},"distance to cpts":"0:10 1:20","distance to nodes":"0:10 1:20"},)"
            R"({"cpt":1,"memory node":1,"shards":[{"shard":1,"cpu":2,"core":2,"smt":0,)"
            R"("package":0,"l3":-1,"numa node":1}],"distance to cpts":"0:20 1:10",)"
            R"("distance to nodes":"0:20 1:10"}],"reserved cpus":"","admin cpus":"1,3",)"
            R"("warnings":[{"kind":"remote_memory","text":)"
            R"j("cpt 0: memory is on node 1, but CPUs 0 are on node 0 (distance 20)"}]})j");
}

// The first CPT with memory on the adapter's node, as the node selects it for an NI there.
TEST(PlanReport, AdaptersAreNearACpt) {
  auto [plan, topology] = planned({.by = By::kNumaNode}, "numa:2 core:2 pu:1");
  topology.adapters = {{.name = "eth0", .numa_node = -1},
                       {.name = "mlx5_0", .rdma = true, .numa_node = 1}};
  EXPECT_EQ(plan_to_json(plan, topology)["machine"]["adapters"].dump(),
            R"([{"name":"eth0","kind":"network","numa node":-1},)"
            R"({"name":"mlx5_0","kind":"rdma","numa node":1,"near cpt":1}])");
}

TEST(PlanReport, ConfigurationToPaste) {
  const auto [plan, topology] =
      planned({.by = By::kNumaNode, .reserved_cpus = {0}}, "numa:2 core:2 pu:1");
  EXPECT_EQ(request_to_json(request_of(plan)).dump(),
            R"({"plnet":{"cpts":{"by":"list","reserved_cpus":"0","list":[{"shards":[{"cpu":1}],)"
            R"("memory node":0},{"shards":[{"cpu":2},{"cpu":3}],"memory node":1}]}}})");
  EXPECT_EQ(
      request_to_json({.by = By::kPattern, .partitions = 2, .pattern = "X[0]", .shards_per_cpt = 1})
          .dump(),
      R"({"plnet":{"cpts":{"by":"pattern","partitions":2,"pattern":"X[0]","shards_per_cpt":1}}})");
}

}  // namespace
}  // namespace plnet::runtime::plan_report_test
