// SPDX-License-Identifier: BSD-3-Clause
#include "lib/runtime/cpt/kernel_layout.hpp"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "lib/base/check.hpp"

namespace plnet::runtime {
namespace {

using Partitions = std::vector<std::vector<unsigned>>;

// Above this multiple of its own estimate the kernel warns.
constexpr unsigned kManyTimesEstimate = 4;
// Up to this number of CPUs the kernel makes a single partition.
constexpr std::size_t kSinglePartitionCpus = 4;

// CPUs without a node come last.
std::map<unsigned, UsableCpus> by_node(const UsableCpus& usable) {
  std::map<unsigned, UsableCpus> nodes;
  for (const HardwareThread* thread : usable) {
    nodes[static_cast<unsigned>(thread->numa_node)].push_back(thread);
  }
  return nodes;
}

// Moves `wanted` CPUs from the front of `pool` to `partition`: package by package, in it core by
// core with all siblings, everything by ascending number.
void choose_cpus(UsableCpus& pool, std::size_t wanted, std::vector<unsigned>& partition) {
  if (wanted >= pool.size()) {
    std::ranges::transform(pool, std::back_inserter(partition), &HardwareThread::cpu);
    pool.clear();
    return;
  }
  while (wanted > 0) {
    PLNET_CHECK(!pool.empty(), "fewer are wanted than there are");
    const unsigned package = pool.front()->package;
    for (auto leader = pool.begin(); wanted > 0 && leader != pool.end();
         leader = std::ranges::find(pool, package, &HardwareThread::package)) {
      const unsigned core = (*leader)->core;
      std::erase_if(pool, [&](const HardwareThread* thread) {
        if (wanted == 0 || thread->core != core) {
          return false;
        }
        partition.push_back(thread->cpu);
        --wanted;
        return true;
      });
    }
  }
}

// The constant inputs of laying out a pattern.
struct Canvas {
  const CptPattern& pattern;
  std::string_view text;
  const Topology& topology;
  const UsableCpus& usable;
  unsigned wanted_partitions;

  [[nodiscard]] std::unexpected<Error> wrong(Errc code, std::size_t column,
                                             std::string_view what) const {
    return failure(code, fmt::format("pattern \"{:.80}\": column {}: {}", text, column, what));
  }
  [[nodiscard]] std::unexpected<Error> wrong(Errc code, std::string_view what) const {
    return failure(code, fmt::format("pattern \"{:.80}\": {}", text, what));
  }
  [[nodiscard]] bool is_usable(unsigned cpu) const {
    return std::ranges::binary_search(usable, cpu, {}, &HardwareThread::cpu);
  }
};

std::string why_not_usable(const Topology& topology, unsigned cpu) {
  const HardwareThread* thread = topology.find_cpu(cpu);
  if (thread == nullptr) {
    return std::ranges::find(topology.offline_cpus, cpu) != topology.offline_cpus.end()
               ? fmt::format("cpu {} is offline", cpu)
               : fmt::format("cpu {}: this machine has CPUs {}", cpu, topology.cpu_list());
  }
  if (!thread->in_cgroup) {
    return fmt::format("cpu {} is outside the cgroup that this process runs in", cpu);
  }
  if (!thread->in_affinity) {
    return fmt::format("cpu {} is outside the CPU mask that this process was started with", cpu);
  }
  return fmt::format("cpu {} is reserved (reserved_cpus)", cpu);
}

// The numbers of one item, bounded by `highest`, which the caller took from the machine.
Outcome<std::vector<unsigned>> numbers_of(const Canvas& canvas, const PatternRange& range,
                                          unsigned highest, std::string_view what) {
  PatternRange bounded = range;
  if (range.everything) {
    bounded.high = highest;
  }
  if (bounded.high > highest) {
    return canvas.wrong(
        Errc::kOutOfRange, range.column,
        fmt::format("{} {} is over the highest here, {}", what, range.high, highest));
  }
  if (bounded.stride != 1 && bounded.stride > highest) {
    return canvas.wrong(
        Errc::kOutOfRange, range.column,
        fmt::format("stride {} is over the highest {} here, {}", range.stride, what, highest));
  }
  std::vector<unsigned> numbers;
  for (unsigned number = bounded.low; number <= bounded.high; number += bounded.stride) {
    numbers.push_back(number);
  }
  return numbers;
}

class ListLayout {
 public:
  explicit ListLayout(const Canvas& canvas)
      : canvas_(canvas), partitions_(canvas.pattern.groups.size()) {}

