// SPDX-License-Identifier: BSD-3-Clause
// The number of router buffers of each class on a shard. A configured number is used as is,
// regardless of memory. A class without one begins with the kernel's number, or as many as fit in
// memory, and grows while messages wait because all its buffers are in use: so the mix of messages
// decides which class gets the memory. No class shrinks: the system would not get back memory that
// was touched, and a class that grows anew after each pause makes messages wait anew.
#pragma once

#include <cstdint>
#include <limits>

#include "lib/lnet/flow/buffer_class.hpp"

namespace plnet::lnet {

// The bounds of a shard, for classes without a configured number. With the defaults no class grows.
struct PoolBudget {
  // All classes together begin with at most first_bytes, and grow to at most the second number.
  std::uint64_t first_bytes = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t most_bytes = 0;
  BufferCounts most;          // the most buffers of each class
  std::uint32_t records = 0;  // records for messages in buffers of all classes together
};

// The reason why a class gets no more buffers.
enum class PoolBound : std::uint8_t {
  kNone,     // it gets more
  kSet,      // the configuration sets its number
  kMemory,   // the bytes of all classes together
  kPlace,    // the address space of the class is full
  kRecords,  // there are no records for more messages
};

using PoolFlags = ByBufferClass<bool>;
using PoolBounds = ByBufferClass<PoolBound>;

// A class that starves grows by a quarter at a time, and by one buffer at least.
inline constexpr std::uint32_t kPoolStep = 4;
static_assert(kPoolStep > 1, "a class grows by less than its size at a time");

// The buffers of one shard, at least one of each class. `asked`: of the whole node; 0: the default.
[[nodiscard]] BufferCounts buffers_of_shard(const BufferCounts& asked, unsigned shards);
// The classes without a configured number.
[[nodiscard]] PoolFlags automatic_pools(const BufferCounts& asked);

// The first buffers of a shard: `counts`, with those of automatic classes cut in proportion to the
// bytes that the others leave; at least one of each.
[[nodiscard]] BufferCounts first_sizes(const BufferCounts& counts, const PoolFlags& automatic,
                                       const PoolBudget& budget);

// The reason why each class cannot grow by a step.
[[nodiscard]] PoolBounds pool_bounds(const BufferCounts& now, const PoolFlags& automatic,
                                     const PoolBudget& budget);
// Adds a step to each class that starves and may grow; classes of small buffers first, since they
// cost little.
[[nodiscard]] BufferCounts grown_sizes(const BufferCounts& now, const PoolFlags& starving,
                                       const PoolFlags& automatic, const PoolBudget& budget);

}  // namespace plnet::lnet
