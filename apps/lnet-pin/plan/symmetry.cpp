// SPDX-License-Identifier: BSD-3-Clause
#include "apps/lnet-pin/plan/symmetry.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <vector>

#include <fmt/format.h>

#include "lib/base/joined.hpp"

namespace plnet::pin {
namespace {

using runtime::HardwareThread;

constexpr std::size_t kExchangesMax = 5000;  // of nodes; eight equal ones have more
constexpr std::size_t kCptsExchanged = 4;    // 24 orders

using Order = std::vector<std::size_t>;

class Labels {
 public:
  Labels(const Placement& placement, const Machine& machine, std::span<const unsigned> others)
      : placement_(placement), machine_(machine), others_(others) {
    std::set<int> numbers;
    for (const HardwareThread& thread : machine.topology.threads)
      numbers.insert(thread.numa_node);
    for (const runtime::NumaNode& node : machine.topology.nodes)
      numbers.insert(static_cast<int>(node.node));
    nodes_.assign(numbers.begin(), numbers.end());
  }

  std::string smallest_key() {
    std::string smallest;
    const std::vector<Order> node_orders = exchanges();
    Order cpts(placement_.cpts.size());
    std::iota(cpts.begin(), cpts.end(), 0U);
    const bool exchangeable = cpts.size() <= kCptsExchanged && !placement_.sides_apart;
    do {
      const auto labels = labels_of(cpts);
      for (const Order& nodes : node_orders) {
        std::string key;
        for (const std::size_t node : nodes)
          key += labels[node] + "/";
        if (smallest.empty() || key < smallest) smallest = std::move(key);
      }
    } while (exchangeable && std::ranges::next_permutation(cpts).found);
    return smallest;
  }

 private:
  // The relation of two nodes, which an exchange must preserve.
  [[nodiscard]] std::string relation(std::size_t a, std::size_t b) const {
    std::set<unsigned> packages;
    std::set<int> caches;
    bool same_package = false;
    bool same_cache = false;
    for (const HardwareThread& thread : machine_.topology.threads) {
      if (thread.numa_node != nodes_[a]) continue;
      packages.insert(thread.package);
      caches.insert(thread.l3);
    }
    for (const HardwareThread& thread : machine_.topology.threads) {
      if (thread.numa_node != nodes_[b]) continue;
      same_package = same_package || packages.contains(thread.package);
      same_cache = same_cache || (thread.l3 >= 0 && caches.contains(thread.l3));
    }
    const auto number = [this](std::size_t i) { return static_cast<unsigned>(nodes_[i]); };
    return fmt::format("{}{}{}", machine_.topology.distance_between(number(a), number(b)),
                       same_package ? "p" : "", same_cache ? "c" : "");
  }

  // Permutations of nodes that preserve all labels of the machine without a placement.
  [[nodiscard]] std::vector<Order> exchanges() const {
    const std::size_t count = nodes_.size();
    std::vector<std::vector<std::string>> relations(count, std::vector<std::string>(count));
    for (std::size_t i = 0; i < count; ++i) {
      for (std::size_t j = 0; j < count; ++j)
        relations[i][j] = relation(i, j);
    }
    std::vector<std::string> bare;
    bare.reserve(count);
    for (std::size_t i = 0; i < count; ++i)
      bare.push_back(node_label(i, {}, false));
    std::vector<Order> found;
    Order order;
    extend(relations, bare, order, found);
    return found;
  }

  void extend(const std::vector<std::vector<std::string>>& relations,
              const std::vector<std::string>& bare, Order& order, std::vector<Order>& found) const {
    if (found.size() >= kExchangesMax) return;
    const std::size_t at = order.size();
    if (at == nodes_.size()) {
      found.push_back(order);
      return;
    }
    for (std::size_t node = 0; node < nodes_.size(); ++node) {
      if (std::ranges::find(order, node) != order.end() || bare[node] != bare[at]) continue;
      bool fits = relations[node][node] == relations[at][at];
      for (std::size_t i = 0; fits && i < at; ++i) {
        fits = relations[order[i]][node] == relations[i][at] &&
               relations[node][order[i]] == relations[at][i];
      }
      if (!fits) continue;
      order.push_back(node);
      extend(relations, bare, order, found);
      order.pop_back();
    }
  }

