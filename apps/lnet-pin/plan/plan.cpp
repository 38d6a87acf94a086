// SPDX-License-Identifier: BSD-3-Clause
#include "apps/lnet-pin/plan/plan.hpp"

#include <algorithm>
#include <chrono>
#include <map>
#include <numeric>

#include <fmt/format.h>

#include "apps/lnet-pin/plan/design.hpp"
#include "apps/lnet-pin/plan/symmetry.hpp"
#include "lib/base/whole_number.hpp"
#include "lib/runtime/cpt/number_list.hpp"

namespace plnet::pin {
namespace {

constexpr std::size_t kSetsTriedMax = 200'000;  // of CPUs, for `cores: each`
// Start of the nodes, session, end: measured on small machines.
constexpr auto kAround = std::chrono::milliseconds(3500);

const Factor* find(const Sweep& sweep, FactorKind kind) {
  const auto found = std::ranges::find(sweep.factors, kind, &Factor::kind);
  return found == sweep.factors.end() ? nullptr : &*found;
}

Choice choice_of(const Sweep& sweep, const Levels& levels) {
  Choice choice;
  for (std::size_t i = 0; i < levels.size(); ++i) {
    const Factor& factor = sweep.factors[i];
    choice.words[static_cast<std::size_t>(factor.kind)] = factor.levels[levels[i]];
  }
  return choice;
}

// The constant number of a factor; nothing: it varies.
std::optional<unsigned> fixed(const Sweep& sweep, FactorKind kind) {
  const Factor* const factor = find(sweep, kind);
  if (factor == nullptr) return whole_number<unsigned>(row_of(kind).standard);
  if (factor->levels.size() > 1) return std::nullopt;
  return whole_number<unsigned>(factor->levels.front());
}

std::vector<unsigned> usable_cpus(const Machine& machine) {
  std::vector<unsigned> cpus;
  for (const runtime::HardwareThread& thread : machine.topology.threads) {
    if (thread.allowed()) cpus.push_back(thread.cpu);
  }
  return cpus;
}

// One list of CPUs for each class of sets that the symmetry of the machine makes equal.
Outcome<std::vector<std::string>> each_set(std::size_t wanted, std::size_t cpts,
                                           const Machine& machine,
                                           std::span<const unsigned> others) {
  const auto cpus = usable_cpus(machine);
  if (wanted > cpus.size()) {
    return failure(Errc::kOutOfRange, fmt::format("cores each: {} shards, but there are {} CPUs",
                                                  wanted, cpus.size()));
  }
  std::vector<std::string> lists;
  std::map<std::string, bool> seen;
  std::vector<char> taken(cpus.size(), 0);
  std::fill_n(taken.begin(), wanted, 1);
  std::size_t tried = 0;
  do {
    if (++tried > kSetsTriedMax || lists.size() > kLevelsMax) {
      return failure(Errc::kTooBig, fmt::format("cores each: more than {} sets of CPUs; list some",
                                                std::min(kSetsTriedMax, kLevelsMax)));
    }
    Placement placement;
    std::vector<unsigned> set;
    for (std::size_t i = 0; i < cpus.size(); ++i) {
      if (taken[i] != 0) set.push_back(cpus[i]);
    }
    std::ranges::sort(set);
    for (std::size_t i = 0; i < cpts; ++i) {
      PinnedCpt& cpt = placement.cpts.emplace_back();
      for (std::size_t j = 0; j < wanted / cpts; ++j)
        cpt.cpus.push_back(set[i * (wanted / cpts) + j]);
      const int node = machine.topology.find_cpu(cpt.cpus.front())->numa_node;
      cpt.memory_node = node < 0 ? 0 : static_cast<unsigned>(node);
    }
    if (seen.try_emplace(symmetry_key(placement, machine, others), true).second)
      lists.push_back(runtime::format_number_list(set));
  } while (std::ranges::prev_permutation(taken).found);
  return lists;
}

Outcome<void> expand_each(Sweep& sweep, const Machine& machine, std::span<const unsigned> others) {
  for (Factor& factor : sweep.factors) {
    const auto at = std::ranges::find(factor.levels, "each");
    if (factor.kind != FactorKind::kCores || at == factor.levels.end()) continue;
    const auto cpts = fixed(sweep, FactorKind::kCpts);
    const auto shards = fixed(sweep, FactorKind::kShards);
    if (!cpts || !shards) {
      return failure(Errc::kInvalid,
                     "cores each: the numbers of CPTs and shards must not vary as well");
    }
    auto lists = each_set(std::size_t{*cpts} * *shards, *cpts, machine, others);
    if (!lists) return std::unexpected(std::move(lists.error()));
    factor.levels.erase(at);
    for (std::string& list : *lists) {
      if (std::ranges::find(factor.levels, list) == factor.levels.end())
        factor.levels.push_back(std::move(list));
    }
    if (factor.levels.size() > kLevelsMax)
      return failure(Errc::kTooBig, fmt::format("cores: more than {} levels", kLevelsMax));
  }
  return {};
}

Outcome<std::vector<unsigned>> other_cpus(const Sweep& sweep, const Machine& machine) {
  const auto cpus = usable_cpus(machine);
  if (cpus.empty()) return failure(Errc::kNotFound, "this process may use no CPU of the machine");
  if (!sweep.hosts.empty()) return std::vector<unsigned>{};  // their CPUs are on other machines
  if (sweep.others.empty()) return std::vector{cpus.back()};
  for (const unsigned cpu : sweep.others) {
    if (std::ranges::find(cpus, cpu) == cpus.end()) {
      return failure(Errc::kNotFound, fmt::format("others: CPU {}: there are CPUs {}", cpu,
                                                  runtime::format_number_list(cpus)));
    }
  }
  return sweep.others;
}

// Combinations that exist on this machine; the plan lists the others with their reason.
std::vector<Levels> possible_levels(Plan& plan, const Machine& machine) {
  std::vector<std::size_t> counts;
  counts.reserve(plan.sweep.factors.size());
  for (const Factor& factor : plan.sweep.factors)
    counts.push_back(factor.levels.size());
  std::vector<Levels> possible;
  for (Levels& levels : all_combinations(counts)) {
    const auto placed = place(choice_of(plan.sweep, levels), machine, plan.sweep.interfaces);
    if (placed)
      possible.push_back(std::move(levels));
    else
      plan.left_out.push_back({std::move(levels), placed.error().what});
  }
  return possible;
}

void add_notes(Plan& plan, const Machine& machine) {
  if (!machine.topology.live) plan.notes.emplace_back("made for another machine");
  std::size_t shared = 0;
  for (const Placement& placement : plan.placements) {
    const auto cpus = placement.cpus();
    shared += std::ranges::any_of(
                  plan.others,
                  [&cpus](unsigned cpu) { return std::ranges::find(cpus, cpu) != cpus.end(); })
                  ? 1
                  : 0;
  }
  if (shared > 0) {
    plan.notes.push_back(
        fmt::format("{} of the placements have a shard on a CPU of the other nodes ({})", shared,
                    runtime::format_number_list(plan.others)));
  }
}

}  // namespace

std::string Plan::level_text(const std::vector<std::size_t>& levels) const {
  std::string text;
  for (std::size_t i = 0; i < levels.size(); ++i) {
    const Factor& factor = sweep.factors[i];
    text += fmt::format("{}{}={}", text.empty() ? "" : " ", row_of(factor.kind).name,
                        factor.levels[levels[i]]);
  }
  return text;
}

Outcome<Plan> make_plan(Sweep sweep, const Machine& machine) {
  Plan plan{.sweep = std::move(sweep)};
  auto others = other_cpus(plan.sweep, machine);
  if (!others) return std::unexpected(std::move(others.error()));
  plan.others = std::move(*others);
  if (auto done = expand_each(plan.sweep, machine, plan.others); !done)
    return std::unexpected(std::move(done.error()));
  std::size_t combinations = 1;
  for (const Factor& factor : plan.sweep.factors)
    combinations *= std::min(factor.levels.size(), kCombinationsMax + 1);
  if (combinations > kCombinationsMax) {
    return failure(Errc::kTooBig,
                   fmt::format("the factors have {} combinations of levels, more than {}",
                               combinations, kCombinationsMax));
  }
  const auto possible = possible_levels(plan, machine);
  if (possible.empty()) {
    return failure(Errc::kNotFound,
                   fmt::format("no placement exists here: {}", plan.left_out.front().why));
  }
  std::map<std::string, std::size_t> known;
  for (const Levels& levels : choose(plan.sweep.design, possible)) {
    auto placed = place(choice_of(plan.sweep, levels), machine, plan.sweep.interfaces);
    const auto [at, is_new] =
        known.try_emplace(symmetry_key(*placed, machine, plan.others), plan.placements.size());
    if (!is_new) {
      plan.placements[at->second].same.push_back(levels);
      continue;
    }
    placed->levels = levels;
    plan.placements.push_back(std::move(*placed));
  }
  if (plan.placements.size() > kPlacementsMax) {
    return failure(Errc::kTooBig,
                   fmt::format("{} placements, more than {}; `design: fractional` has fewer",
                               plan.placements.size(), kPlacementsMax));
  }
  add_notes(plan, machine);
  return plan;
}

Duration time_of(const Plan& plan, std::size_t measurements) {
  const Duration each = kAround + plan.sweep.workload.warm_up + plan.sweep.workload.duration;
  return each * static_cast<Duration::rep>(measurements);
}

std::string fingerprint_of(const Plan& plan) {
  std::uint64_t hash = 0xcbf29ce484222325;  // FNV-1a
  for (const char letter : json_of(plan).dump(-1, ' ', false, Json::error_handler_t::replace)) {
    hash ^= static_cast<unsigned char>(letter);
    hash *= 0x100000001b3;
  }
  return fmt::format("{:016x}", hash);
}

}  // namespace plnet::pin
