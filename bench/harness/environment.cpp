// SPDX-License-Identifier: BSD-3-Clause
#include "bench/harness/environment.hpp"

#include <array>
#include <ctime>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>

#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

namespace plnet::bench {
namespace {

// The value of the first line "key : value" of a file of the kernel's; empty if there is none.
std::string field_of(const char* path, std::string_view key) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with(key)) continue;
    const auto colon = line.find(':');
    if (colon == std::string::npos) continue;
    const auto start = line.find_first_not_of(" \t", colon + 1);
    return start == std::string::npos ? "" : line.substr(start);
  }
  return "";
}

std::string first_line(const char* path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

std::string or_unknown(std::string text) {
  return text.empty() ? "unknown" : text;
}

std::string date() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&now, &parts);
  std::array<char, 32> text{};
  const auto length = std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &parts);
  return {text.data(), length};
}

std::string compiler() {
#ifdef __clang__
  return "clang " __clang_version__;
#else
  return "gcc " __VERSION__;
#endif
}

}  // namespace

nlohmann::ordered_json environment() {
  utsname system{};
  uname(&system);
  nlohmann::ordered_json out;
  out["cpu"] = or_unknown(field_of("/proc/cpuinfo", "model name"));
  out["cpus_online"] = sysconf(_SC_NPROCESSORS_ONLN);
  out["kernel"] = std::string(system.release) + " " + system.machine;
  out["governor"] = or_unknown(first_line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"));
  out["tcp_congestion_control"] =
      or_unknown(first_line("/proc/sys/net/ipv4/tcp_congestion_control"));
  out["compiler"] = compiler();
  out["hugepages"] = field_of("/proc/meminfo", "HugePages_Total") + " of " +
                     field_of("/proc/meminfo", "Hugepagesize") + ", transparent " +
                     or_unknown(first_line("/sys/kernel/mm/transparent_hugepage/enabled"));
  out["date"] = date();
  return out;
}

CpuTicks cpu_ticks() {
  // cpu user nice system idle iowait irq softirq steal …
  constexpr int kColumns = 8;
  std::istringstream line(first_line("/proc/stat"));
  std::string label;
  line >> label;
  CpuTicks ticks;
  for (int column = 0; column < kColumns; ++column) {
    std::uint64_t value = 0;
    line >> value;
    ticks.total += value;
    if (column == kColumns - 1) ticks.steal = value;
  }
  return ticks;
}

std::int64_t involuntary_switches() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_nivcsw;
}

}  // namespace plnet::bench
