// SPDX-License-Identifier: BSD-3-Clause
// How the kernel lays CPTs over CPUs: cpu_npartitions, and cpu_pattern applied to a machine. Gives
// sets of CPUs only; shards and memory come in cpt_plan.hpp.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "lib/base/result.hpp"
#include "lib/runtime/cpt/cpt_pattern.hpp"
#include "lib/runtime/cpt/topology.hpp"

namespace plnet::runtime {

// The CPUs that may be laid out, as pointers into Topology::threads, by ascending CPU number. They
// play the part of the kernel's online CPUs.
using UsableCpus = std::vector<const HardwareThread*>;

struct KernelLayout {
  std::vector<std::vector<unsigned>> partitions;  // CPU numbers
  std::vector<std::string> warnings;              // where we part from what the kernel does
};

// The number that the kernel chooses for cpu_npartitions=0
// (lustre-release lnet/lnet/lib-cpt.c: cfs_cpt_num_estimate()).
[[nodiscard]] unsigned estimate_partitions(const Topology& topology, const UsableCpus& usable);

// As even as it goes: node by node, within it package by package, siblings of a core together
// (lustre-release lnet/lnet/lib-cpt.c: cfs_cpt_table_create(), cfs_cpt_choose_ncpus()).
// `partitions` 0 = estimate.
[[nodiscard]] Outcome<KernelLayout> split_evenly(const Topology& topology, const UsableCpus& usable,
                                                 unsigned partitions);

// One partition for each node that has usable CPUs, by ascending node.
[[nodiscard]] std::vector<std::vector<unsigned>> split_by_node(const UsableCpus& usable);

// Lays out what a pattern says. `text` is for errors only. Where the code of 2.17 departs from
// its own manual (cpu_pattern(4)), this follows the manual, and says so in `warnings` whenever the
// kernel would have accepted the pattern and laid it out differently.
[[nodiscard]] Outcome<KernelLayout> apply_pattern(const CptPattern& pattern, std::string_view text,
                                                  const Topology& topology,
                                                  const UsableCpus& usable, unsigned partitions);

}  // namespace plnet::runtime
