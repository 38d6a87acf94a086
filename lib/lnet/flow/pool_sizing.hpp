// SPDX-License-Identifier: BSD-3-Clause
// How many router buffers of each class a shard has. What somebody has set is that, whatever it
// costs. A class that nobody has set begins with the kernel's number, or with what there is memory
// for, and grows while messages wait because its buffers are all in use: so the mix of messages
// decides which class gets the memory. None ever shrinks by itself: memory that was touched is not
// given back before the end, and a class that has to grow again after each pause makes messages
// wait again each time.
#pragma once

#include <cstdint>
#include <limits>

#include "lib/lnet/flow/buffer_class.hpp"

namespace plnet::lnet {

// Of one shard, for the classes that nobody has set. As it is nothing grows.
struct PoolBudget {
  // All classes begin with so many bytes at most, and grow to so many.
  std::uint64_t first_bytes = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t most_bytes = 0;
  BufferCounts most;          // each grows to
  std::uint32_t records = 0;  // for messages in buffers of all classes together
};

// Why a class gets no more.
enum class PoolBound : std::uint8_t {
  kNone,     // it does
  kSet,      // somebody has set its number
  kMemory,   // the bytes of all classes together
  kPlace,    // it has as many as there is a place for
  kRecords,  // more messages could not be under way
};

using PoolFlags = ByBufferClass<bool>;
using PoolBounds = ByBufferClass<PoolBound>;

// A class that starves gets a quarter more at a time, and one at least.
inline constexpr std::uint32_t kPoolStep = 4;

// Of the whole node, 0: the default; what each of its shards gets, at least one of each.
[[nodiscard]] BufferCounts buffers_of_shard(const BufferCounts& asked, unsigned shards);
// Those that nobody has set.
[[nodiscard]] PoolFlags automatic_pools(const BufferCounts& asked);

// `counts` of a shard, the automatic ones cut in proportion to what the others leave of the bytes
// to begin with; at least one of each.
[[nodiscard]] BufferCounts first_sizes(const BufferCounts& counts, const PoolFlags& automatic,
                                       const PoolBudget& budget);

// What stands in the way of the next step of each.
[[nodiscard]] PoolBounds pool_bounds(const BufferCounts& now, const PoolFlags& automatic,
                                     const PoolBudget& budget);
// One step for each that starves and may; those of small buffers first, which cost little.
[[nodiscard]] BufferCounts grown_sizes(const BufferCounts& now, const PoolFlags& starving,
                                       const PoolFlags& automatic, const PoolBudget& budget);

}  // namespace plnet::lnet
