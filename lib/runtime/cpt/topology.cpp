// SPDX-License-Identifier: BSD-3-Clause
#include "lib/runtime/cpt/topology.hpp"

#include <algorithm>
#include <cstddef>

#include "lib/runtime/cpt/number_list.hpp"

namespace plnet::runtime {

const HardwareThread* Topology::find_cpu(unsigned cpu) const {
  const auto found = std::ranges::find(threads, cpu, &HardwareThread::cpu);
  return found == threads.end() ? nullptr : &*found;
}

const HardwareThread* Topology::find_sibling(unsigned core, unsigned smt) const {
  const auto found = std::ranges::find_if(threads, [&](const HardwareThread& thread) {
    return thread.core == core && thread.smt == smt;
  });
  return found == threads.end() ? nullptr : &*found;
}

const NumaNode* Topology::find_node(unsigned node) const {
  const auto found = std::ranges::find(nodes, node, &NumaNode::node);
  return found == nodes.end() ? nullptr : &*found;
}

unsigned Topology::siblings_of(unsigned core) const {
  return static_cast<unsigned>(std::ranges::count(threads, core, &HardwareThread::core));
}

unsigned Topology::highest_cpu() const {
  return threads.empty() ? 0 : std::ranges::max(threads, {}, &HardwareThread::cpu).cpu;
}

std::string Topology::cpu_list() const {
  std::vector<unsigned> numbers;
  std::ranges::transform(threads, std::back_inserter(numbers), &HardwareThread::cpu);
  return format_number_list(numbers);
}

std::string Topology::node_list() const {
  std::vector<unsigned> numbers;
  std::ranges::transform(nodes, std::back_inserter(numbers), &NumaNode::node);
  return format_number_list(numbers);
}

unsigned Topology::distance_between(unsigned from, unsigned to) const {
  const NumaNode* a = find_node(from);
  const NumaNode* b = find_node(to);
  if (a == nullptr || b == nullptr) {
    return kRemoteDistance;
  }
  return distance[static_cast<std::size_t>(a - nodes.data())]
                 [static_cast<std::size_t>(b - nodes.data())];
}

}  // namespace plnet::runtime
