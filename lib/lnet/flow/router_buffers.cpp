// SPDX-License-Identifier: BSD-3-Clause
#include "lib/lnet/flow/router_buffers.hpp"

#include "lib/base/check.hpp"

namespace plnet::lnet {

RouterBuffers::RouterBuffers(const RouterMemory& memory) : memory_(memory) {
  for (const BufferClass each : kAllBufferClasses)
    memory_.budget.most[each] = std::min(memory.budget.most[each], memory.most[each]);
  for (const BufferClass each : kAllBufferClasses) {
    Pool& pool = pools_[each];
    const std::uint32_t most = memory.most[each];
    pool.stack = std::make_unique_for_overwrite<std::uint32_t[]>(most);
    pool.spares = std::make_unique_for_overwrite<std::uint32_t[]>(most);
    if (kBufferBytes[each] != 0) pool.pieces = std::make_unique_for_overwrite<Fragment[]>(most);
  }
}

bool RouterBuffers::resize(const BufferCounts& wanted, const PoolFlags& automatic) {
  BufferCounts sizes = first_sizes(wanted, automatic, memory_.budget);
  for (const BufferClass each : kAllBufferClasses) {
    if (automatic[each] && automatic_[each]) sizes[each] = std::max(sizes[each], total(each));
    if (sizes[each] > memory_.most[each]) return false;
  }
  automatic_ = automatic;
  for (const BufferClass each : kAllBufferClasses) {
    Pool& pool = pools_[each];
    if (pool.wanted == sizes[each]) continue;
    pool.wanted = sizes[each];
    add(each, pool.wanted);
    shrink(each);
    PLNET_CHECK(pool.is_sound(memory_.most[each]),
                "each buffer that was made is in use, free or spare");
    // The low-water mark counts from the requested number of buffers.
    pool.credits_min = pool.credits();
    show_total(each);
  }
  return true;
}

bool RouterBuffers::grow(const PoolFlags& starving) {
  const BufferCounts now = totals();
  const BufferCounts sizes = grown_sizes(now, starving, automatic_, memory_.budget);
  for (const BufferClass each : kAllBufferClasses) {
    if (sizes[each] == now[each]) continue;
    PLNET_CHECK(sizes[each] > now[each] && sizes[each] <= memory_.most[each],
                "a class grows within its space");
    pools_[each].wanted = sizes[each];
    add(each, sizes[each]);
    PLNET_CHECK(pools_[each].is_sound(memory_.most[each]),
                "each buffer that was made is in use, free or spare");
    show_total(each);
  }
  return sizes != now;
}

void RouterBuffers::add(BufferClass of, std::uint32_t wanted) {
  Pool& pool = pools_[of];
  // After the buffers of earlier classes.
  std::uint64_t first = memory_.at.offset;
  for (const BufferClass each : kAllBufferClasses) {
    if (each == of) break;
    first += std::uint64_t{memory_.most[each]} * kBufferBytes[each];
  }
  for (; pool.total < wanted; ++pool.total) {
    std::uint32_t index = pool.made;
    if (pool.spare > 0) {
      index = pool.spares[--pool.spare];
    } else {
      PLNET_CHECK(pool.made < memory_.most[of], "buffers fit into their space");
      ++pool.made;
      if (kBufferBytes[of] != 0) {
        pool.pieces[index] = {{memory_.at.arena, first + std::uint64_t{index} * kBufferBytes[of]},
                              kBufferBytes[of]};
      }
    }
    PLNET_DEBUG_CHECK(index < pool.made && pool.free < memory_.most[of],
                      "a buffer that is added was made");
    pool.stack[pool.free++] = index;
  }
}

void RouterBuffers::shrink(BufferClass of) {
  Pool& pool = pools_[of];
  while (pool.total > pool.wanted && pool.free > 0)
    discard(of, pool.stack[--pool.free]);
}

BufferCounts RouterBuffers::totals() const {
  BufferCounts counts;
  for (const BufferClass each : kAllBufferClasses)
    counts[each] = total(each);
  return counts;
}

void RouterBuffers::begin_wait(BufferClass of) {
  Pool& pool = pools_[of];
  ++pool.waiting;
  pool.see_low();
  counters_.add(counter_of(of, PoolMark::kWaited));
  if (!pool.scarce()) return;
  ++pool.starved;
  counters_.add(counter_of(of, PoolMark::kStarved));
}

void RouterBuffers::see_high(BufferClass of) {
  Pool& pool = pools_[of];
  pool.used_max = pool.total - pool.free;
  counters_.set(counter_of(of, PoolMark::kUsedMax), pool.used_max);
}

void RouterBuffers::reset_marks() {
  for (const BufferClass each : kAllBufferClasses) {
    see_high(each);
    counters_.set(counter_of(each, PoolMark::kWaited), 0);
    counters_.set(counter_of(each, PoolMark::kStarved), 0);
  }
}

BufferPoolView RouterBuffers::view(BufferClass of) const {
  const Pool& pool = pools_[of];
  return {.buffers = pool.total,
          .credits = pool.credits(),
          .credits_min = pool.credits_min,
          .used_max = counters_.get(counter_of(of, PoolMark::kUsedMax)),
          .waited = counters_.get(counter_of(of, PoolMark::kWaited))};
}

}  // namespace plnet::lnet
