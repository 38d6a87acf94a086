// SPDX-License-Identifier: BSD-3-Clause
// Expected values were derived by hand from lustre-release lnet/lnet/lib-cpt.c and the examples of
// its manual page cpu_pattern(4).
#include "lib/runtime/cpt/kernel_layout.hpp"

#include <algorithm>

#include "tests/unit/lib/runtime/cpt/machines.hpp"

namespace plnet::runtime::kernel_layout_test {
namespace {

using machines::machine;
using machines::Numbers;
using Partitions = std::vector<Numbers>;

UsableCpus all_of(const Topology& topology) {
  UsableCpus usable;
  for (const HardwareThread& thread : topology.threads) {
    if (thread.allowed()) {
      usable.push_back(&thread);
    }
  }
  std::ranges::sort(usable, {}, [](const HardwareThread* thread) { return thread->cpu; });
  return usable;
}

unsigned estimate(const std::string& description) {
  const Topology topology = machine(description);
  return estimate_partitions(topology, all_of(topology));
}

Numbers range(unsigned from, unsigned to, unsigned step = 1) {
  Numbers numbers;
  for (; from <= to; from += step) {
    numbers.push_back(from);
  }
  return numbers;
}

Outcome<KernelLayout> apply(const std::string& description, const std::string& text,
                            unsigned partitions = 0) {
  const Topology topology = machine(description);
  const auto pattern = parse_cpt_pattern(text);
  if (!pattern) {
    return std::unexpected(pattern.error());
  }
  return apply_pattern(*pattern, text, topology, all_of(topology), partitions);
}

Partitions laid_out(const std::string& description, const std::string& text,
                    unsigned partitions = 0) {
  const auto layout = apply(description, text, partitions);
  EXPECT_TRUE(layout) << (layout ? "" : layout.error().what);
  return layout ? layout->partitions : Partitions{};
}

std::string refusal(const std::string& description, const std::string& text,
                    unsigned partitions = 0) {
  const auto layout = apply(description, text, partitions);
  return layout ? "accepted" : layout.error().what;
}

TEST(KernelLayout, EstimateOfPartitions) {
  EXPECT_EQ(estimate("pu:1"), 1U);
  EXPECT_EQ(estimate("core:4 pu:1"), 1U);
  EXPECT_EQ(estimate("core:6 pu:1"), 3U);
  EXPECT_EQ(estimate("core:7 pu:1"), 1U);  // 4, 3, 2 do not divide 7
  EXPECT_EQ(estimate("core:16 pu:1"), 8U);
  EXPECT_EQ(estimate(machines::kTwoPackages), 4U);
  EXPECT_EQ(estimate(machines::kSmt4), 2U);
  EXPECT_EQ(estimate(machines::kMilanNps4), 64U);
}

TEST(KernelLayout, UnevenSplitGivesTheFirstOnesMore) {
  EXPECT_EQ(laid_out("core:16 pu:1", "", 3),
            (Partitions{range(0, 5), range(6, 10), range(11, 15)}));
}

TEST(KernelLayout, SplitKeepsSiblingsTogether) {
  EXPECT_EQ(laid_out("core:8 pu:2(indexes=2*8:1*2)", "", 3),
            (Partitions{{0, 1, 2, 8, 9, 10}, {3, 4, 5, 11, 12}, {6, 7, 13, 14, 15}}));
  EXPECT_EQ(laid_out(machines::kInterleaved, "", 4),
            (Partitions{{0, 2, 8, 10}, {4, 6, 12, 14}, {1, 3, 9, 11}, {5, 7, 13, 15}}));
}

TEST(KernelLayout, SplitGoesNodeByNodeAndFillsAcrossThem) {
  EXPECT_EQ(laid_out("numa:2 core:3 pu:1", "", 4), (Partitions{{0, 1}, {2, 3}, {4}, {5}}));
  EXPECT_EQ(laid_out(machines::kTwoPackages, ""),
            (Partitions{range(0, 3), range(4, 7), range(8, 11), range(12, 15)}));
}

TEST(KernelLayout, SplitGoesPackageByPackageWithinANode) {
  // One node over two packages with alternating CPUs: a partition stays within one package as long
  // as possible.
  EXPECT_EQ(laid_out("[numa] pack:2 core:4 pu:1(indexes=4*2:1*4)", "", 3),
            (Partitions{{0, 2, 4}, {1, 3, 5}, {6, 7}}));
}

TEST(KernelLayout, EveryCpuIsInOnePartitionForAnyNumber) {
  for (const char* description : {machines::kTwoPackages, machines::kInterleaved, machines::kSmt4,
                                  "numa:3 core:5 pu:2", "core:7 pu:1"}) {
    const Topology topology = machine(description);
    for (unsigned count = 1; count <= topology.threads.size(); ++count) {
      Numbers seen;
      const auto parts = laid_out(description, "", count);
      EXPECT_EQ(parts.size(), count);
      for (const auto& part : parts) {
        EXPECT_GE(part.size(), topology.threads.size() / count);
        EXPECT_LE(part.size(), topology.threads.size() / count + 1);
        seen.insert(seen.end(), part.begin(), part.end());
      }
      std::ranges::sort(seen);
      EXPECT_EQ(seen, range(0, static_cast<unsigned>(topology.threads.size()) - 1))
          << description << " in " << count;
    }
  }
}

TEST(KernelLayout, MoreThanFourTimesTheEstimateIsWarnedOf) {
  EXPECT_TRUE(apply("core:4 pu:1", "", 4)->warnings.empty());
  const auto layout = apply(machines::kSmt4, "", 9);
  ASSERT_EQ(layout->warnings.size(), 1U);
  EXPECT_EQ(layout->warnings[0], "partitions: 9 are many for this machine; Lustre would choose 2");
  EXPECT_EQ(refusal("core:4 pu:1", "", 5), "partitions: 5 partitions, but only 4 usable CPUs");
}

TEST(KernelLayout, OnePerNode) {
  EXPECT_EQ(laid_out(machines::kTwoPackages, "N"), (Partitions{range(0, 7), range(8, 15)}));
  EXPECT_EQ(laid_out(machines::kInterleaved, "N"), (Partitions{range(0, 14, 2), range(1, 15, 2)}));
  const auto milan = laid_out(machines::kMilanNps4, "N");
  ASSERT_EQ(milan.size(), 8U);
  EXPECT_EQ(milan[7], range(112, 127));
  EXPECT_EQ(laid_out("core:8 pu:1", "N"), (Partitions{range(0, 7)}));
  // A number takes precedence over a bare N.
  EXPECT_EQ(laid_out(machines::kTwoPackages, "N", 1), (Partitions{range(0, 15)}));
}

TEST(KernelLayout, ListsOfCpus) {
  EXPECT_EQ(laid_out(machines::kTwoPackages, "0[0-3] 1[4-7]"),
            (Partitions{range(0, 3), range(4, 7)}));
  EXPECT_EQ(laid_out(machines::kTwoPackages, "1[0-2/2,6,15] 0[1-7/3]"),
            (Partitions{{1, 4, 7}, {0, 2, 6, 15}}));
  EXPECT_EQ(laid_out(machines::kTwoPackages, "0[*]"), (Partitions{range(0, 15)}));
}

TEST(KernelLayout, ListsOfNodes) {
  const auto parts = laid_out(machines::kMilanNps4, "N 0[0,1] 1[2-7/2]");
  ASSERT_EQ(parts.size(), 2U);
  EXPECT_EQ(parts[0], range(0, 31));
  EXPECT_EQ(parts[1].size(), 48U);
  EXPECT_EQ(parts[1].front(), 32U);
  EXPECT_EQ(parts[1].back(), 111U);
}

TEST(KernelLayout, ListsThatDoNotFitTheMachine) {
  const char* two = machines::kTwoPackages;
  EXPECT_EQ(refusal(two, "0[16]"),
            "pattern \"0[16]\": column 3: cpu 16 is over the highest here, 15");
  EXPECT_EQ(refusal(two, "N 0[2]"),
            "pattern \"N 0[2]\": column 5: node 2 is over the highest here, 1");
  EXPECT_EQ(refusal(two, "0[0-3] 1[3]"),
            "pattern \"0[0-3] 1[3]\": column 10: cpu 3 is in partition 0 already");
  EXPECT_EQ(refusal(two, "N 0[0] 1[0]"),
            "pattern \"N 0[0] 1[0]\": column 10: node 0 is in partition 0 already");
  EXPECT_EQ(refusal(two, "0[0] 0[1]"),
            "pattern \"0[0] 0[1]\": column 6: partition 0 is given twice");
  EXPECT_EQ(refusal(two, "0[0] 2[1]"),
            "pattern \"0[0] 2[1]\": column 6: partition 2: there are 2 partitions, numbered from 0 "
            "without gaps");
  EXPECT_EQ(refusal(two, "0[0] 1[1]", 3),
            "pattern \"0[0] 1[1]\": it describes 2 partitions, but 3 were asked for");
  EXPECT_EQ(refusal(two, "N 0[0] 1[1] 2[1]"),
            "pattern \"N 0[0] 1[1] 2[1]\": 3 partitions, but only 2 NUMA nodes");
  EXPECT_EQ(refusal("core:2 pu:1", "0[0-1/9]"),
            "pattern \"0[0-1/9]\": column 3: stride 9 is over the highest cpu here, 1");
  EXPECT_EQ(refusal("[numa(memory=1GB)] [numa(memory=1GB)] core:2 pu:1", "N 0[1]"),
            "pattern \"N 0[1]\": column 3: partition 0 has no usable CPU");
}

TEST(KernelLayout, CpusThatAreNotOursAreRefusedByName) {
  const Topology odd = machines::asymmetric_machine();
  const auto refused = [&](const std::string& text) {
    const auto layout = apply_pattern(*parse_cpt_pattern(text), text, odd, all_of(odd), 0);
    return layout ? "accepted" : layout.error().what;
  };
  EXPECT_EQ(refused("0[5]"),
            "pattern \"0[5]\": column 3: cpu 5 is outside the cgroup that this process runs in");
  const auto all = apply_pattern(*parse_cpt_pattern("0[*]"), "0[*]", odd, all_of(odd), 0);
  ASSERT_TRUE(all);
  EXPECT_EQ(all->partitions, (Partitions{range(0, 4)}));
}

TEST(KernelLayout, Exclusion) {
  // The examples of the manual page, on 16 CPUs without siblings.
  EXPECT_EQ(laid_out("numa:4 core:4 pu:1", "X[0]", 3),
            (Partitions{range(1, 5), range(6, 10), range(11, 15)}));
  EXPECT_EQ(laid_out("numa:4 core:4 pu:1", "C[0,1]", 4),
            (Partitions{{2, 3}, {6, 7}, {10, 11}, {14, 15}}));
  EXPECT_EQ(laid_out("numa:4 core:4 pu:1", "N C[0-1]"),
            (Partitions{{2, 3}, {6, 7}, {10, 11}, {14, 15}}));
  EXPECT_EQ(laid_out("numa:2 core:4 pu:1", "N X[0,4]"), (Partitions{range(1, 3), range(5, 7)}));
  EXPECT_EQ(laid_out("numa:2 core:4 pu:1", "N X[0][4]"), (Partitions{range(1, 3), range(5, 7)}));
}

TEST(KernelLayout, RelativeNumbersAreDifferencesOfCpuNumbers) {
  // Node 1 has CPUs 1, 3, ... 15: the CPU after its first is 2, which is not in it.
  EXPECT_EQ(laid_out(machines::kInterleaved, "N C[0-1]"),
            (Partitions{range(2, 14, 2), range(3, 15, 2)}));
}

TEST(KernelLayout, ExclusionThatLeavesNothing) {
  EXPECT_EQ(refusal("numa:2 core:2 pu:1", "N X[0-1]"),
            "pattern \"N X[0-1]\": it excludes every usable CPU of partition 0");
  EXPECT_EQ(refusal("numa:2 core:2 pu:1", "N X[0]", 3),
            "pattern \"N X[0]\": one partition for each of 2 NUMA nodes, but 3 were asked for");
  EXPECT_EQ(refusal("numa:2 core:2 pu:1", "N C[9]"),
            "pattern \"N C[9]\": column 5: cpu 9 is over the highest here, 2");
}

TEST(KernelLayout, ReportsDifferencesFromTheKernel) {
  const auto bare = apply("core:16 pu:1", "X[0]");
  ASSERT_TRUE(bare);
  EXPECT_EQ(bare->partitions.size(), 8U);
  ASSERT_EQ(bare->warnings.size(), 1U);
  EXPECT_NE(bare->warnings[0].find("counts brackets and makes 1"), std::string::npos);
  const auto stride = apply("numa:2 core:8 pu:1", "N C[0-6/2]");
  ASSERT_TRUE(stride);
  EXPECT_EQ(stride->partitions, (Partitions{{1, 3, 5, 7}, {9, 11, 13, 15}}));
  ASSERT_EQ(stride->warnings.size(), 1U);
  EXPECT_NE(stride->warnings[0].find("ignores it after C"), std::string::npos);
}

}  // namespace
}  // namespace plnet::runtime::kernel_layout_test
