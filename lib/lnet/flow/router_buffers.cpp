// SPDX-License-Identifier: BSD-3-Clause
#include "lib/lnet/flow/router_buffers.hpp"

namespace plnet::lnet {

BufferCounts buffers_of_shard(const BufferCounts& asked, unsigned shards) {
  BufferCounts share;
  for (const BufferClass each : kAllBufferClasses) {
    const std::uint32_t of_all = asked[each] != 0 ? asked[each] : kBuffersDefault[each];
    share[each] = std::max(1U, of_all / shards);
  }
  return share;
}

RouterBuffers::RouterBuffers(const RouterMemory& memory) : memory_(memory) {
  for (const BufferClass each : kAllBufferClasses) {
    Pool& pool = pools_[each];
    const std::uint32_t most = memory.most[each];
    pool.stack = std::make_unique_for_overwrite<std::uint32_t[]>(most);
    pool.spares = std::make_unique_for_overwrite<std::uint32_t[]>(most);
    if (kBufferBytes[each] != 0) pool.pieces = std::make_unique_for_overwrite<Fragment[]>(most);
  }
}

bool RouterBuffers::resize(const BufferCounts& wanted) {
  for (const BufferClass each : kAllBufferClasses) {
    if (wanted[each] > memory_.most[each]) return false;
  }
  for (const BufferClass each : kAllBufferClasses) {
    Pool& pool = pools_[each];
    pool.wanted = wanted[each];
    if (pool.total < pool.wanted) grow(each, pool.wanted);
    shrink(pool);
    // The low-water mark is of the pool as it is now.
    pool.credits_min = pool.credits();
  }
  return true;
}

void RouterBuffers::grow(BufferClass of, std::uint32_t wanted) {
  Pool& pool = pools_[of];
  // Behind the buffers of the classes before.
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
      ++pool.made;
      if (kBufferBytes[of] != 0) {
        pool.pieces[index] = {{memory_.at.arena, first + std::uint64_t{index} * kBufferBytes[of]},
                              kBufferBytes[of]};
      }
    }
    pool.stack[pool.free++] = index;
  }
}

void RouterBuffers::shrink(Pool& pool) {
  while (pool.total > pool.wanted && pool.free > 0)
    discard(pool, pool.stack[--pool.free]);
}

BufferPoolView RouterBuffers::view(BufferClass of) const {
  const Pool& pool = pools_[of];
  return {.buffers = pool.total, .credits = pool.credits(), .credits_min = pool.credits_min};
}

}  // namespace plnet::lnet
