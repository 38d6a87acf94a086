// SPDX-License-Identifier: BSD-3-Clause
#include "apps/lnet-pin/probe/cpu_users.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <map>

#include <fmt/format.h>

#include "lib/base/whole_number.hpp"
#include "lib/runtime/cpt/number_list.hpp"

namespace plnet::pin {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kProcessesMax = 100'000;
constexpr unsigned kKernelThreadFlag = 0x00200000;  // PF_KTHREAD of the kernel's sched.h
constexpr int kFlagsField = 6;                      // of /proc/PID/stat, counted behind the name
// Threads that exist on each CPU.
constexpr std::array<std::string_view, 7> kEverywhere{
    "ksoftirqd/", "migration/", "cpuhp/", "idle_inject/", "kworker/", "rcu", "watchdog/"};

std::string line_of(const fs::path& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

// The last words of a line of /proc/interrupts.
std::string owner_in(const std::string& line) {
  const std::size_t end = line.find_last_not_of(" \t");
  const std::size_t gap = line.rfind("  ", end);
  return gap == std::string::npos ? "" : line.substr(gap + 2, end - gap - 1);
}

void add_interrupts(const fs::path& root, std::size_t cpus, std::map<unsigned, CpuUsers>& users) {
  std::ifstream file(root / "proc/interrupts");
  for (std::string line; std::getline(file, line);) {
    const std::size_t colon = line.find(':');
    const std::size_t begin = line.find_first_not_of(' ');
    if (colon == std::string::npos || begin >= colon) continue;
    const auto number = whole_number<unsigned>(std::string_view(line).substr(begin, colon - begin));
    if (!number) continue;  // per-CPU interrupts such as the local timer
    const auto list = runtime::parse_number_list(
        line_of(root / fmt::format("proc/irq/{}/effective_affinity_list", *number)),
        runtime::kMaxCpus);
    if (!list || list->size() == cpus) continue;
    for (const unsigned cpu : *list) {
      if (const auto found = users.find(cpu); found != users.end())
        found->second.interrupts.push_back(owner_in(line));
    }
  }
}

bool is_kernel_thread(const std::string& stat) {
  const auto close = stat.rfind(')');
  if (close == std::string::npos) return false;
  std::size_t at = close + 1;
  for (int field = 0; field < kFlagsField && at != std::string::npos; ++field)
    at = stat.find(' ', at + 1);
  if (at == std::string::npos) return false;
  const auto end = stat.find(' ', at + 1);
  const auto flags = whole_number<unsigned>(std::string_view(stat).substr(at + 1, end - at - 1));
  return flags && (*flags & kKernelThreadFlag) != 0;
}

std::vector<unsigned> allowed_cpus(const fs::path& folder) {
  std::ifstream file(folder / "status");
  for (std::string line; std::getline(file, line);) {
    constexpr std::string_view kKey = "Cpus_allowed_list:\t";
    if (!line.starts_with(kKey)) continue;
    return runtime::parse_number_list(line.substr(kKey.size()), runtime::kMaxCpus)
        .value_or(std::vector<unsigned>{});
  }
  return {};
}

void add_kernel_threads(const fs::path& root, std::map<unsigned, CpuUsers>& users) {
  std::error_code error;
  std::size_t seen = 0;
  for (fs::directory_iterator at(root / "proc", error), end; !error && at != end;
       at.increment(error)) {
    if (!whole_number<unsigned>(at->path().filename().string()) || ++seen > kProcessesMax) continue;
    if (!is_kernel_thread(line_of(at->path() / "stat"))) continue;
    const std::string name = line_of(at->path() / "comm");
    const auto is_prefix = [&name](std::string_view prefix) { return name.starts_with(prefix); };
    if (std::ranges::any_of(kEverywhere, is_prefix)) continue;
    const auto cpus = allowed_cpus(at->path());
    if (cpus.size() != 1) continue;
    if (const auto found = users.find(cpus.front()); found != users.end())
      found->second.kernel_threads.push_back(name);
  }
}

}  // namespace

std::vector<std::string> CpuUsers::names() const {
  std::vector<std::string> all = interrupts;
  all.insert(all.end(), kernel_threads.begin(), kernel_threads.end());
  return all;
}

std::vector<CpuUsers> users_of_cpus(const Machine& machine, const std::string& root) {
  std::map<unsigned, CpuUsers> users;
  for (const runtime::HardwareThread& thread : machine.topology.threads) {
    const bool isolated = std::ranges::find(machine.isolated, thread.cpu) != machine.isolated.end();
    users[thread.cpu] = {.cpu = thread.cpu, .isolated = isolated};
  }
  const fs::path at = root + "/";
  add_interrupts(at, machine.topology.threads.size(), users);
  add_kernel_threads(at, users);
  std::vector<CpuUsers> all;
  all.reserve(users.size());
  for (auto& [cpu, each] : users)
    all.push_back(std::move(each));
  return all;
}

}  // namespace plnet::pin
