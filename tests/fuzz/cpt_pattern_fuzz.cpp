// SPDX-License-Identifier: BSD-3-Clause
// Any text as cpu_pattern, laid over a machine of any shape: a refusal or a sound layout.
// The first two bytes choose the machine and the number of partitions, the rest is the pattern.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string_view>

#include "lib/base/check.hpp"
#include "lib/runtime/cpt/kernel_layout.hpp"

namespace {

using plnet::runtime::HardwareThread;
using plnet::runtime::Topology;

// Up to 64 CPUs; the bits choose siblings, nodes, packages and whether CPU 1 is ours.
Topology machine_of(std::uint8_t shape) {
  const unsigned cpus = (shape & 0x3FU) + 1;
  const unsigned siblings = (shape & 0x40U) != 0 ? 2 : 1;
  const unsigned nodes = std::min(cpus, (shape & 0x80U) != 0 ? 3U : 1U);
  Topology topology;
  for (unsigned cpu = 0; cpu < cpus; ++cpu) {
    topology.threads.push_back({.cpu = cpu,
                                .core = cpu / siblings,
                                .smt = cpu % siblings,
                                .package = (cpu / siblings) % 2,
                                .numa_node = static_cast<int>(cpu % nodes),
                                .in_cgroup = cpu != 1});
  }
  for (unsigned node = 0; node < nodes; ++node) {
    topology.nodes.push_back({.node = node});
  }
  topology.cores = (cpus + siblings - 1) / siblings;
  return topology;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) {
    return 0;
  }
  const std::string_view text(reinterpret_cast<const char*>(data) + 2, size - 2);
  const auto pattern = plnet::runtime::parse_cpt_pattern(text);
  if (!pattern) {
    PLNET_CHECK(!pattern.error().what.empty(), "a refusal has words");
    return 0;
  }
  const Topology topology = machine_of(data[0]);
  plnet::runtime::UsableCpus usable;
  for (const HardwareThread& thread : topology.threads) {
    if (thread.allowed()) {
      usable.push_back(&thread);
    }
  }
  const auto layout = plnet::runtime::apply_pattern(*pattern, text, topology, usable, data[1] % 8U);
  if (!layout) {
    PLNET_CHECK(!layout.error().what.empty(), "a refusal has words");
    return 0;
  }
  std::set<unsigned> seen;
  for (const auto& partition : layout->partitions) {
    PLNET_CHECK(!partition.empty(), "no partition is empty");
    for (const unsigned cpu : partition) {
      PLNET_CHECK(cpu < topology.threads.size() && cpu != 1, "only usable CPUs are laid out");
      PLNET_CHECK(seen.insert(cpu).second, "no CPU is in two partitions");
    }
  }
  return 0;
}
