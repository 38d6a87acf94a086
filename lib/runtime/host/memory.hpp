// SPDX-License-Identifier: BSD-3-Clause
// The arenas: one large region per NUMA node, on hugepages if the node has them, faulted in before
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
  int numa_node = kAnyNumaNode;  // node of the pages; kAnyNumaNode: any
  bool hugepages = true;         // if there are enough; else small pages
  // Address space only: small pages, allocated at the first touch. For memory that may never be
  // used.
  bool reserve_only = false;
  bool lock = false;  // never swapped out: needs CAP_IPC_LOCK or a high limit
};

// Owns the mappings behind an ArenaTable; must outlive all users of the table.
class ArenaMemory {
 public:
  ArenaMemory() = default;
  ~ArenaMemory();
  ArenaMemory(const ArenaMemory&) = delete;
  ArenaMemory& operator=(const ArenaMemory&) = delete;

  // Start-up only. Maps, places and faults in one arena and enters it into the table. A failure
  // leaves nothing behind and its message names the limit.
  [[nodiscard]] Outcome<ArenaId> add(ArenaTable& table, const ArenaRequest& request);

  // Pages of each size in all arenas.
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
