// SPDX-License-Identifier: BSD-3-Clause
#include "apps/lnet-selftest/run/environment.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <set>
#include <string_view>

#include <arpa/inet.h>
#include <fmt/format.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <unistd.h>

namespace plnet::run {
namespace {

namespace fs = std::filesystem;
using runtime::Json;

// Limit of lines in a report: of CPUs, queues or interrupts.
constexpr std::size_t kLinesMax = 256;

std::string or_unknown(const std::string& text) {
  return text.empty() ? "unknown" : text;
}

std::string first_line(const fs::path& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

// The value of the first line "key : value"; empty if there is none.
std::string field_of(const fs::path& path, std::string_view key) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with(key)) continue;
    const auto colon = line.find(':');
    const auto start =
        colon == std::string::npos ? colon : line.find_first_not_of(" \t", colon + 1);
    if (start != std::string::npos) return line.substr(start);
  }
  return "";
}

// In the order of their names; empty for a missing folder.
std::vector<std::string> names_in(const fs::path& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error))
    names.push_back(at->path().filename().string());
  std::ranges::sort(names);
  return names;
}

std::string governors(const fs::path& root) {
  std::set<std::string> all;
  const fs::path cpus = root / "sys/devices/system/cpu";
  for (const std::string& name : names_in(cpus)) {
    std::string governor = first_line(cpus / name / "cpufreq/scaling_governor");
    if (!governor.empty()) all.insert(std::move(governor));
  }
  std::string text;
  for (const std::string& each : all)
    text += (text.empty() ? "" : ", ") + each;
  return or_unknown(text);
}

// NIDs with an address of the interface.
Json nids_on(const Interface& interface, const std::vector<std::string>& nids) {
  Json on = Json::array();
  for (const std::string& nid : nids) {
    const std::string address = nid.substr(0, nid.find('@'));
    if (std::ranges::find(interface.addresses, address) != interface.addresses.end())
      on.push_back(nid);
  }
  return on;
}

// The last words of a line of /proc/interrupts: the owner.
std::string owner_of(const std::string& line) {
  const std::size_t end = line.find_last_not_of(" \t");
  const std::size_t gap = line.rfind("  ", end);
  return gap == std::string::npos ? "" : line.substr(gap + 2, end - gap - 1);
}

struct Interrupt {
  std::string number;
  std::string owner;
};
std::vector<Interrupt> interrupts_of_machine(const fs::path& root) {
  std::vector<Interrupt> all;
  std::ifstream file(root / "proc/interrupts");
  for (std::string line; std::getline(file, line);) {
    const std::size_t colon = line.find(':');
    const std::size_t begin = line.find_first_not_of(' ');
    if (colon == std::string::npos || begin >= colon) continue;
    all.push_back({line.substr(begin, colon - begin), owner_of(line)});
  }
  return all;
}

std::string interrupt_text(const fs::path& root, const Interrupt& interrupt) {
  const fs::path folder = root / "proc/irq" / interrupt.number;
  return fmt::format("{} {} on CPUs {}", interrupt.number, interrupt.owner,
                     or_unknown(first_line(folder / "effective_affinity_list")));
}

// Interrupts of the device itself or of its parent device, as with virtio.
Json interrupts_of_device(const fs::path& root, const fs::path& device) {
  Json lines = Json::array();
  auto numbers = names_in(device / "msi_irqs");
  if (numbers.empty()) numbers = names_in(device / "../msi_irqs");
  for (const Interrupt& each : interrupts_of_machine(root)) {
    if (std::ranges::find(numbers, each.number) == numbers.end()) continue;
    if (lines.size() < kLinesMax) lines.push_back(interrupt_text(root, each));
  }
  return lines;
}

