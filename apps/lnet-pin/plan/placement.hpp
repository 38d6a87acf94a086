// SPDX-License-Identifier: BSD-3-Clause
// A placement of a node on a machine, and its construction from levels of the factors.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "apps/lnet-pin/plan/factor.hpp"
#include "apps/lnet-pin/plan/machine.hpp"
#include "lib/base/result.hpp"
#include "lib/runtime/cpt/cpt_request.hpp"

namespace plnet::pin {

struct PinnedCpt {
  std::vector<unsigned> cpus{};  // of its shards, in order
  unsigned memory_node = 0;
  std::map<std::string, std::vector<unsigned>> nic_queues{};

  bool operator==(const PinnedCpt&) const = default;
};

struct Placement {
  std::vector<std::size_t> levels{};             // of each factor of the sweep
  std::vector<std::vector<std::size_t>> same{};  // levels with the same effect on this machine
  std::vector<PinnedCpt> cpts{};
  std::string idle = "auto";
  std::optional<std::vector<unsigned>> interrupt_cpus{};  // nothing: unchanged
  std::string governor = "keep";
  std::string hugepages = "keep";
  bool sides_apart = false;
  bool busy_neighbour = false;

  // CPUs of all its shards, in order, with duplicates.
  [[nodiscard]] std::vector<unsigned> cpus() const;
  // Number of cores with shards.
  [[nodiscard]] std::size_t cores(const runtime::Topology& topology) const;
  bool operator==(const Placement&) const = default;
};

// A placement's number in its plan, "p3".
[[nodiscard]] std::string name_of_placement(std::size_t index);

// "CPUs 0-1 | 2-3, memory node 0 | 1, idle busy": only differences from the standard.
[[nodiscard]] std::string text_of(const Placement& placement);

// As a request of an explicit list.
[[nodiscard]] runtime::CptPlanRequest request_of(const Placement& placement);

// The word of each factor's level.
struct Choice {
  std::array<std::string_view, kFactorCount> words{};

  Choice();  // the standard of each
  [[nodiscard]] std::string_view of(FactorKind kind) const {
    return words[static_cast<std::size_t>(kind)];
  }
};

// `interfaces`: the interfaces whose queues and interrupts are placed. The error: this machine has
// no such placement.
[[nodiscard]] Outcome<Placement> place(const Choice& choice, const Machine& machine,
                                       const std::vector<std::string>& interfaces);

}  // namespace plnet::pin
