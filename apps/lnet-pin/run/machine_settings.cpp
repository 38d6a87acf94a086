// SPDX-License-Identifier: BSD-3-Clause
#include "apps/lnet-pin/run/machine_settings.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "lib/base/joined.hpp"

namespace plnet::pin {
namespace {

constexpr std::string_view kReservedPages = "nr_hugepages";

void add_hugepages(const Placement& placement, const Machine& machine,
                   std::vector<Setting>& settings) {
  const std::string& pages = placement.hugepages;
  if (pages == "keep") return;
  const bool reserved = pages != "never" && pages != "transparent";
  settings.emplace_back("/sys/kernel/mm/transparent_hugepage/enabled",
                        pages == "transparent" ? "always" : "never");
  for (const runtime::NumaNode& node : machine.topology.nodes) {
    const bool used = std::ranges::find(placement.cpts, node.node, &PinnedCpt::memory_node) !=
                      placement.cpts.end();
    settings.emplace_back(
        fmt::format("/sys/devices/system/node/node{}/hugepages/hugepages-2048kB/{}", node.node,
                    kReservedPages),
        reserved && used ? pages : "0");
  }
}

}  // namespace

std::vector<Setting> settings_of(const Placement& placement, const Machine& machine,
                                 const std::vector<std::string>& interfaces) {
  std::vector<Setting> settings;
  if (placement.interrupt_cpus) {
    const std::string cpus = joined(*placement.interrupt_cpus, ",");
    for (const std::string& name : interfaces) {
      const Nic* const nic = machine.find_nic(name);
      if (nic == nullptr) continue;
      for (const unsigned interrupt : nic->interrupts)
        settings.emplace_back(fmt::format("/proc/irq/{}/smp_affinity_list", interrupt), cpus);
    }
  }
  if (placement.governor != "keep") {
    for (const unsigned cpu : placement.cpus()) {
      settings.emplace_back(
          fmt::format("/sys/devices/system/cpu/cpu{}/cpufreq/scaling_governor", cpu),
          placement.governor);
    }
  }
  add_hugepages(placement, machine, settings);
  return settings;
}

Outcome<void> make_settings(const std::vector<Setting>& settings, Changes& changes,
                            const std::string& root) {
  for (const auto& [path, text] : settings) {
    if (auto done = changes.set(path, text); !done) return done;
  }
  // The kernel reserves as many huge pages as it can, and does not report a smaller number.
  for (const auto& [path, text] : settings) {
    if (!path.ends_with(kReservedPages)) continue;
    const auto there = read_setting(root + path);
    if (!there || *there != text) {
      return failure(Errc::kNoMemory, fmt::format("{}: {} huge pages instead of {}", path,
                                                  there ? *there : "no", text));
    }
  }
  return {};
}

}  // namespace plnet::pin
