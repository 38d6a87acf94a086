// SPDX-License-Identifier: BSD-3-Clause
// The resources that a node takes from its host, in this order: a plan, CPUs, DPDK's environment,
// memory. The destructor returns them in reverse order.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/arena.hpp"
#include "lib/base/result.hpp"
#include "lib/lnet/flow/router_buffers.hpp"
#include "lib/runtime/config/settings.hpp"
#include "lib/runtime/cpt/cpt_plan.hpp"
#include "lib/runtime/host/cpu_claims.hpp"
#include "lib/runtime/host/eal.hpp"
#include "lib/runtime/host/host_check.hpp"
#include "lib/runtime/host/memory.hpp"
#include "lib/runtime/poll/idle.hpp"
#include "node/host/network_family.hpp"

namespace plnet::node {

class Residents;

struct MachineOptions {
  std::string instance;
  std::string lock_directory = runtime::usual_claim_directory();
  const Residents* residents = nullptr;  // programs on the shards, which need memory, too
  bool eal_debug = false;
  std::function<void(runtime::EalLevel level, std::string_view line)> eal_log;
};

// A plan that has taken nothing yet; `lnet-router --check` shows it.
struct MachinePlan {
  Families families;
  std::vector<Outcome<FamilyNeeds>> needs;  // of each family
  runtime::HostFacts facts;
  runtime::PlannedMachine planned;
  runtime::IdlePolicy idle = runtime::IdlePolicy::kSleep;
  std::vector<runtime::Finding> findings;
  std::uint64_t hugepage_bytes = 0;  // of all memory that hugepages should hold
};

class Machine {
 public:
  [[nodiscard]] static Outcome<MachinePlan> plan(const runtime::Settings& settings,
                                                 Families families,
                                                 const Residents* residents = nullptr);

  // Whether take() could claim the CPUs now: claims them for a moment.
  [[nodiscard]] static Outcome<void> check_claims(const MachinePlan& plan,
                                                  const MachineOptions& options);

  // Binds the calling thread to the plan's admin CPUs: it is the main and the admin thread.
  [[nodiscard]] static Outcome<std::unique_ptr<Machine>> take(MachinePlan plan,
                                                              const runtime::Settings& settings,
                                                              const MachineOptions& options);

  [[nodiscard]] const runtime::CptPlan& cpts() const { return plan_.planned.plan; }
  [[nodiscard]] std::vector<std::uint16_t> cpt_of_shard() const;
  // In bytes, when the plan was made; 0: unknown.
  [[nodiscard]] std::uint64_t available_memory() const { return plan_.facts.available_memory; }
  [[nodiscard]] const runtime::Topology& topology() const { return plan_.planned.topology; }
  [[nodiscard]] const std::vector<runtime::Finding>& findings() const { return plan_.findings; }
  [[nodiscard]] runtime::IdlePolicy idle() const { return plan_.idle; }
  // Chooses the policy that `asked` means on this machine. Fails if the CPUs cannot be claimed for
  // it.
  [[nodiscard]] Outcome<runtime::IdlePolicy> change_idle(runtime::IdlePolicy asked);

  [[nodiscard]] const ArenaTable& arenas() const { return arenas_; }
  // By shard; empty: this node cannot forward.
  [[nodiscard]] const std::vector<lnet::RouterMemory>& router_memory() const {
    return router_memory_;
  }
  // The arenas that the family needs, in its order.
  [[nodiscard]] std::span<const ArenaId> arenas_of(const NetworkFamily& family) const;
  [[nodiscard]] runtime::Eal& eal() { return *eal_; }
  // One line for each memory, for the log and lnetctl.
  [[nodiscard]] std::vector<std::string> memory_lines() const;

 private:
  Machine(MachinePlan plan, const MachineOptions& options);
  [[nodiscard]] Outcome<void> start_eal(const MachineOptions& options);
  [[nodiscard]] Outcome<void> add_family_arenas();
  [[nodiscard]] Outcome<void> add_arenas(const runtime::Settings& settings,
                                         const Residents* residents);

  MachinePlan plan_;
  std::unique_ptr<runtime::CpuClaims> claims_;
  std::unique_ptr<runtime::Eal> eal_;
  runtime::ArenaMemory memory_;
  ArenaTable arenas_;
  std::vector<lnet::RouterMemory> router_memory_;
  std::vector<std::vector<ArenaId>> family_arenas_;  // in the order of the families
};

}  // namespace plnet::node
