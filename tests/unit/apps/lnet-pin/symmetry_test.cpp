// SPDX-License-Identifier: BSD-3-Clause
#include "apps/lnet-pin/plan/symmetry.hpp"

#include <set>

#include <gtest/gtest.h>

namespace plnet::pin::symmetry_test {
namespace {

Machine machine_of(const char* words) {
  auto machine = read_machine({.synthetic = words}, "");
  EXPECT_TRUE(machine) << (machine ? "" : machine.error().what);
  return *machine;
}

Placement on(std::vector<std::vector<unsigned>> cpts, unsigned memory = 0) {
  Placement placement;
  for (auto& cpus : cpts)
    placement.cpts.push_back({.cpus = std::move(cpus), .memory_node = memory});
  return placement;
}

std::string key(const Placement& placement, const Machine& machine,
                std::vector<unsigned> others = {}) {
  return symmetry_key(placement, machine, others);
}

TEST(PinSymmetry, CoresOfACacheAreEqual) {
  const Machine machine = machine_of("pack:2 [numa] l3:2 core:2 pu:2");
  EXPECT_EQ(key(on({{0}}), machine), key(on({{1}}), machine));
  EXPECT_EQ(key(on({{0}}), machine), key(on({{4}}), machine));
  EXPECT_EQ(key(on({{0, 1}}), machine), key(on({{6, 7}}), machine));
  EXPECT_EQ(key(on({{0, 2}}), machine), key(on({{5, 7}}), machine));
  // Siblings, one cache, two caches, two nodes.
  const std::set<std::string> keys{key(on({{0, 1}}), machine), key(on({{0, 2}}), machine),
                                   key(on({{0, 4}}), machine), key(on({{0, 8}}), machine)};
  EXPECT_EQ(keys.size(), 4U);
}

TEST(PinSymmetry, NodesAreExchangedWithTheirMemory) {
  const Machine machine = machine_of("pack:2 [numa] core:2 pu:1");
  EXPECT_EQ(key(on({{0}}, 0), machine), key(on({{3}}, 1), machine));
  EXPECT_NE(key(on({{0}}, 0), machine), key(on({{0}}, 1), machine));
  EXPECT_EQ(key(on({{0}}, 1), machine), key(on({{2}}, 0), machine));
}

TEST(PinSymmetry, OtherNodesAndCardsBreakIt) {
  Machine machine = machine_of("pack:2 [numa] core:2 pu:1");
  EXPECT_NE(key(on({{0}}, 0), machine, {1}), key(on({{2}}, 1), machine, {1}));
  EXPECT_EQ(key(on({{2}}, 1), machine, {1}), key(on({{3}}, 1), machine, {1}));
  machine.nics.push_back({.name = "eth0", .numa_node = 0});
  EXPECT_NE(key(on({{0}}, 0), machine), key(on({{2}}, 1), machine));
  machine.nics.clear();
  machine.isolated = {3};
  EXPECT_NE(key(on({{2}}, 1), machine), key(on({{3}}, 1), machine));
}

TEST(PinSymmetry, CptsAreExchangedUnlessTheyHaveSides) {
  const Machine machine = machine_of("pack:1 [numa] core:4 pu:1");
  EXPECT_EQ(key(on({{0, 1}, {2}}), machine), key(on({{0}, {1, 2}}), machine));
  Placement left = on({{0, 1}, {2}});
  Placement right = on({{0}, {1, 2}});
  left.sides_apart = right.sides_apart = true;
  EXPECT_NE(key(left, machine), key(right, machine));
}

// In a ring, neighbours and opposite nodes differ, although the nodes are identical.
TEST(PinSymmetry, DistancesCount) {
  Machine machine = machine_of("pack:4 [numa] core:1 pu:1");
  machine.topology.distance = {
      {10, 16, 32, 16}, {16, 10, 16, 32}, {32, 16, 10, 16}, {16, 32, 16, 10}};
  EXPECT_EQ(key(on({{0, 1}}), machine), key(on({{0, 3}}), machine));
  EXPECT_NE(key(on({{0, 1}}), machine), key(on({{0, 2}}), machine));
  EXPECT_EQ(key(on({{2, 3}}, 2), machine), key(on({{1, 0}}, 1), machine));
}

TEST(PinSymmetry, SettingsCount) {
  const Machine machine = machine_of("core:2 pu:1");
  Placement busy = on({{0}});
  busy.busy_neighbour = true;
  Placement sleepy = on({{0}});
  sleepy.idle = "sleep";
  EXPECT_EQ(std::set({key(on({{0}}), machine), key(busy, machine), key(sleepy, machine)}).size(),
            3U);
}

}  // namespace
}  // namespace plnet::pin::symmetry_test