  Outcome<Partitions> run();

 private:
  Outcome<void> add_group(const PatternGroup& group);
  Outcome<void> add_cpu(const PatternGroup& group, const PatternRange& range, unsigned cpu);
  Outcome<void> add_node(const PatternGroup& group, const PatternRange& range, unsigned node);

  const Canvas& canvas_;
  Partitions partitions_;
  std::map<unsigned, unsigned> owner_;  // CPU or node -> partition
};

Outcome<void> ListLayout::add_cpu(const PatternGroup& group, const PatternRange& range,
                                  unsigned cpu) {
  if (!canvas_.is_usable(cpu)) {
    if (range.everything) {
      return {};
    }
    return canvas_.wrong(Errc::kInvalid, range.column, why_not_usable(canvas_.topology, cpu));
  }
  const auto [owner, fresh] = owner_.try_emplace(cpu, group.partition);
  if (!fresh) {
    return canvas_.wrong(Errc::kExists, range.column,
                         fmt::format("cpu {} is in partition {} already", cpu, owner->second));
  }
  partitions_[group.partition].push_back(cpu);
  return {};
}

Outcome<void> ListLayout::add_node(const PatternGroup& group, const PatternRange& range,
                                   unsigned node) {
  if (canvas_.topology.find_node(node) == nullptr) {
    if (range.everything) {
      return {};
    }
    return canvas_.wrong(
        Errc::kNotFound, range.column,
        fmt::format("node {}: this machine has NUMA nodes {}", node, canvas_.topology.node_list()));
  }
  const auto [owner, fresh] = owner_.try_emplace(node, group.partition);
  if (!fresh) {
    return canvas_.wrong(Errc::kExists, range.column,
                         fmt::format("node {} is in partition {} already", node, owner->second));
  }
  for (const HardwareThread* thread : canvas_.usable) {
    if (thread->numa_node == static_cast<int>(node)) {
      partitions_[group.partition].push_back(thread->cpu);
    }
  }
  return {};
}

Outcome<void> ListLayout::add_group(const PatternGroup& group) {
  const bool nodes = canvas_.pattern.nodes;
  if (group.partition >= partitions_.size()) {
    return canvas_.wrong(
        Errc::kOutOfRange, group.column,
        fmt::format("partition {}: there are {} partitions, numbered from 0 without gaps",
                    group.partition, partitions_.size()));
  }
  if (!partitions_[group.partition].empty()) {
    return canvas_.wrong(Errc::kNotPermitted, group.column,
                         fmt::format("partition {} is given twice", group.partition));
  }
  const unsigned highest =
      nodes ? canvas_.topology.nodes.back().node : canvas_.topology.highest_cpu();
  for (const PatternRange& range : group.ranges) {
    const auto numbers = numbers_of(canvas_, range, highest, nodes ? "node" : "cpu");
    if (!numbers) {
      return std::unexpected(numbers.error());
    }
    for (const unsigned number : *numbers) {
      auto added = nodes ? add_node(group, range, number) : add_cpu(group, range, number);
      if (!added) {
        return added;
      }
    }
  }
  if (partitions_[group.partition].empty()) {
    return canvas_.wrong(Errc::kInvalid, group.column,
                         fmt::format("partition {} has no usable CPU", group.partition));
  }
  return {};
}

Outcome<Partitions> ListLayout::run() {
  const std::size_t wanted = canvas_.wanted_partitions;
  if (wanted != 0 && wanted != partitions_.size()) {
    return canvas_.wrong(Errc::kInvalid,
                         fmt::format("it describes {} partitions, but {} were asked for",
                                     partitions_.size(), wanted));
  }
  const std::size_t most =
      canvas_.pattern.nodes ? canvas_.topology.nodes.size() : canvas_.usable.size();
  if (partitions_.size() > most) {
    return canvas_.wrong(Errc::kOutOfRange,
                         fmt::format("{} partitions, but only {} {}", partitions_.size(), most,
                                     canvas_.pattern.nodes ? "NUMA nodes" : "usable CPUs"));
  }
  for (const PatternGroup& group : canvas_.pattern.groups) {
    if (auto added = add_group(group); !added) {
      return std::unexpected(added.error());
    }
  }
  for (auto& partition : partitions_) {
    std::ranges::sort(partition);
  }
  return std::move(partitions_);
}

// The CPU from which C counts: the first of the partition, or with N of the whole node.
unsigned origin_of(const Canvas& canvas, const std::vector<unsigned>& partition) {
  const unsigned first = std::ranges::min(partition);
  if (!canvas.pattern.nodes) {
    return first;
  }
  unsigned origin = first;
  const int node = canvas.topology.find_cpu(first)->numa_node;
  for (const HardwareThread& thread : canvas.topology.threads) {
    if (thread.numa_node == node) {
      origin = std::min(origin, thread.cpu);
    }
  }
  return origin;
}

Outcome<Partitions> exclude(const Canvas& canvas, Partitions partitions) {
  const bool relative = canvas.pattern.kind == CptPattern::Kind::kExcludeRelative;
  unsigned highest = canvas.topology.highest_cpu();
  if (relative) {
    highest = static_cast<unsigned>(
        std::ranges::min(partitions, {}, &std::vector<unsigned>::size).size());
  }
  std::set<unsigned> numbers;
  for (const PatternGroup& group : canvas.pattern.groups) {
    for (const PatternRange& range : group.ranges) {
      const auto listed = numbers_of(canvas, range, highest, "cpu");
      if (!listed) {
        return std::unexpected(listed.error());
      }
      numbers.insert(listed->begin(), listed->end());
    }
  }
  for (std::size_t i = 0; i < partitions.size(); ++i) {
    const unsigned origin = relative ? origin_of(canvas, partitions[i]) : 0;
    std::erase_if(partitions[i], [&](unsigned cpu) { return numbers.contains(cpu - origin); });
    if (partitions[i].empty()) {
      return canvas.wrong(Errc::kInvalid,
                          fmt::format("it excludes every usable CPU of partition {}", i));
    }
  }
  return partitions;
}

Outcome<KernelLayout> lay_out_exclusion(const Canvas& canvas) {
  KernelLayout layout;
  const CptPattern& pattern = canvas.pattern;
  const unsigned wanted = canvas.wanted_partitions;
  if (pattern.nodes) {
    layout.partitions = split_by_node(canvas.usable);
    if (wanted != 0 && wanted != layout.partitions.size()) {
      return canvas.wrong(Errc::kInvalid,
                          fmt::format("one partition for each of {} NUMA nodes, but {} were asked "
                                      "for",
                                      layout.partitions.size(), wanted));
    }
  } else {
    auto base = split_evenly(canvas.topology, canvas.usable, wanted);
    if (!base) {
      return base;
    }
    layout = std::move(*base);
    if (wanted == 0 && layout.partitions.size() != pattern.groups.size()) {
      layout.warnings.push_back(fmt::format(
          "pattern \"{:.80}\": {} partitions as Lustre's manual says; without cpu_npartitions the "
          "kernel of 2.17 counts brackets and makes {}",
          canvas.text, layout.partitions.size(), pattern.groups.size()));
    }
  }
  const bool strides = std::ranges::any_of(pattern.groups, [](const PatternGroup& group) {
    return std::ranges::any_of(group.ranges, [](const PatternRange& r) { return r.stride != 1; });
  });
  if (strides && pattern.kind == CptPattern::Kind::kExcludeRelative) {
    layout.warnings.push_back(fmt::format(
        "pattern \"{:.80}\": the stride counts here; the kernel of 2.17 ignores it after C",
        canvas.text));
  }
  auto rest = exclude(canvas, std::move(layout.partitions));
  if (!rest) {
    return std::unexpected(rest.error());
  }
  layout.partitions = std::move(*rest);
  return layout;
}

}  // namespace

unsigned estimate_partitions(const Topology& topology, const UsableCpus& usable) {
  const std::size_t cpus = usable.size();
  if (cpus <= kSinglePartitionCpus) {
    return 1;
  }
  // The kernel asks the CPU that it happens to run on; the first one is used here.
  const std::size_t siblings = topology.siblings_of(usable.front()->core);
  std::size_t count = 2;
  while (cpus > 2 * siblings * count) {
    ++count;
  }
  while (cpus % count != 0) {
    --count;
  }
  return static_cast<unsigned>(count);
}

Outcome<KernelLayout> split_evenly(const Topology& topology, const UsableCpus& usable,
                                   unsigned partitions) {
  PLNET_CHECK(!usable.empty(), "the planner has refused a machine without usable CPUs");
  KernelLayout layout;
  const unsigned estimate = estimate_partitions(topology, usable);
  const unsigned count = partitions == 0 ? estimate : partitions;
  if (count > usable.size()) {
    return failure(Errc::kInvalid, fmt::format("partitions: {} partitions, but only {} usable CPUs",
                                               count, usable.size()));
  }
  if (count > kManyTimesEstimate * estimate) {
    layout.warnings.push_back(fmt::format(
        "partitions: {} are many for this machine; Lustre would choose {}", count, estimate));
  }
  layout.partitions.resize(count);
  const std::size_t share = usable.size() / count;
  std::size_t larger = usable.size() % count;  // the number of partitions with one more
  std::size_t at = 0;
  for (auto& [node, pool] : by_node(usable)) {
    UsableCpus left = pool;
    while (at < count && !left.empty()) {
      auto& partition = layout.partitions[at];
      const std::size_t full = share + (larger > 0 ? 1 : 0);
      choose_cpus(left, full - partition.size(), partition);
      if (partition.size() == full) {
        ++at;
        larger -= larger > 0 ? 1 : 0;
      }
    }
  }
  PLNET_CHECK(at == count, "the shares add up to all CPUs");
  for (auto& partition : layout.partitions) {
    std::ranges::sort(partition);
  }
  return layout;
}

std::vector<std::vector<unsigned>> split_by_node(const UsableCpus& usable) {
  Partitions partitions;
  for (const auto& [node, pool] : by_node(usable)) {
    auto& partition = partitions.emplace_back();
    std::ranges::transform(pool, std::back_inserter(partition), &HardwareThread::cpu);
  }
  return partitions;
}

Outcome<KernelLayout> apply_pattern(const CptPattern& pattern, std::string_view text,
                                    const Topology& topology, const UsableCpus& usable,
                                    unsigned partitions) {
  const Canvas canvas{pattern, text, topology, usable, partitions};
  switch (pattern.kind) {
    case CptPattern::Kind::kDefault: return split_evenly(topology, usable, partitions);
    case CptPattern::Kind::kPerNode:
      if (partitions != 0) {  // the number overrides a bare N
        return split_evenly(topology, usable, partitions);
      }
      return KernelLayout{.partitions = split_by_node(usable), .warnings = {}};
    case CptPattern::Kind::kList: {
      auto listed = ListLayout(canvas).run();
      if (!listed) {
        return std::unexpected(listed.error());
      }
      return KernelLayout{.partitions = std::move(*listed), .warnings = {}};
    }
    case CptPattern::Kind::kExclude:
    case CptPattern::Kind::kExcludeRelative: return lay_out_exclusion(canvas);
  }
  PLNET_CHECK(false, "the parser makes no other kind");
  return failure(Errc::kInvalid, "");
}

}  // namespace plnet::runtime
