// SPDX-License-Identifier: BSD-3-Clause
#include "node/host/machine.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include "lib/base/check.hpp"
#include "lib/runtime/host/start_turn.hpp"
#include "node/host/residents.hpp"
#include "node/host/router_memory.hpp"

namespace plnet::node {
namespace {

// Longer than it takes to fault in the arenas of most machines.
constexpr Duration kTurnPatience = std::chrono::seconds(20);

using runtime::ClaimMode;
using runtime::IdlePolicy;

std::vector<unsigned> cpus_of(const runtime::CptPlan& plan) {
  std::vector<unsigned> cpus;
  for (const auto& cpt : plan.cpts) {
    for (const auto& shard : cpt.shards)
      cpus.push_back(shard.cpu);
  }
  return cpus;
}

ClaimMode claim_for(IdlePolicy idle) {
  return idle == IdlePolicy::kBusy || idle == IdlePolicy::kPause ? ClaimMode::kExclusive
                                                                 : ClaimMode::kShared;
}

Outcome<IdlePolicy> choose_idle(IdlePolicy asked, const runtime::CptPlan& plan) {
  const auto cpus = cpus_of(plan);
  if (claim_for(asked) == ClaimMode::kExclusive && plan.any_shared_cpu()) {
    return failure(Errc::kInvalid,
                   "idle: " + std::string(name_of(asked)) +
                       ": two shards of the plan share a CPU, and a poller that never leaves it "
                       "would starve the other; expected auto, yield or sleep");
  }
  return choose_idle_policy(asked, {.poller_cpus = cpus, .usable_cpus = plan.usable_cpus});
}

// The memory nodes of the CPTs, each once.
std::vector<unsigned> memory_nodes(const runtime::CptPlan& plan) {
  std::vector<unsigned> nodes;
  for (const auto& cpt : plan.cpts) {
    if (std::ranges::find(nodes, cpt.memory_node) == nodes.end()) nodes.push_back(cpt.memory_node);
  }
  return nodes;
}

// The size of a NUMA node's arena.
std::uint64_t arena_bytes(const runtime::Settings& settings, const runtime::CptPlan& plan,
                          unsigned node, const Residents* residents) {
  std::uint64_t bytes = std::uint64_t{settings.memory.arena_mib} << 20U;
  if (residents == nullptr) return bytes;
  for (const auto& cpt : plan.cpts) {
    if (cpt.memory_node != node) continue;
    for (const auto& shard : cpt.shards)
      bytes += residents->needs(shard.number).bytes;
  }
  return bytes;
}

// The size of the family's arenas, without those that are only reserved.
std::uint64_t taken_at_start(const FamilyNeeds& needs, std::size_t shards) {
  std::uint64_t bytes = 0;
  for (const FamilyArena& arena : needs.arenas) {
    if (!arena.taken_when_used) bytes += arena.bytes * (arena.for_each_shard ? shards : 1);
  }
  return bytes;
}

}  // namespace

Outcome<MachinePlan> Machine::plan(const runtime::Settings& settings, Families families,
                                   const Residents* residents) {
  auto planned = runtime::plan_machine(settings.cpts, {});
  if (!planned) return std::unexpected(planned.error());
  const auto idle = choose_idle(settings.pollers.idle, planned->plan);
  if (!idle) return std::unexpected(idle.error());
  runtime::HostNeeds needs;
  needs.poller_cpus = cpus_of(planned->plan);
  needs.idle = *idle;
  for (const unsigned node : memory_nodes(planned->plan))
    needs.memory_bytes += arena_bytes(settings, planned->plan, node, residents);
  needs.listens_now = false;  // the first NI that listens may be added later
  std::vector<Outcome<FamilyNeeds>> of_families;
  for (const NetworkFamily* family : families) {
    of_families.push_back(family->needs(settings));
    if (of_families.back() && of_families.back()->accept_port != 0)
      needs.accept_port = of_families.back()->accept_port;
    if (of_families.back() && of_families.back()->locks_memory) needs.lock_memory = true;
  }
  needs.packet_bytes = std::uint64_t{runtime::EalRequest{}.memory_mib} << 20U;
  for (const Outcome<FamilyNeeds>& family : of_families) {
    if (!family) continue;
    needs.packet_bytes += std::uint64_t{family->eal_mib} << 20U;
    needs.memory_bytes += taken_at_start(*family, planned->plan.shard_count);
  }
  auto facts = runtime::read_host_facts();
  auto findings = runtime::check_host(facts, needs);
  return MachinePlan{families,
                     std::move(of_families),
                     std::move(facts),
                     std::move(*planned),
                     *idle,
                     std::move(findings),
                     needs.memory_bytes + needs.packet_bytes};
}

Outcome<void> Machine::check_claims(const MachinePlan& plan, const MachineOptions& options) {
  runtime::make_claim_directory(options.lock_directory);
  runtime::CpuClaims claims(options.lock_directory, options.instance);
  return claims.claim_all(cpus_of(plan.planned.plan), claim_for(plan.idle));
}

Outcome<std::unique_ptr<Machine>> Machine::take(MachinePlan plan, const runtime::Settings& settings,
                                                const MachineOptions& options) {
  std::unique_ptr<Machine> machine(new Machine(std::move(plan), options));
  runtime::make_claim_directory(options.lock_directory);
  const auto cpus = cpus_of(machine->cpts());
  auto claimed = machine->claims_->claim_all(cpus, claim_for(machine->idle()));
  if (!claimed) return std::unexpected(claimed.error());
  // Instances that start together take turns: each counts the hugepages left by earlier ones.
  // Hugepages belong to the machine, so the folder of the CPU claims does not matter.
  const std::string turns = runtime::usual_claim_directory();
  runtime::make_claim_directory(turns);
  const runtime::StartTurn turn(turns, kTurnPatience);
  machine->plan_.facts.hugepages = runtime::read_host_facts().hugepages;
  if (auto started = machine->start_eal(options); !started) {
    return std::unexpected(started.error());
  }
  if (auto added = machine->add_arenas(settings, options.residents); !added)
    return std::unexpected(added.error());
  if (auto added = machine->add_family_arenas(); !added) return std::unexpected(added.error());
  return machine;
}

Machine::Machine(MachinePlan plan, const MachineOptions& options)
    : plan_(std::move(plan)),
      claims_(std::make_unique<runtime::CpuClaims>(options.lock_directory, options.instance)) {}

Outcome<void> Machine::start_eal(const MachineOptions& options) {
  runtime::EalRequest request;
  request.program = options.instance;
  for (const auto& cpt : cpts().cpts) {
    for (const auto& shard : cpt.shards)
      request.lcores.push_back({shard.number, shard.cpu});
  }
  request.main_cpus = cpts().admin_cpus;
  request.debug = options.eal_debug;
  for (const Outcome<FamilyNeeds>& needs : plan_.needs) {
    if (!needs) return std::unexpected(needs.error());
    request.memory_mib += needs->eal_mib;
    request.pci.insert(request.pci.end(), needs->pci.begin(), needs->pci.end());
  }
  request.all_bytes = plan_.hugepage_bytes;
  request.log = options.eal_log;
  auto eal = runtime::Eal::start(request, plan_.facts.hugepages);
  if (!eal) return std::unexpected(eal.error());
  eal_ = std::move(*eal);
  return {};
}

Outcome<void> Machine::add_arenas(const runtime::Settings& settings, const Residents* residents) {
  const auto nodes = memory_nodes(cpts());
  for (const unsigned node : nodes) {
    const runtime::ArenaRequest request{.bytes = arena_bytes(settings, cpts(), node, residents),
                                        .numa_node = static_cast<int>(node)};
    if (auto added = memory_.add(arenas_, request); !added) return std::unexpected(added.error());
  }
  const auto available = [&](unsigned node) {
    const std::uint64_t bytes = runtime::available_memory_on(plan_.facts, node, nodes.size());
    if (bytes == 0) return bytes;
    // The facts were read before the arenas were taken.
    return std::max<std::uint64_t>(
        1, bytes - std::min(bytes, arena_bytes(settings, cpts(), node, residents)));
  };
  auto reserved = reserve_router_memory(memory_, arenas_, cpts(), settings.lnet, available);
  if (!reserved) return std::unexpected(reserved.error());
  router_memory_ = std::move(*reserved);
  return {};
}

// On the node of the first CPT: the CPT that will serve an interface is not known yet.
Outcome<void> Machine::add_family_arenas() {
  for (const Outcome<FamilyNeeds>& needs : plan_.needs) {
    auto& ids = family_arenas_.emplace_back();
    for (const FamilyArena& arena : needs->arenas) {
      const std::size_t shares = arena.for_each_shard ? cpts().shard_count : 1;
      const auto added =
          memory_.add(arenas_, {.bytes = arena.bytes * shares,
                                .numa_node = static_cast<int>(cpts().cpts[0].memory_node),
                                .reserve_only = arena.taken_when_used});
      if (!added) return std::unexpected(added.error());
      ids.push_back(*added);
    }
  }
  return {};
}

std::span<const ArenaId> Machine::arenas_of(const NetworkFamily& family) const {
  const auto there = std::ranges::find(plan_.families, &family);
  PLNET_CHECK(there != plan_.families.end(), "a family of the table");
  return family_arenas_[static_cast<std::size_t>(there - plan_.families.begin())];
}

Outcome<IdlePolicy> Machine::change_idle(IdlePolicy asked) {
  const auto idle = choose_idle(asked, cpts());
  if (!idle) return std::unexpected(idle.error());
  if (claim_for(*idle) != claim_for(plan_.idle)) {
    auto changed = claims_->change_all(claim_for(*idle));
    if (!changed) return std::unexpected(changed.error());
  }
  plan_.idle = *idle;
  return *idle;
}

std::vector<std::uint16_t> Machine::cpt_of_shard() const {
  std::vector<std::uint16_t> all;
  for (std::size_t cpt = 0; cpt < cpts().cpts.size(); ++cpt)
    all.insert(all.end(), cpts().cpts[cpt].shards.size(), static_cast<std::uint16_t>(cpt));
  return all;
}

std::vector<std::string> Machine::memory_lines() const {
  std::vector<std::string> lines{eal_->memory_line()};
  lines.insert(lines.end(), memory_.lines().begin(), memory_.lines().end());
  return lines;
}

}  // namespace plnet::node