Json interface_json(const fs::path& root, const Interface& interface,
                    const std::vector<std::string>& nids) {
  const fs::path folder = root / "sys/class/net" / interface.name;
  std::error_code error;
  const fs::path driver = fs::read_symlink(folder / "device/driver", error);
  std::size_t rx = 0;
  std::size_t tx = 0;
  for (const std::string& queue : names_in(folder / "queues"))
    ++(queue.starts_with("rx") ? rx : tx);
  return {{"name", interface.name},
          {"addresses", interface.addresses},
          {"mtu", or_unknown(first_line(folder / "mtu"))},
          {"speed_mbps", or_unknown(first_line(folder / "speed"))},
          {"driver", or_unknown(driver.filename().string())},
          {"numa_node", or_unknown(first_line(folder / "device/numa_node"))},
          {"rx_queues", rx},
          {"tx_queues", tx},
          {"nis", nids_on(interface, nids)},
          {"interrupts", interrupts_of_device(root, folder / "device")}};
}

// Interrupts whose owner contains the name of an interface or of a network driver: also of devices
// without an interface.
Json interrupts(const fs::path& root, const std::vector<Interface>& interfaces) {
  std::vector<std::string> words{"mlx", "virtio", "cxi", "ena", "ice", "i40e", "hfi"};
  for (const Interface& each : interfaces)
    words.push_back(each.name);
  Json all = Json::array();
  for (const Interrupt& each : interrupts_of_machine(root)) {
    const auto is_named = [&each](const std::string& word) {
      return each.owner.find(word) != std::string::npos;
    };
    if (all.size() < kLinesMax && std::ranges::any_of(words, is_named))
      all.push_back(interrupt_text(root, each));
  }
  return all;
}

}  // namespace

std::vector<Interface> interfaces_of_machine() {
  std::vector<Interface> all;
  ifaddrs* list = nullptr;
  if (::getifaddrs(&list) != 0) return all;
  for (const ifaddrs* at = list; at != nullptr; at = at->ifa_next) {
    const bool up = (at->ifa_flags & IFF_UP) != 0 && (at->ifa_flags & IFF_LOOPBACK) == 0;
    if (!up || at->ifa_addr == nullptr) continue;
    const int family = at->ifa_addr->sa_family;
    if (family != AF_INET && family != AF_INET6) continue;
    std::array<char, INET6_ADDRSTRLEN> text{};
    const void* const address =
        family == AF_INET
            ? static_cast<const void*>(&reinterpret_cast<sockaddr_in*>(at->ifa_addr)->sin_addr)
            : &reinterpret_cast<sockaddr_in6*>(at->ifa_addr)->sin6_addr;
    if (::inet_ntop(family, address, text.data(), text.size()) == nullptr) continue;
    auto found = std::ranges::find(all, std::string_view(at->ifa_name), &Interface::name);
    if (found == all.end()) {
      all.push_back({at->ifa_name, {}});
      found = all.end() - 1;
    }
    found->addresses.emplace_back(text.data());
  }
  ::freeifaddrs(list);
  return all;
}

Json environment_of(const EnvironmentFacts& facts) {
  const fs::path root = facts.root + "/";
  Json json;
  json["version"] = facts.version;
  json["date"] = facts.date;
  json["host"] = or_unknown(first_line(root / "proc/sys/kernel/hostname"));
  json["cpu"] = or_unknown(field_of(root / "proc/cpuinfo", "model name"));
  json["cpus_online"] = or_unknown(first_line(root / "sys/devices/system/cpu/online"));
  json["numa_nodes"] = or_unknown(first_line(root / "sys/devices/system/node/online"));
  json["isolated_cpus"] = first_line(root / "sys/devices/system/cpu/isolated");
  json["governor"] = governors(root);
  json["kernel"] = or_unknown(first_line(root / "proc/sys/kernel/osrelease"));
  json["kernel_command_line"] = first_line(root / "proc/cmdline");
  const bool guest =
      field_of(root / "proc/cpuinfo", "flags").find(" hypervisor") != std::string::npos;
  json["virtual_machine"] = guest;
  json["hugepages"] = or_unknown(field_of(root / "proc/meminfo", "HugePages_Total")) + " of " +
                      or_unknown(field_of(root / "proc/meminfo", "Hugepagesize"));
  json["interfaces"] = Json::array();
  for (const Interface& each : facts.interfaces)
    json["interfaces"].push_back(interface_json(root, each, facts.nids));
  json["interrupts"] = interrupts(root, facts.interfaces);
  return json;
}

}  // namespace plnet::run
