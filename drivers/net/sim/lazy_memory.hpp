// SPDX-License-Identifier: BSD-3-Clause
// Arenas whose payload need not exist: a site of routers has terabytes of buffers, and a simulation
// only checks that a payload arrives whole, at the right place and unchanged.
//
// Payload is a part of a pattern (pattern.hpp). A lazy arena keeps its content as runs {place,
// pattern, offset, length}. The simulator's drivers take runs from the memory that they send from,
// carry them as descriptions and put them into the memory that they deliver to: nothing is copied,
// and a check compares descriptions. Cut, shifted, swapped or missing payload is another run in
// that place, or none, and fails the check.
//
// Behind a lazy arena is address space that costs nothing until it is touched. Other bytes
// (headers, ping buffers) are stored there, so any payload may go through any arena. The first
// kHead bytes of each run are stored, too: a write by hand there, of an LND that copies the begin
// of a payload from a staging buffer, is noticed, and the run ends. That is enough as long as
// payload is filled from front to back. A write by hand into the middle of a run is not noticed
// (tests that look for that use an arena with memory behind it). A read by hand behind a run's
// kHead bytes finds nothing: use copy().
//
// For the builder of a node an arena from here is like any other one. A driver recognises a lazy
// one by its address: see SimNetwork::set_lazy_memory().
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "drivers/net/sim/pattern.hpp"
#include "lib/base/arena.hpp"
#include "lib/base/check.hpp"
#include "lib/base/result.hpp"

namespace plnet::drivers {

class LazyMemory {
 public:
  static constexpr std::size_t kHead = 64;

  // Address space for all lazy arenas of a simulation. kNoMemory: the system does not have so much.
  [[nodiscard]] static Result<std::unique_ptr<LazyMemory>> reserve(std::uint64_t bytes);
  ~LazyMemory();
  LazyMemory(const LazyMemory&) = delete;
  LazyMemory& operator=(const LazyMemory&) = delete;

  // kNoMemory: more than was reserved.
  [[nodiscard]] Result<Arena> make_arena(std::uint64_t bytes);
  [[nodiscard]] bool holds(const void* pointer) const {
    return static_cast<std::uint64_t>(static_cast<const std::byte*>(pointer) - base_) < used_;
  }

  // These work on lazy and on plain memory; a range lies in one arena.

  // Makes `memory` the first bytes of the run.
  void fill(std::span<std::byte> memory, const PatternRun& run);
  // The place of the first wrong byte of `memory`; nothing if all are those of the run.
  [[nodiscard]] std::optional<std::uint64_t> first_wrong(std::span<const std::byte> memory,
                                                         const PatternRun& run);
  // Like memmove(), for overlapping ranges only if both are plain.
  void copy(std::byte* to, std::span<const std::byte> from);

  // For drivers, on lazy memory.
  void put(std::byte* to, const PatternRun& run);
  void put(std::byte* to, std::span<const std::byte> bytes);
  // Calls visit(run) and visit(bytes) for the content, in order.
  template <class Visit>
  void for_each_part(std::span<const std::byte> memory, Visit&& visit);

  // Bytes that were copied or generated, and bytes that were only described.
  [[nodiscard]] std::uint64_t bytes_touched() const { return touched_; }
  [[nodiscard]] std::uint64_t bytes_described() const { return described_; }

 private:
  // Arenas begin on these bounds, so that an address tells its arena.
  static constexpr unsigned kGranuleShift = 24;

  struct Placed {
    std::byte* begin = nullptr;
    PatternRun run;

    [[nodiscard]] std::byte* end() const { return begin + run.length; }
  };
  using Runs = std::vector<Placed>;  // of an arena, by place; they do not overlap

  LazyMemory(std::byte* base, std::uint64_t bytes) : base_(base), reserved_(bytes) {}

  [[nodiscard]] Runs& runs_at(const std::byte* pointer) {
    PLNET_DEBUG_CHECK(holds(pointer), "only this memory has runs");
    return arenas_[owners_[static_cast<std::uint64_t>(pointer - base_) >> kGranuleShift]];
  }
  // The first run that ends behind `pointer`.
  [[nodiscard]] static Runs::iterator find(Runs& runs, const std::byte* pointer);
  // Removes [begin, end) from the runs; returns the place for a run there.
  Runs::iterator make_room(Runs& runs, std::byte* begin, std::byte* end);
  void store_head(const Placed& placed);
  // The run at or behind `at`, after the removal of runs that were overwritten by hand.
  [[nodiscard]] const Placed* next_run(const std::byte* at, const std::byte* end);

  std::byte* base_;
  std::uint64_t reserved_;
  std::uint64_t used_ = 0;
  std::vector<std::uint32_t> owners_;  // by granule
  std::vector<Runs> arenas_;
  std::uint64_t touched_ = 0;
  std::uint64_t described_ = 0;
};

// For memory that may be lazy; without `lazy` it is plain.
void copy_memory(LazyMemory* lazy, std::byte* to, std::span<const std::byte> from);

template <class Visit>
void LazyMemory::for_each_part(std::span<const std::byte> memory, Visit&& visit) {
  const std::byte* at = memory.data();
  const std::byte* const end = at + memory.size();
  while (at < end) {
    const Placed* const placed = next_run(at, end);
    const std::byte* const begin = placed == nullptr ? end : placed->begin;
    if (begin > at) {
      visit(std::span<const std::byte>(at, begin));
      at = begin;
      continue;
    }
    PLNET_CHECK(placed != nullptr, "only a run begins here");
    const PatternRun rest = placed->run.behind(static_cast<std::uint64_t>(at - begin));
    const std::uint64_t count = std::min(rest.length, static_cast<std::uint64_t>(end - at));
    visit(rest.first(count));
    at += count;
  }
}

}  // namespace plnet::drivers
