// SPDX-License-Identifier: BSD-3-Clause
#include "apps/lnet-pin/run/node_watch.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>

#include <fmt/format.h>
#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "apps/lnet-pin/run/child.hpp"
#include "lib/base/whole_number.hpp"

namespace plnet::pin {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kThreadsMax = 1024;
constexpr std::size_t kSamplesMax = 100'000;  // of the CPU time: half an hour and more
constexpr double kJoulesPerMicrojoule = 1e-6;

constexpr std::uint64_t cache_event(std::uint64_t cache, std::uint64_t operation,
                                    std::uint64_t result) {
  return cache | (operation << 8U) | (result << 16U);
}
constexpr std::array<CounterKind, 5> kCounterKinds{
    {{"cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES},
     {"instructions", PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS},
     {"llc_misses", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES},
     // Loads served by another NUMA node.
     {"remote_reads", PERF_TYPE_HW_CACHE,
      cache_event(PERF_COUNT_HW_CACHE_NODE, PERF_COUNT_HW_CACHE_OP_READ,
                  PERF_COUNT_HW_CACHE_RESULT_MISS)},
     {"migrations", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_MIGRATIONS}}};

std::string read_text(const fs::path& path) {
  std::ifstream file(path);
  std::string text;
  std::getline(file, text, '\0');
  return text;
}

double number_in(const fs::path& path) {
  std::string text = read_text(path);
  while (!text.empty() && text.back() == '\n')
    text.pop_back();
  return whole_number<double>(text).value_or(0);
}

std::vector<pid_t> threads_of(pid_t node, const std::string& root) {
  std::vector<pid_t> threads;
  std::error_code error;
  const fs::path folder = fmt::format("{}/proc/{}/task", root, node);
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    const auto thread = whole_number<pid_t>(at->path().filename().string());
    if (thread && threads.size() < kThreadsMax) threads.push_back(*thread);
  }
  return threads;
}

// Thermal throttling events of the cores of these CPUs.
double throttled_of(const std::vector<unsigned>& cpus, const std::string& root) {
  double sum = 0;
  for (const unsigned cpu : cpus) {
    sum += number_in(fmt::format(
        "{}/sys/devices/system/cpu/cpu{}/thermal_throttle/core_throttle_count", root, cpu));
  }
  return sum;
}

run::CpuTimes times_of(const std::string& root) {
  return run::read_cpu_times(read_text(root + "/proc/stat"));
}

// In nanoseconds. /proc/PID/stat counts ticks of 10 ms: a node that sleeps may use less than one in
// a short measurement.
std::optional<double> precise_cpu_seconds(pid_t node) {
  clockid_t clock{};
  timespec used{};
  if (::clock_getcpuclockid(node, &clock) != 0 || ::clock_gettime(clock, &used) != 0)
    return std::nullopt;
  constexpr double kNanosecond = 1e-9;
  return static_cast<double>(used.tv_sec) + static_cast<double>(used.tv_nsec) * kNanosecond;
}

bool is_denied(int number) {
  return number == EACCES || number == EPERM;
}

}  // namespace

std::expected<int, int> open_counter(const CounterKind& kind, pid_t thread, bool with_kernel) {
  perf_event_attr attributes{};
  attributes.size = sizeof attributes;
  attributes.type = kind.type;
  attributes.config = kind.config;
  attributes.exclude_kernel = with_kernel ? 0 : 1;
  attributes.exclude_hv = 1;
  const auto file = static_cast<int>(
      ::syscall(SYS_perf_event_open, &attributes, thread, -1, -1, PERF_FLAG_FD_CLOEXEC));
  if (file < 0) return std::unexpected(errno);
  return file;
}

NodeWatch::NodeWatch(pid_t node, std::vector<unsigned> cpus, std::string root,
                     const CounterOpener& opener)
    : node_(node), cpus_(std::move(cpus)), root_(std::move(root)), times_(times_of(root_)) {
  std::ranges::sort(cpus_);
  const auto rest = std::ranges::unique(cpus_);
  cpus_.erase(rest.begin(), rest.end());
  throttled_ = throttled_of(cpus_, root_);
  joules_ = package_joules(root_);
  open_counters(opener);
}

