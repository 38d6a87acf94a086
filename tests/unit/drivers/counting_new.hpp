// SPDX-License-Identifier: BSD-3-Clause
// Linked into a test executable, counting_new.cpp replaces the global operators new and delete by
// counting ones. A sanitizer still sees every allocation: they end in malloc() and free().
#pragma once

#include <cstdint>
#include <ostream>

namespace plnet::testrig {

struct HeapCalls {
  std::uint64_t news = 0;
  std::uint64_t deletes = 0;  // null pointers excluded

  friend bool operator==(const HeapCalls&, const HeapCalls&) = default;
  friend std::ostream& operator<<(std::ostream& out, const HeapCalls& calls) {
    return out << calls.news << " news and " << calls.deletes << " deletes";
  }
};

// By all threads so far.
[[nodiscard]] HeapCalls heap_calls();

// The heap calls of `work`.
template <class Work>
[[nodiscard]] HeapCalls heap_calls_of(Work&& work) {
  const HeapCalls before = heap_calls();
  work();
  const HeapCalls after = heap_calls();
  return {after.news - before.news, after.deletes - before.deletes};
}

}  // namespace plnet::testrig
