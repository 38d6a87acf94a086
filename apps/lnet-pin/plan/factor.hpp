// SPDX-License-Identifier: BSD-3-Clause
// The factors of a sweep, with the valid words of their levels.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/result.hpp"

namespace plnet::pin {

enum class FactorKind : std::uint8_t {
  kCpts,
  kShards,
  kCores,
  kSmt,
  kMemory,
  kQueues,
  kInterrupts,
  kIdle,
  kHugepages,
  kGovernor,
  kSides,
  kNeighbour,
};

struct FactorRow {
  FactorKind kind;
  std::string_view name;      // in files
  std::string_view standard;  // the only level unless a file has others
  std::string_view levels;    // for people
};
inline constexpr std::size_t kFactorCount = 12;
// In the order of FactorKind.
inline constexpr std::array<FactorRow, kFactorCount> kFactors{{
    {FactorKind::kCpts, "cpts", "1", "a number of CPTs"},
    {FactorKind::kShards, "shards", "1", "a number of shards in each CPT"},
    {FactorKind::kCores, "cores", "pack",
     "pack, spread, a list of CPUs such as \"0-3,8\", or each: every set of CPUs that differs"},
    {FactorKind::kSmt, "smt", "first", "first, or pairs: siblings of a core next to each other"},
    {FactorKind::kMemory, "memory", "local", "local, remote, or the number of a NUMA node"},
    {FactorKind::kQueues, "nic queues", "none",
     "none, spread: divided over the CPTs, or a list of queues for CPT 0"},
    {FactorKind::kInterrupts, "interrupts", "keep",
     "keep, same: to the CPUs with shards, apart: to the others, or a list of CPUs"},
    {FactorKind::kIdle, "idle", "auto", "auto, busy, pause, yield or sleep"},
    {FactorKind::kHugepages, "hugepages", "keep",
     "keep, never, transparent, or a number of 2 MiB pages on each memory node"},
    {FactorKind::kGovernor, "governor", "keep", "keep, or a frequency governor of this machine"},
    {FactorKind::kSides, "sides", "together",
     "together, or apart: a router's first network on CPT 0, its second on CPT 1"},
    {FactorKind::kNeighbour, "neighbour", "none",
     "none, or busy: a loop that computes on the CPU of shard 0"},
}};

inline constexpr std::size_t kLevelsMax = 64;

struct Factor {
  FactorKind kind = FactorKind::kCpts;
  std::vector<std::string> levels{};

  bool operator==(const Factor&) const = default;
};

[[nodiscard]] const FactorRow& row_of(FactorKind kind);
[[nodiscard]] std::optional<FactorKind> factor_named(std::string_view name);

// The error: the word is no level on any machine.
[[nodiscard]] Outcome<void> check_level(FactorKind kind, std::string_view level);

}  // namespace plnet::pin
