// SPDX-License-Identifier: BSD-3-Clause
#include "apps/lnet-pin/recommend/host_commands.hpp"

#include <fmt/format.h>

#include "apps/lnet-pin/run/machine_settings.hpp"
#include "lib/runtime/cpt/number_list.hpp"

namespace plnet::pin {
namespace {

std::string commands_of(const Placement& placement, const Machine& machine) {
  std::string text;
  for (const auto& [path, value] : settings_of(placement, machine, {}))
    text += fmt::format("echo {} > {}\n", value, path);
  return text;
}

}  // namespace

std::string governor_commands(const Results& results, const Placement& placement) {
  Placement only = placement;
  only.hugepages = "keep";
  const std::string commands = commands_of(only, results.machine);
  return commands.empty() ? "" : "# The frequency governor.\n" + commands;
}

std::string hugepage_commands(const Results& results, const Placement& placement) {
  Placement only = placement;
  only.governor = "keep";
  const std::string commands = commands_of(only, results.machine);
  return commands.empty() ? "" : "# Huge pages.\n" + commands;
}

std::string interrupt_commands(const Results& results, const Placement& placement) {
  if (!placement.interrupt_cpus) return {};
  const std::string cpus = runtime::format_number_list(*placement.interrupt_cpus);
  std::string text =
      "# Interrupts; irqbalance must leave them alone.\nsystemctl disable --now irqbalance\n";
  for (const std::string& name : results.plan.sweep.interfaces) {
    if (results.machine.find_nic(name) == nullptr) continue;
    // A virtio card has the interrupts of its parent device, and numbers change with each start.
    text += fmt::format(
        "for irq in $(cd /sys/class/net/{}/device && ls msi_irqs 2>/dev/null || ls ../msi_irqs); "
        "do echo {} > /proc/irq/$irq/smp_affinity_list; done\n",
        name, cpus);
  }
  return text;
}

}  // namespace plnet::pin
