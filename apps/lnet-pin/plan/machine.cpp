// SPDX-License-Identifier: BSD-3-Clause
#include "apps/lnet-pin/plan/machine.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>

#include <fmt/format.h>

#include "lib/base/whole_number.hpp"
#include "lib/runtime/cpt/number_list.hpp"

namespace plnet::pin {
namespace {

namespace fs = std::filesystem;
using runtime::HardwareThread;
using runtime::NumaNode;

std::string first_line(const fs::path& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

std::vector<std::string> names_in(const fs::path& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error))
    names.push_back(at->path().filename().string());
  std::ranges::sort(names);
  return names;
}

// The device's own interrupts, or those of its parent: virtio devices are functions of another one.
std::vector<unsigned> interrupts_of(const fs::path& device) {
  auto names = names_in(device / "msi_irqs");
  if (names.empty()) names = names_in(device / "../msi_irqs");
  std::vector<unsigned> numbers;
  for (const std::string& name : names) {
    const auto number = whole_number<unsigned>(name);
    if (number && numbers.size() < kIrqsMax) numbers.push_back(*number);
  }
  std::ranges::sort(numbers);
  return numbers;
}

void read_nics(const fs::path& root, Machine& machine) {
  const fs::path folder = root / "sys/class/net";
  for (const std::string& name : names_in(folder)) {
    const fs::path device = folder / name / "device";
    std::error_code error;
    if (!fs::exists(device, error) || machine.nics.size() == kNicsMax) continue;
    const auto node = whole_number<int>(first_line(device / "numa_node"));
    Nic nic{.name = name, .numa_node = node.value_or(-1), .interrupts = interrupts_of(device)};
    for (const std::string& queue : names_in(folder / name / "queues"))
      nic.queues += queue.starts_with("rx-") ? 1 : 0;
    machine.nics.push_back(std::move(nic));
  }
}

void read_isolation(const fs::path& root, Machine& machine) {
  std::set<unsigned> all;
  for (const char* const name : {"isolated", "nohz_full"}) {
    const auto listed = runtime::parse_number_list(
        first_line(root / "sys/devices/system/cpu" / name), runtime::kMaxCpus);
    if (listed) all.insert(listed->begin(), listed->end());
  }
  machine.isolated.assign(all.begin(), all.end());
}

void read_governors(const fs::path& root, Machine& machine) {
  std::ifstream file(root / "sys/devices/system/cpu/cpu0/cpufreq/scaling_available_governors");
  for (std::string word; file >> word;)
    machine.governors.push_back(word);
}

// --- JSON, from a file that may have been edited ---

template <class T>
T number_in(const Json& json, const char* key, T low, T high) {
  const auto value = json.at(key).get<std::int64_t>();
  if (value < static_cast<std::int64_t>(low) || value > static_cast<std::int64_t>(high))
    throw std::out_of_range(fmt::format("'{}' is out of range", key));
  return static_cast<T>(value);
}

HardwareThread thread_of(const Json& json) {
  constexpr unsigned kMost = runtime::kMaxCpus;
  HardwareThread thread;
  thread.cpu = number_in(json, "cpu", 0U, kMost);
  thread.core = number_in(json, "core", 0U, kMost);
  thread.smt = number_in(json, "smt", 0U, kMost);
  thread.package = number_in(json, "package", 0U, kMost);
  thread.l3 = number_in(json, "l3", -1, static_cast<int>(kMost));
  thread.numa_node = number_in(json, "node", -1, static_cast<int>(runtime::kMaxNodes));
  thread.efficiency = number_in(json, "efficiency", -1, static_cast<int>(kMost));
  thread.in_cgroup = json.at("allowed").get<bool>();
  return thread;
}

void read_nodes(const Json& json, runtime::Topology& topology) {
  for (const Json& each : json.at("nodes")) {
    topology.nodes.push_back({.node = number_in(each, "node", 0U, runtime::kMaxNodes),
                              .memory_bytes = each.at("memory_bytes").get<std::uint64_t>(),
                              .allowed = each.at("allowed").get<bool>(),
                              .cpu_count = number_in(each, "cpus", 0U, runtime::kMaxCpus)});
  }
  topology.distance = json.at("distance").get<std::vector<std::vector<unsigned>>>();
  const std::size_t count = topology.nodes.size();
  const auto is_wrong = [count](const auto& row) { return row.size() != count; };
  if (count > runtime::kMaxNodes || topology.distance.size() != count ||
      std::ranges::any_of(topology.distance, is_wrong))
    throw std::out_of_range("'distance' is no table of its nodes");
}

Machine read_json(const Json& json) {
  Machine machine;
  runtime::Topology& topology = machine.topology;
  topology.name = json.at("name").get<std::string>();
  topology.live = json.at("live").get<bool>();
  topology.distances_known = json.at("distances_known").get<bool>();
  if (json.at("threads").size() > runtime::kMaxCpus) throw std::out_of_range("too many threads");
  for (const Json& each : json.at("threads")) {
    const HardwareThread& thread = topology.threads.emplace_back(thread_of(each));
    topology.cores = std::max(topology.cores, thread.core + 1);
    topology.packages = std::max(topology.packages, thread.package + 1);
  }
  if (topology.threads.empty()) throw std::out_of_range("it has no CPUs");
  read_nodes(json, topology);
  if (json.at("nics").size() > kNicsMax) throw std::out_of_range("too many network cards");
  for (const Json& each : json.at("nics")) {
    machine.nics.push_back(
        {.name = each.at("name").get<std::string>(),
         .numa_node = number_in(each, "node", -1, static_cast<int>(runtime::kMaxNodes)),
         .queues = number_in(each, "queues", 0U, runtime::kMaxCpus),
         .interrupts = each.at("interrupts").get<std::vector<unsigned>>()});
  }
  machine.isolated = json.at("isolated").get<std::vector<unsigned>>();
  machine.governors = json.at("governors").get<std::vector<std::string>>();
  return machine;
}

}  // namespace

