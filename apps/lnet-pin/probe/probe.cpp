// SPDX-License-Identifier: BSD-3-Clause
#include "apps/lnet-pin/probe/probe.hpp"

#include <algorithm>
#include <atomic>
#include <fstream>
#include <thread>

#include <fmt/format.h>

#include "apps/lnet-selftest/run/cpu_times.hpp"

namespace plnet::pin {
namespace {

constexpr std::size_t kCpusMax = 128;  // 8128 pairs; larger machines: first siblings only
constexpr std::size_t kMemoryBytes = std::size_t{64} << 20U;
constexpr double kShortest = 0.002;  // of a measurement, in seconds
constexpr double kLongest = 0.5;
constexpr double kNoisyPercent = 1;
constexpr double kStealPercent = 1;

std::string line_in(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

run::CpuTimes times_in(const std::string& root) {
  std::ifstream file(root + "/proc/stat");
  std::string text;
  std::getline(file, text, '\0');
  return run::read_cpu_times(text);
}

std::string turbo_of(const std::string& root) {
  const std::string folder = root + "/sys/devices/system/cpu/";
  if (const auto off = line_in(folder + "intel_pstate/no_turbo"); !off.empty())
    return off == "0" ? "on" : "off";
  if (const auto boost = line_in(folder + "cpufreq/boost"); !boost.empty())
    return boost == "1" ? "on" : "off";
  return "unknown";
}

std::vector<unsigned> cpus_to_measure(const Machine& machine) {
  std::vector<unsigned> cpus;
  const bool many = machine.topology.threads.size() > kCpusMax;
  for (const runtime::HardwareThread& thread : machine.topology.threads) {
    if (thread.allowed() && (!many || thread.smt == 0) && cpus.size() < kCpusMax)
      cpus.push_back(thread.cpu);
  }
  return cpus;
}

class Prober {
 public:
  Prober(Probe& probe, const ProbeSetup& setup, const ProbeProgress& progress)
      : probe_(probe), setup_(setup), progress_(progress) {
    const std::size_t cpus = probe.cpus.size();
    steps_ = cpus * (cpus - 1) / 2 + 2 * cpus * probe.machine.topology.nodes.size() + 5 * cpus;
    step_ =
        Seconds(std::clamp(setup.seconds / static_cast<double>(std::max<std::size_t>(steps_, 1)),
                           kShortest, kLongest));
  }

  void run() {
    const run::CpuTimes before = times_in(setup_.root);
    if (measure_cpus() && measure_lines()) (void)measure_memory();
    for (const run::CpuUse& use : run::use_between(before, times_in(setup_.root))) {
      for (CpuRow& row : probe_.rows)
        row.steal_percent = row.cpu == use.cpu ? use.steal_percent : row.steal_percent;
    }
    report_disturbances();
  }

 private:
  bool next(std::string_view what) {
    return progress_(what, static_cast<double>(done_++) / static_cast<double>(steps_));
  }

  bool measure_cpus() {
    for (const unsigned cpu : probe_.cpus) {
      CpuRow row{.cpu = cpu};
      const unsigned other = cpu == probe_.cpus.front() ? probe_.cpus.back() : probe_.cpus.front();
      if (!next("clocks")) return false;
      row.ghz = clock_ghz(cpu, step_).value_or(0);
      if (!next("clocks of busy cores")) return false;
      row.busy_ghz = with_others_busy(cpu);
      if (!next("system calls")) return false;
      row.system_call_ns = system_call_ns(cpu, step_).value_or(0);
      if (!next("wake-ups")) return false;
      row.wake_up_ns = wake_up_ns(other, cpu, step_).value_or(0);
      if (!next("noise")) return false;
      row.noise = noise_of(cpu, step_).value_or(Noise{});
      row.governor = line_in(fmt::format("{}/sys/devices/system/cpu/cpu{}/cpufreq/scaling_governor",
                                         setup_.root, cpu));
      probe_.rows.push_back(std::move(row));
    }
    return true;
  }

  double with_others_busy(unsigned cpu) {
    std::atomic<bool> over{false};
    std::vector<std::thread> busy;
    for (const unsigned other : probe_.cpus) {
      if (other == cpu) continue;
      busy.emplace_back([other, &over] {
        if (!bind_to_cpu(other)) return;
        while (!over) {
        }
      });
    }
    const double ghz = clock_ghz(cpu, step_).value_or(0);
    over = true;
    for (std::thread& each : busy)
      each.join();
    return ghz;
  }

  bool measure_lines() {
    const std::size_t count = probe_.cpus.size();
    probe_.line_ns.assign(count, std::vector<double>(count, 0));
    for (std::size_t i = 0; i < count; ++i) {
      for (std::size_t j = i + 1; j < count; ++j) {
        if (!next("cache lines between cores")) return false;
        const auto latency = line_latency_ns(probe_.cpus[i], probe_.cpus[j], step_);
        probe_.line_ns[i][j] = probe_.line_ns[j][i] = latency.value_or(0);
      }
    }
    return true;
  }

  bool measure_memory() {
    for (const unsigned cpu : probe_.cpus) {
      for (const runtime::NumaNode& node : probe_.machine.topology.nodes) {
        for (const Pages pages : {Pages::kSmall, Pages::kHuge}) {
          if (!next("memory")) return false;
          const auto speed = memory_speed(cpu, node.node, pages, kMemoryBytes, step_);
          if (speed) probe_.memory.push_back({cpu, node.node, pages, *speed});
        }
      }
    }
    return true;
  }

  void report_disturbances() {
    for (const CpuRow& row : probe_.rows) {
      if (row.noise.lost_percent > kNoisyPercent) {
        probe_.disturbances.push_back(fmt::format(
            "CPU {} was busy with something else for {:.1f} % of the time, {:.0f} µs at "
            "a stretch: its figures may be too high",
            row.cpu, row.noise.lost_percent, row.noise.longest_us));
      }
      if (row.steal_percent > kStealPercent) {
        probe_.disturbances.push_back(fmt::format("a hypervisor took {:.1f} % of CPU {} for others",
                                                  row.steal_percent, row.cpu));
      }
    }
  }

  Probe& probe_;
  const ProbeSetup& setup_;
  const ProbeProgress& progress_;
  std::size_t steps_ = 1;
  std::size_t done_ = 0;
  Seconds step_{};
};

}  // namespace

Outcome<Probe> probe_machine(Machine machine, const ProbeSetup& setup,
                             const ProbeProgress& progress) {
  if (!machine.topology.live)
    return failure(Errc::kInvalid, "only the machine that this runs on can be probed");
  Probe probe{.machine = std::move(machine)};
  probe.cpus = cpus_to_measure(probe.machine);
  if (probe.cpus.empty()) return failure(Errc::kNotFound, "this process may use no CPU");
  probe.users = users_of_cpus(probe.machine, setup.root);
  probe.turbo = turbo_of(setup.root);
  Prober(probe, setup, progress).run();
  return probe;
}

}  // namespace plnet::pin
