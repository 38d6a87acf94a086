// SPDX-License-Identifier: BSD-3-Clause
#include "lib/runtime/host/host_check.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <linux/capability.h>
#include <nlohmann/json.hpp>

namespace plnet::runtime {
namespace {

using Findings = std::vector<Finding>;

bool has(const HostFacts& facts, unsigned capability) {
  return ((facts.effective_capabilities >> capability) & 1U) != 0;
}

std::string grant(std::string_view capability) {
  return fmt::format("setcap {}+ep PROGRAM, or AmbientCapabilities={} in the systemd unit",
                     capability, capability);
}

std::string list_text(std::span<const unsigned> cpus) {
  std::string text;
  for (const unsigned cpu : cpus) {
    if (!text.empty()) text += ',';
    text += std::to_string(cpu);
  }
  return text;
}

bool spins(IdlePolicy policy) {
  return policy == IdlePolicy::kBusy || policy == IdlePolicy::kPause;
}

void check_port(const HostFacts& facts, const HostNeeds& needs, Findings& findings) {
  const std::uint16_t port = needs.accept_port;
  if (port == 0) return;
  const Severity severity = needs.listens_now ? Severity::kError : Severity::kWarning;
  if (std::ranges::binary_search(facts.listening_ports, port)) {
    const bool kernel = facts.kernel_lnet;
    findings.push_back(
        {severity, "port_taken",
         fmt::format("TCP port {} is in use{}", port,
                     kernel ? ", most likely by LNet in the kernel (module lnet is loaded)" : ""),
         "peers connect to this port",
         kernel ? "lctl network down && lustre_rmmod, or choose another accept_port"
                : fmt::format("ss -ltnp 'sport = :{}' names who has it; stop it or choose another "
                              "accept_port",
                              port)});
  } else if (facts.kernel_lnet) {
    findings.push_back({Severity::kWarning, "kernel_lnet", "LNet is loaded in the kernel",
                        fmt::format("it takes port {} as soon as it is configured", port),
                        "lctl network down && lustre_rmmod, or choose another accept_port"});
  }
  if (port < facts.unprivileged_port_first && !has(facts, CAP_NET_BIND_SERVICE)) {
    findings.push_back({severity, "cap_net_bind_service",
                        fmt::format("CAP_NET_BIND_SERVICE for port {}", port),
                        "listening on it, and connecting from a reserved port as peers expect, is "
                        "privileged; without it peers are not connected to over IPv6",
                        grant("cap_net_bind_service")});
  }
}

void check_capabilities(const HostFacts& facts, const HostNeeds& needs, Findings& findings) {
  if (needs.raise_priority && !has(facts, CAP_SYS_NICE)) {
    findings.push_back({Severity::kNote, "cap_sys_nice", "CAP_SYS_NICE",
                        "without it pollers keep the default priority", grant("cap_sys_nice")});
  }
  if (needs.configure_network && !has(facts, CAP_NET_ADMIN)) {
    findings.push_back({Severity::kWarning, "cap_net_admin", "CAP_NET_ADMIN",
                        "queues and busy polling of interfaces cannot be set",
                        grant("cap_net_admin")});
  }
  if (!needs.lock_memory || has(facts, CAP_IPC_LOCK)) return;
  if (facts.locked_memory_max && *facts.locked_memory_max < needs.memory_bytes) {
    findings.push_back(
        {Severity::kError, "memlock",
         fmt::format("locked memory: {} MiB wanted, the limit (RLIMIT_MEMLOCK) is {} KiB and "
                     "CAP_IPC_LOCK is missing",
                     needs.memory_bytes >> 20U, *facts.locked_memory_max / 1024),
         "devices reach this memory directly; it must not be swapped out",
         fmt::format("ulimit -l unlimited, LimitMEMLOCK=infinity in the systemd unit, or {}",
                     grant("cap_ipc_lock"))});
  }
}

// Address space beside the arenas: stacks, libraries, tables of peers and messages of usual size.
constexpr std::uint64_t kOtherAddresses = 1ULL << 30U;

void check_address_space(const HostFacts& facts, const HostNeeds& needs, Findings& findings) {
  if (!facts.address_space_left) return;
  const std::uint64_t left = *facts.address_space_left;
  if (left >= needs.memory_bytes + kOtherAddresses) return;
  findings.push_back(
      {left < needs.memory_bytes ? Severity::kError : Severity::kWarning, "address_space",
       fmt::format(
           "address space: {} MiB wanted for arenas and up to {} MiB for all else, the limit "
           "(RLIMIT_AS) leaves {} MiB",
           needs.memory_bytes >> 20U, kOtherAddresses >> 20U, left >> 20U),
       "a start that meets the limit fails, and a router has no memory for buffers",
       "ulimit -v unlimited, LimitAS=infinity in the systemd unit, or lower `plnet: memory: "
       "arena_mib`"});
}

void check_memory(const HostFacts& facts, const HostNeeds& needs, Findings& findings) {
  std::uint64_t huge_free = 0;
  for (const HugepagePool& pool : facts.hugepages)
    huge_free += pool.free * pool.page_size;
  const std::uint64_t huge_wanted = needs.memory_bytes + needs.packet_bytes;
  if (huge_free < huge_wanted) {
    findings.push_back(
        {Severity::kNote, "hugepages",
         fmt::format("hugepages: {} MiB wanted, {} MiB free", huge_wanted >> 20U, huge_free >> 20U),
         "with 4 KiB pages every copy pays for more page table entries",
         reserving_hugepages(huge_wanted, facts.hugepages)});
    const std::uint64_t group = facts.group_memory_left.value_or(UINT64_MAX);
    const std::uint64_t available = std::min(facts.available_memory, group);
    const bool by_group = group < facts.available_memory;
    if (facts.available_memory > 0 && available + huge_free < needs.memory_bytes) {
      findings.push_back({Severity::kError, "memory",
                          fmt::format("memory: {} MiB wanted, {} MiB available{}",
                                      needs.memory_bytes >> 20U, (available + huge_free) >> 20U,
                                      by_group ? " within the limit of the control group" : ""),
                          "all of it is taken at start",
                          by_group ? "raise memory.max of the control group (MemoryMax= in the "
                                     "systemd unit), or lower `plnet: memory: arena_mib`"
                                   : "lower `plnet: memory: arena_mib`"});
    }
  }
}

void check_cpus(const HostFacts& facts, const HostNeeds& needs, Findings& findings) {
  std::vector<unsigned> slow;
  std::vector<unsigned> shared;
  for (const unsigned cpu : needs.poller_cpus) {
    const auto found = std::ranges::find(facts.governors, cpu, &CpuGovernor::cpu);
    if (found != facts.governors.end() && found->governor != "performance") slow.push_back(cpu);
    if (std::ranges::find(facts.isolated_cpus, cpu) == facts.isolated_cpus.end() ||
        std::ranges::find(facts.tickless_cpus, cpu) == facts.tickless_cpus.end()) {
      shared.push_back(cpu);
    }
  }
  if (!slow.empty()) {
    findings.push_back({Severity::kWarning, "governor",
                        fmt::format("CPU governor `performance` on CPUs {}", list_text(slow)),
                        "a CPU that clocks down while it waits answers late",
                        "cpupower frequency-set -g performance"});
  }
  if (spins(needs.idle) && !shared.empty()) {
    const std::string cpus = list_text(shared);
    findings.push_back({Severity::kNote, "isolation",
                        fmt::format("CPUs {} are not kept free of other work", cpus),
                        "the kernel interrupts pollers there with its timer and with other tasks",
                        fmt::format("boot with isolcpus={0} nohz_full={0} rcu_nocbs={0}", cpus)});
  }
}

}  // namespace

std::string_view name_of(Severity severity) {
  switch (severity) {
    case Severity::kNote: return "note";
    case Severity::kWarning: return "warning";
    case Severity::kError: return "error";
  }
  return "unknown";
}

std::vector<Finding> check_host(const HostFacts& facts, const HostNeeds& needs) {
  Findings findings;
  check_port(facts, needs, findings);
  check_capabilities(facts, needs, findings);
  check_memory(facts, needs, findings);
  check_address_space(facts, needs, findings);
  check_cpus(facts, needs, findings);
  Findings sorted;
  for (const Severity severity : {Severity::kError, Severity::kWarning, Severity::kNote}) {
    for (const Finding& finding : findings) {
      if (finding.severity == severity) sorted.push_back(finding);
    }
  }
  return sorted;
}

Finding lcore_taken(std::string what) {
  return {
      Severity::kError, "lcore_taken", std::move(what),
      "two pollers that never leave a CPU starve each other",
      "give each instance CPUs of its own (plnet: cpts), or `plnet: pollers: idle: sleep` to both"};
}

std::string text_of(const Finding& finding) {
  return fmt::format("{}: {}: {}\n    to fix: {}", name_of(finding.severity), finding.what,
                     finding.why, finding.fix);
}

nlohmann::json json_of(std::span<const Finding> findings) {
  auto list = nlohmann::json::array();
  for (const Finding& finding : findings) {
    list.push_back({{"severity", name_of(finding.severity)},
                    {"id", finding.id},
                    {"what", finding.what},
                    {"why", finding.why},
                    {"fix", finding.fix}});
  }
  return list;
}

}  // namespace plnet::runtime
