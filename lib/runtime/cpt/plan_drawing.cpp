// SPDX-License-Identifier: BSD-3-Clause
// The drawing of plan_report.hpp: one block for each package, in it one for each NUMA node and
// cache, cores as bracketed cells that wrap at the edge.
#include <map>
#include <set>

#include <fmt/format.h>

#include "lib/base/counted.hpp"
#include "lib/runtime/cpt/plan_report.hpp"

namespace plnet::runtime {
namespace {

constexpr std::size_t kColumns = 100;

class Drawing {
 public:
  Drawing(const CptPlan& plan, const Topology& topology);
  std::string draw();

 private:
  void headline();
  void threads();
  void put_cell(const std::string& cell);
  void end_row();
  void empty_nodes();
  [[nodiscard]] std::string role_of(const HardwareThread& thread) const;
  [[nodiscard]] std::string node_title(int number) const;

  const CptPlan& plan_;
  const Topology& topology_;
  std::map<unsigned, std::string> shards_;  // CPU -> "c0s1"
  std::set<unsigned> reserved_;
  std::string text_;
  std::string row_;
  std::string label_;  // stands before the first row of a group
};

Drawing::Drawing(const CptPlan& plan, const Topology& topology)
    : plan_(plan),
      topology_(topology),
      reserved_(plan.reserved_cpus.begin(), plan.reserved_cpus.end()) {
  for (std::size_t i = 0; i < plan.cpts.size(); ++i) {
    for (const PlannedShard& shard : plan.cpts[i].shards) {
      std::string& role = shards_[shard.cpu];
      role += fmt::format("{}c{}s{}", role.empty() ? "" : "+", i, shard.number);
    }
  }
}

void Drawing::headline() {
  text_ +=
      fmt::format("{}: {}, {}, {}, {}\n", topology_.name, counted(topology_.threads.size(), "CPU"),
                  counted(topology_.cores, "core"), counted(topology_.packages, "package"),
                  counted(topology_.nodes.size(), "NUMA node"));
}

std::string Drawing::role_of(const HardwareThread& thread) const {
  if (const auto shard = shards_.find(thread.cpu); shard != shards_.end()) {
    return shard->second;
  }
  if (!thread.allowed()) {
    return "x";
  }
  return reserved_.contains(thread.cpu) ? "sys" : "-";
}

std::string Drawing::node_title(int number) const {
  if (number < 0) {
    return "no memory node";
  }
  std::string title = fmt::format("node {}", number);
  const NumaNode* node = topology_.find_node(static_cast<unsigned>(number));
  if (node != nullptr && node->memory_bytes > 0) {
    constexpr double kGib = 1024.0 * 1024.0 * 1024.0;
    title += fmt::format("  {:.1f} GiB", static_cast<double>(node->memory_bytes) / kGib);
  }
  if (node != nullptr && node->cpu_count == 0) {
    title += "  no CPUs";
  }
  std::string cpts;
  for (std::size_t i = 0; i < plan_.cpts.size(); ++i) {
    if (static_cast<int>(plan_.cpts[i].memory_node) == number) {
      cpts += fmt::format(" c{}", i);
    }
  }
  return cpts.empty() ? title : title + "  memory of" + cpts;
}

void Drawing::end_row() {
  if (!row_.empty()) {
    text_ += row_ + "\n";
    row_.clear();
  }
}

void Drawing::put_cell(const std::string& cell) {
  if (row_.size() + cell.size() + 1 > kColumns) {
    end_row();
    label_.assign(label_.size(), ' ');
  }
  if (row_.empty()) {
    row_ = label_;
  }
  row_ += " " + cell;
}

void Drawing::threads() {
  const HardwareThread* last = nullptr;
  std::string cell;
  const auto close_cell = [&] {
    if (!cell.empty()) {
      put_cell("[" + cell + "]");
      cell.clear();
    }
  };
  for (const HardwareThread& thread : topology_.threads) {
    if (last == nullptr || last->core != thread.core) {
      close_cell();
    }
    const bool new_package = last == nullptr || last->package != thread.package;
    const bool new_node = new_package || last->numa_node != thread.numa_node;
    if (new_node || last->l3 != thread.l3) {
      end_row();
      text_ += new_package ? fmt::format("package {}\n", thread.package) : "";
      text_ += new_node ? fmt::format("  {}\n", node_title(thread.numa_node)) : "";
      label_ = thread.l3 < 0 ? std::string("   ") : fmt::format("    l3 {:<3}", thread.l3);
    }
    cell += fmt::format("{}{}:{}", cell.empty() ? "" : " ", thread.cpu, role_of(thread));
    last = &thread;
  }
  close_cell();
  end_row();
}

void Drawing::empty_nodes() {
  for (const NumaNode& node : topology_.nodes) {
    if (node.cpu_count == 0) {
      text_ += node_title(static_cast<int>(node.node)) + "\n";
    }
  }
}

std::string Drawing::draw() {
  headline();
  threads();
  empty_nodes();
  text_ +=
      "[...] a core, 4: CPU 4, c0s1: shard 1 in CPT 0, sys: left to the system, -: unused, "
      "x: not ours\n";
  return std::move(text_);
}

}  // namespace

std::string draw_plan(const CptPlan& plan, const Topology& topology) {
  return Drawing(plan, topology).draw();
}

std::string plan_text(const CptPlan& plan, const Topology& topology) {
  std::string text = draw_plan(plan, topology);
  text += fmt::format("plan: {}, {}: {}\n", counted(plan.cpts.size(), "CPT"),
                      counted(plan.shard_count, "shard"), plan.reason);
  for (const PlanWarning& warning : plan.warnings) {
    text += fmt::format("warning: {}\n", warning.text);
  }
  return text;
}

}  // namespace plnet::runtime