const Nic* Machine::find_nic(std::string_view name) const {
  const auto found = std::ranges::find(nics, name, &Nic::name);
  return found == nics.end() ? nullptr : &*found;
}

Outcome<Machine> read_machine(const runtime::MachineSource& source, const std::string& root) {
  auto topology = runtime::read_topology(source);
  if (!topology) return std::unexpected(std::move(topology.error()));
  Machine machine{.topology = std::move(*topology)};
  if (!machine.topology.live) return machine;
  const fs::path at = root + "/";
  read_nics(at, machine);
  read_isolation(at, machine);
  read_governors(at, machine);
  return machine;
}

Json json_of(const Machine& machine) {
  const runtime::Topology& topology = machine.topology;
  Json json{{"name", topology.name},
            {"live", topology.live},
            {"distances_known", topology.distances_known}};
  json["threads"] = Json::array();
  for (const HardwareThread& thread : topology.threads) {
    json["threads"].push_back({{"cpu", thread.cpu},
                               {"core", thread.core},
                               {"smt", thread.smt},
                               {"package", thread.package},
                               {"l3", thread.l3},
                               {"node", thread.numa_node},
                               {"efficiency", thread.efficiency},
                               {"allowed", thread.allowed()}});
  }
  json["nodes"] = Json::array();
  for (const NumaNode& node : topology.nodes) {
    json["nodes"].push_back({{"node", node.node},
                             {"memory_bytes", node.memory_bytes},
                             {"allowed", node.allowed},
                             {"cpus", node.cpu_count}});
  }
  json["distance"] = topology.distance;
  json["nics"] = Json::array();
  for (const Nic& nic : machine.nics) {
    json["nics"].push_back({{"name", nic.name},
                            {"node", nic.numa_node},
                            {"queues", nic.queues},
                            {"interrupts", nic.interrupts}});
  }
  json["isolated"] = machine.isolated;
  json["governors"] = machine.governors;
  return json;
}

Outcome<Machine> machine_of(const Json& json) {
  try {
    return read_json(json);
  } catch (const std::exception& error) {
    return failure(Errc::kInvalid, fmt::format("machine: {}", error.what()));
  }
}

}  // namespace plnet::pin
