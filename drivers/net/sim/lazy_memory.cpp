// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/net/sim/lazy_memory.hpp"

#include <algorithm>
#include <cstring>
#include <type_traits>

#include <sys/mman.h>

#include "lib/base/check.hpp"

namespace plnet::drivers {

Result<std::unique_ptr<LazyMemory>> LazyMemory::reserve(std::uint64_t bytes) {
  void* const base = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (base == MAP_FAILED) return std::unexpected(Errc::kNoMemory);
  // A run touches one small page, not a huge one.
  (void)::madvise(base, bytes, MADV_NOHUGEPAGE);
  return std::unique_ptr<LazyMemory>(new LazyMemory(static_cast<std::byte*>(base), bytes));
}

LazyMemory::~LazyMemory() {
  ::munmap(base_, reserved_);
}

Result<Arena> LazyMemory::make_arena(std::uint64_t bytes) {
  constexpr std::uint64_t kGranule = 1ULL << kGranuleShift;
  if (bytes == 0) return std::unexpected(Errc::kInvalid);
  if (bytes > reserved_ - used_) return std::unexpected(Errc::kNoMemory);
  std::byte* const base = base_ + used_;
  const std::uint64_t granules = (bytes + kGranule - 1) >> kGranuleShift;
  owners_.insert(owners_.end(), granules, static_cast<std::uint32_t>(arenas_.size()));
  arenas_.emplace_back();
  used_ = std::min(used_ + granules * kGranule, reserved_);
  return Arena{.base = base, .size = bytes};
}

LazyMemory::Runs::iterator LazyMemory::find(Runs& runs, const std::byte* pointer) {
  return std::ranges::upper_bound(runs, pointer, {}, &Placed::end);
}

LazyMemory::Runs::iterator LazyMemory::make_room(Runs& runs, std::byte* begin, std::byte* end) {
  PLNET_DEBUG_CHECK(begin < end && holds(begin) && holds(end - 1),
                    "a run lies in the reserved memory");
  auto first = find(runs, begin);
  if (first == runs.end() || first->begin >= end) return first;
  if (first->begin < begin) {
    const Placed whole = *first;
    first->run = whole.run.first(static_cast<std::uint64_t>(begin - whole.begin));
    ++first;
    if (whole.end() > end) {  // its rest lies behind the hole
      const Placed rest{end, whole.run.behind(static_cast<std::uint64_t>(end - whole.begin))};
      first = runs.insert(first, rest);
      store_head(rest);
      return first;
    }
  }
  auto last = first;
  while (last != runs.end() && last->end() <= end)
    ++last;
  if (last != runs.end() && last->begin < end) {
    last->run = last->run.behind(static_cast<std::uint64_t>(end - last->begin));
    last->begin = end;
    store_head(*last);
  }
  return runs.erase(first, last);
}

void LazyMemory::store_head(const Placed& placed) {
  const std::size_t count = std::min<std::uint64_t>(kHead, placed.run.length);
  write_pattern(placed.run, {placed.begin, count});
  touched_ += count;
}

void LazyMemory::put(std::byte* to, const PatternRun& run) {
  if (run.length == 0) return;
  Runs& runs = runs_at(to);
  const auto place = make_room(runs, to, to + run.length);
  described_ += run.length;
  if (place != runs.begin()) {
    Placed& before = *std::prev(place);
    if (before.end() == to && before.run.continued_by(run)) {
      const bool short_head = before.run.length < kHead;
      before.run.length += run.length;
      if (short_head) store_head(before);
      return;
    }
  }
  const Placed placed{to, run};
  runs.insert(place, placed);
  store_head(placed);
}

void LazyMemory::put(std::byte* to, std::span<const std::byte> bytes) {
  if (bytes.empty()) return;
  (void)make_room(runs_at(to), to, to + bytes.size());
  std::memcpy(to, bytes.data(), bytes.size());
  touched_ += bytes.size();
}

const LazyMemory::Placed* LazyMemory::next_run(const std::byte* at, const std::byte* end) {
  Runs& runs = runs_at(at);
  auto found = find(runs, at);
  while (found != runs.end() && found->begin < end) {
    const std::size_t head = std::min<std::uint64_t>(kHead, found->run.length);
    if (!drivers::first_wrong(found->run, {found->begin, head})) return &*found;
    found = runs.erase(found);
  }
  return nullptr;
}

void LazyMemory::fill(std::span<std::byte> memory, const PatternRun& run) {
  if (holds(memory.data())) {
    put(memory.data(), run.first(memory.size()));
  } else {
    write_pattern(run, memory);
    touched_ += memory.size();
  }
}

std::optional<std::uint64_t> LazyMemory::first_wrong(std::span<const std::byte> memory,
                                                     const PatternRun& run) {
  if (!holds(memory.data())) return drivers::first_wrong(run, memory);
  std::optional<std::uint64_t> wrong;
  std::uint64_t done = 0;
  for_each_part(memory, [&](const auto& part) {
    if (wrong) return;
    const PatternRun wanted = run.behind(done);
    if constexpr (std::is_same_v<std::remove_cvref_t<decltype(part)>, PatternRun>) {
      // Another part of a pattern: its first byte may be right by chance, but no more.
      if (part.seed != wanted.seed || part.offset != wanted.offset) wrong = done;
      done += part.length;
    } else {
      if (const auto at = drivers::first_wrong(wanted, part)) wrong = done + *at;
      done += part.size();
    }
  });
  return wrong;
}

void LazyMemory::copy(std::byte* to, std::span<const std::byte> from) {
  if (from.empty()) return;
  const bool to_lazy = holds(to);
  if (!holds(from.data())) {
    if (to_lazy) {
      put(to, from);
    } else {
      std::memmove(to, from.data(), from.size());
      touched_ += from.size();
    }
    return;
  }
  // Runs of the source may move while those of the sink are put, if both are of one arena; parts
  // are passed by value, and the next one is looked up again.
  for_each_part(from, [&](const auto part) {
    if constexpr (std::is_same_v<std::remove_cvref_t<decltype(part)>, PatternRun>) {
      if (to_lazy) {
        put(to, part);
      } else {
        write_pattern(part, {to, part.length});
        touched_ += part.length;
      }
      to += part.length;
    } else {
      if (to_lazy) {
        put(to, part);
      } else {
        std::memcpy(to, part.data(), part.size());
        touched_ += part.size();
      }
      to += part.size();
    }
  });
}

void copy_memory(LazyMemory* lazy, std::byte* to, std::span<const std::byte> from) {
  if (lazy != nullptr) {
    lazy->copy(to, from);
  } else if (!from.empty()) {
    std::memmove(to, from.data(), from.size());
  }
}

}  // namespace plnet::drivers