  [[nodiscard]] std::vector<std::string> labels_of(const Order& cpts) const {
    std::vector<std::string> labels;
    labels.reserve(nodes_.size());
    for (std::size_t i = 0; i < nodes_.size(); ++i)
      labels.push_back(node_label(i, cpts, true));
    return labels;
  }

  // The caches, cores and hardware threads of a node, each level sorted. `placed`: including the
  // placement.
  [[nodiscard]] std::string node_label(std::size_t index, const Order& cpts, bool placed) const {
    std::map<int, std::map<unsigned, std::vector<std::string>>> caches;
    for (const HardwareThread& thread : machine_.topology.threads) {
      if (thread.numa_node == nodes_[index])
        caches[thread.l3][thread.core].push_back(cpu_label(thread, cpts, placed));
    }
    std::vector<std::string> texts;
    for (auto& [l3, cores] : caches) {
      std::vector<std::string> inner;
      for (auto& [core, threads] : cores) {
        std::ranges::sort(threads);
        inner.push_back(fmt::format("({})", joined(threads, " ")));
      }
      std::ranges::sort(inner);
      texts.push_back(fmt::format("[{}]", joined(inner, "")));
    }
    std::ranges::sort(texts);
    return fmt::format("{}{}", joined(texts, ""), memory_label(index, cpts, placed));
  }

  [[nodiscard]] std::string cpu_label(const HardwareThread& thread, const Order& cpts,
                                      bool placed) const {
    const auto has = [&thread](const auto& list) {
      return std::ranges::find(list, thread.cpu) != list.end();
    };
    std::string label = fmt::format("e{}", thread.efficiency);
    if (!thread.allowed()) label += 'x';
    if (has(machine_.isolated)) label += 'i';
    if (has(others_)) label += 'o';
    if (!placed) return label;
    for (std::size_t i = 0; i < cpts.size(); ++i) {
      const PinnedCpt& cpt = placement_.cpts[cpts[i]];
      const auto shards = std::ranges::count(cpt.cpus, thread.cpu);
      if (shards > 0) label += fmt::format("c{}*{}", i, shards);
      if (placement_.busy_neighbour && cpts[i] == 0 && cpt.cpus.front() == thread.cpu) label += 'b';
    }
    if (placement_.interrupt_cpus && has(*placement_.interrupt_cpus)) label += 'q';
    return label;
  }

  [[nodiscard]] std::string memory_label(std::size_t index, const Order& cpts, bool placed) const {
    const int number = nodes_[index];
    std::string label;
    if (const auto* node = machine_.topology.find_node(static_cast<unsigned>(number)))
      label += node->memory_bytes > 0 && node->allowed ? "m" : "-";
    for (const Nic& nic : machine_.nics) {
      if (nic.numa_node == number) label += "n" + nic.name;
    }
    for (std::size_t i = 0; placed && i < cpts.size(); ++i) {
      if (static_cast<int>(placement_.cpts[cpts[i]].memory_node) == number)
        label += fmt::format("M{}", i);
    }
    return label;
  }

  const Placement& placement_;
  const Machine& machine_;
  const std::span<const unsigned> others_;
  std::vector<int> nodes_{};
};

}  // namespace

std::string symmetry_key(const Placement& placement, const Machine& machine,
                         std::span<const unsigned> others) {
  std::string queues;
  for (const PinnedCpt& cpt : placement.cpts) {
    queues += '|';
    for (const auto& [name, list] : cpt.nic_queues)
      queues += fmt::format("{}:{} ", name, joined(list, ","));
  }
  return fmt::format("{} {} {} {} {} {} {}", placement.idle, placement.governor,
                     placement.hugepages, placement.sides_apart,
                     placement.interrupt_cpus.has_value(), queues,
                     Labels(placement, machine, others).smallest_key());
}

}  // namespace plnet::pin
