// SPDX-License-Identifier: BSD-3-Clause
// The kernel's layout of CPTs over CPUs: cpu_npartitions, and cpu_pattern applied to a machine. The
// result is sets of CPUs; cpt_plan.hpp adds shards and memory.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "lib/base/result.hpp"
#include "lib/runtime/cpt/cpt_pattern.hpp"
#include "lib/runtime/cpt/topology.hpp"

namespace plnet::runtime {

// The CPUs available for the layout, as pointers into Topology::threads, by ascending CPU number.
// They correspond to the kernel's online CPUs.
using UsableCpus = std::vector<const HardwareThread*>;

struct KernelLayout {
  std::vector<std::vector<unsigned>> partitions;  // CPU numbers
  std::vector<std::string> warnings;              // differences from the kernel's result
};

// The number that the kernel chooses for cpu_npartitions=0
// (lustre-release lnet/lnet/lib-cpt.c: cfs_cpt_num_estimate()).
[[nodiscard]] unsigned estimate_partitions(const Topology& topology, const UsableCpus& usable);

// As evenly as possible: node by node, within it package by package, siblings of a core together
// (lustre-release lnet/lnet/lib-cpt.c: cfs_cpt_table_create(), cfs_cpt_choose_ncpus()).
// `partitions` 0 = estimate.
[[nodiscard]] Outcome<KernelLayout> split_evenly(const Topology& topology, const UsableCpus& usable,
                                                 unsigned partitions);

// One partition for each node that has usable CPUs, by ascending node.
[[nodiscard]] std::vector<std::vector<unsigned>> split_by_node(const UsableCpus& usable);

// Lays out a pattern. `text` is for errors only. Where the code of 2.17 departs from its own manual
// (cpu_pattern(4)), this follows the manual, and `warnings` says so whenever the kernel would have
// accepted the pattern with another layout.
[[nodiscard]] Outcome<KernelLayout> apply_pattern(const CptPattern& pattern, std::string_view text,
                                                  const Topology& topology,
                                                  const UsableCpus& usable, unsigned partitions);

}  // namespace plnet::runtime
