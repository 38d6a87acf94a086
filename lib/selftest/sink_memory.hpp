// SPDX-License-Identifier: BSD-3-Clause
// Memory for the reads of tests' units: one piece for each test, of whole pages, released with the
// test. Cold: a test allocates its piece when it is added.
#pragma once

#include <cstddef>
#include <vector>

#include "lib/selftest/work_memory.hpp"

namespace plnet::selftest {

class SinkMemory {
 public:
  static constexpr std::size_t kPage = 4096;

  explicit SinkMemory(WorkMemory memory) : memory_(memory), used_(memory.bytes.size() / kPage) {}

  // Empty if no piece of this size is free.
  [[nodiscard]] WorkMemory take(std::size_t length) {
    const std::size_t pages = (length + kPage - 1) / kPage;
    std::size_t free = 0;
    for (std::size_t at = 0; at < used_.size() && pages > 0; ++at) {
      free = used_[at] ? 0 : free + 1;
      if (free < pages) continue;
      const std::size_t first = at + 1 - pages;
      mark(first, pages, true);
      return {{memory_.at.arena, memory_.at.offset + first * kPage},
              memory_.bytes.subspan(first * kPage, pages * kPage)};
    }
    return {};
  }
  void give(const WorkMemory& piece) {
    if (piece.bytes.empty()) return;
    PLNET_CHECK(piece.at.offset >= memory_.at.offset, "a piece of other memory");
    mark((piece.at.offset - memory_.at.offset) / kPage, piece.bytes.size() / kPage, false);
  }
  [[nodiscard]] std::size_t free_bytes() const {
    std::size_t pages = 0;
    for (const bool used : used_)
      pages += used ? 0 : 1;
    return pages * kPage;
  }

 private:
  void mark(std::size_t first, std::size_t pages, bool used) {
    for (std::size_t at = first; at < first + pages; ++at) {
      PLNET_CHECK(used_[at] != used, "taken or given back twice");
      used_[at] = used;
    }
  }

  const WorkMemory memory_;
  std::vector<bool> used_;  // by page
};

}  // namespace plnet::selftest
