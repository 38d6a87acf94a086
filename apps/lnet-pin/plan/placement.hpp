// SPDX-License-Identifier: BSD-3-Clause
// One way to place a node on a machine, and how it is made from levels of the factors.
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
  std::vector<unsigned> cpus{};  // of its shards, in their order
  unsigned memory_node = 0;
  std::map<std::string, std::vector<unsigned>> nic_queues{};

  bool operator==(const PinnedCpt&) const = default;
};

struct Placement {
  std::vector<std::size_t> levels{};             // of each factor of the sweep
  std::vector<std::vector<std::size_t>> same{};  // levels that come to the same on this machine
  std::vector<PinnedCpt> cpts{};
  std::string idle = "auto";
  std::optional<std::vector<unsigned>> interrupt_cpus{};  // nothing: they stay where they are
  std::string governor = "keep";
  std::string hugepages = "keep";
  bool sides_apart = false;
  bool busy_neighbour = false;

  // CPUs of all its shards, in their order, doubles included.
  [[nodiscard]] std::vector<unsigned> cpus() const;
  // How many hardware cores its shards are on.
  [[nodiscard]] std::size_t cores(const runtime::Topology& topology) const;
  bool operator==(const Placement&) const = default;
};

// A placement's number in its plan, "p3".
[[nodiscard]] std::string name_of_placement(std::size_t index);

// "CPUs 0-1 | 2-3, memory node 0 | 1, idle busy": what differs from the standard only.
[[nodiscard]] std::string text_of(const Placement& placement);

// As a list that a node plans with.
[[nodiscard]] runtime::CptPlanRequest request_of(const Placement& placement);

// Levels by words, for each kind its own.
struct Choice {
  std::array<std::string_view, kFactorCount> words{};

  Choice();  // the standard of each
  [[nodiscard]] std::string_view of(FactorKind kind) const {
    return words[static_cast<std::size_t>(kind)];
  }
};

// `interfaces`: those whose queues and interrupts are placed. The error: this machine has no such
// placement.
[[nodiscard]] Outcome<Placement> place(const Choice& choice, const Machine& machine,
                                       const std::vector<std::string>& interfaces);

}  // namespace plnet::pin
