// SPDX-License-Identifier: BSD-3-Clause
// The arenas: per NUMA node one large region, on hugepages if the node has them, faulted in before
// the first message; and regions that are only reserved. Needs no EAL.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "lib/base/arena.hpp"
#include "lib/base/result.hpp"

namespace plnet::runtime {

struct ArenaRequest {
  std::uint64_t bytes = 0;       // rounded up to whole pages
  int numa_node = kAnyNumaNode;  // where the pages must lie; kAnyNumaNode: anywhere
  bool hugepages = true;         // if there are any; else, or without them, small pages
  // Address space, no more: pages are small ones, taken when they are first touched. For what may
  // never be used.
  bool reserve_only = false;
  bool lock = false;  // never swapped out: needs CAP_IPC_LOCK or a high limit
};

// Owns the mappings behind an ArenaTable; must outlive all who use the table.
class ArenaMemory {
 public:
  ArenaMemory() = default;
  ~ArenaMemory();
  ArenaMemory(const ArenaMemory&) = delete;
  ArenaMemory& operator=(const ArenaMemory&) = delete;

  // Start-up only. Maps, places and faults in one arena and enters it into the table. On failure
  // nothing is left behind and the words say what limit stands in the way.
  [[nodiscard]] Outcome<ArenaId> add(ArenaTable& table, const ArenaRequest& request);

  // How many pages of each size all arenas got.
  [[nodiscard]] std::uint64_t huge_pages() const { return huge_pages_; }
  [[nodiscard]] std::uint64_t small_pages() const { return small_pages_; }
  // One line per arena for the log.
  [[nodiscard]] const std::vector<std::string>& lines() const { return lines_; }

  static constexpr std::uint64_t kHugePage = 2ULL << 20U;

 private:
  struct Mapping {
    void* base;
    std::size_t size;
  };

  std::vector<Mapping> mappings_;
  std::vector<std::string> lines_;
  std::uint64_t huge_pages_ = 0;
  std::uint64_t small_pages_ = 0;
};

// The limits of this process and the ways to raise them, for errors about memory.
[[nodiscard]] std::string memory_limits_text();

}  // namespace plnet::runtime