void NodeWatch::open_counters(const CounterOpener& opener) {
  const auto threads = threads_of(node_, root_);
  for (const CounterKind& kind : kCounterKinds) {
    for (const pid_t thread : threads) {
      auto file = opener(kind, thread, true);
      if (!file && is_denied(file.error())) file = opener(kind, thread, false);
      if (file) {
        counters_.push_back({kind.name, runtime::Descriptor(*file)});
        continue;
      }
      if (file.error() == ESRCH) continue;  // this thread has ended
      if (note_.empty() && kind.type != PERF_TYPE_SOFTWARE) {
        note_ = is_denied(file.error())
                    ? "not permitted: they take CAP_PERFMON (setcap cap_perfmon+ep lnet-pin), or "
                      "sysctl kernel.perf_event_paranoid=1"
                    : fmt::format("this machine has no counter of {}: {}", kind.name,
                                  std::generic_category().message(file.error()));
      }
      break;  // the other threads have the same answer
    }
  }
}

double NodeWatch::cpu_seconds() const {
  if (root_.empty()) {
    if (const auto seconds = precise_cpu_seconds(node_)) return *seconds;
  }
  // The text in brackets may have blanks; the fields after it are in the order of proc(5).
  const std::string text = read_text(fmt::format("{}/proc/{}/stat", root_, node_));
  const auto close = text.rfind(')');
  if (close == std::string::npos) return 0;
  std::istringstream words(text.substr(close + 1));
  constexpr int kUserTime = 12;  // counted from the state
  std::string word;
  double ticks = 0;
  for (int i = 0; words >> word && i <= kUserTime; ++i) {
    if (i >= kUserTime - 1) ticks += whole_number<double>(word).value_or(0);
  }
  return ticks / static_cast<double>(::sysconf(_SC_CLK_TCK));
}

double NodeWatch::preempted() const {
  double sum = 0;
  for (const pid_t thread : threads_of(node_, root_)) {
    std::istringstream lines(
        read_text(fmt::format("{}/proc/{}/task/{}/status", root_, node_, thread)));
    for (std::string line; std::getline(lines, line);) {
      constexpr std::string_view kKey = "nonvoluntary_ctxt_switches:\t";
      if (line.starts_with(kKey))
        sum += whole_number<double>(std::string_view(line).substr(kKey.size())).value_or(0);
    }
  }
  return sum;
}

void NodeWatch::sample(Instant now) {
  if (samples_.size() < kSamplesMax) samples_.emplace_back(now, cpu_seconds());
}

// CPU seconds per second.
double NodeWatch::busiest(Duration window) const {
  double most = 0;
  std::size_t begin = 0;
  for (const auto& [end, seconds] : samples_) {
    while (begin + 1 < samples_.size() && end - samples_[begin + 1].first >= window)
      ++begin;
    const double took = std::chrono::duration<double>(end - samples_[begin].first).count();
    if (end - samples_[begin].first >= window)
      most = std::max(most, (seconds - samples_[begin].second) / took);
  }
  return most;
}

void NodeWatch::read(Figures& figures, Duration window) const {
  figures.cpu_seconds = cpu_seconds();
  if (const double busy = busiest(window); busy > 0) figures.busy_cores = busy;
  figures.preempted = preempted();
  figures.throttled = std::max(0.0, throttled_of(cpus_, root_) - throttled_);
  const double joules = package_joules(root_);
  if (joules > joules_ && joules_ > 0) figures.joules = joules - joules_;
  double steal = 0;
  std::size_t seen = 0;
  for (const run::CpuUse& use : run::use_between(times_, times_of(root_))) {
    if (!std::ranges::binary_search(cpus_, use.cpu)) continue;
    steal += use.steal_percent;
    ++seen;
  }
  figures.steal_percent = seen == 0 ? 0 : steal / static_cast<double>(seen);
  for (const Counter& counter : counters_) {
    std::uint64_t value = 0;
    if (::read(counter.file.get(), &value, sizeof value) != sizeof value) continue;
    if (counter.name == "migrations")
      figures.migrations = figures.migrations.value_or(0) + static_cast<double>(value);
    else
      figures.counters[counter.name] += static_cast<double>(value);
  }
}

double package_joules(const std::string& root) {
  double sum = 0;
  std::error_code error;
  const fs::path folder = root + "/sys/class/powercap";
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    const std::string name = at->path().filename().string();
    // "intel-rapl:0" is a package, "intel-rapl:0:0" a part of it.
    if (name.starts_with("intel-rapl:") && std::ranges::count(name, ':') == 1)
      sum += number_in(at->path() / "energy_uj") * kJoulesPerMicrojoule;
  }
  return sum;
}

}  // namespace plnet::pin
