// SPDX-License-Identifier: BSD-3-Clause
#include "lib/lnet/flow/pool_sizing.hpp"

#include <algorithm>
#include <numeric>

#include "lib/base/check.hpp"

namespace plnet::lnet {

namespace {

// Classes without a configured number get at least this part of all first bytes, beside any
// configured number.
constexpr std::uint64_t kPartBesideSet = 8;

// The number of buffers that a class may add now, and the bound that cuts the step.
struct Step {
  std::uint32_t more = 0;
  PoolBound bound = PoolBound::kNone;
};

Step step_of(BufferClass of, const BufferCounts& now, const PoolBudget& budget) {
  Step step{.more = std::max(1U, now[of] / kPoolStep)};
  const auto hold_to = [&step](std::uint64_t room, PoolBound bound) {
    if (room >= step.more) return;
    step = {.more = static_cast<std::uint32_t>(room), .bound = bound};
  };
  hold_to(budget.most[of] - std::min(budget.most[of], now[of]), PoolBound::kPlace);
  const std::uint64_t used = std::accumulate(now.begin(), now.end(), std::uint64_t{0});
  hold_to(budget.records - std::min<std::uint64_t>(budget.records, used), PoolBound::kRecords);
  if (kBufferBytes[of] == 0) return step;
  const std::uint64_t taken = bytes_of(now);
  const std::uint64_t left = budget.most_bytes - std::min(budget.most_bytes, taken);
  hold_to(left / kBufferBytes[of], PoolBound::kMemory);
  return step;
}

}  // namespace

BufferCounts buffers_of_shard(const BufferCounts& asked, unsigned shards) {
  PLNET_CHECK(shards > 0, "a node has a shard");
  BufferCounts share;
  for (const BufferClass each : kAllBufferClasses) {
    const std::uint32_t of_all = asked[each] != 0 ? asked[each] : kBuffersDefault[each];
    share[each] = std::max(1U, of_all / shards);
  }
  return share;
}

PoolFlags automatic_pools(const BufferCounts& asked) {
  PoolFlags automatic;
  for (const BufferClass each : kAllBufferClasses)
    automatic[each] = asked[each] == 0;
  return automatic;
}

BufferCounts first_sizes(const BufferCounts& counts, const PoolFlags& automatic,
                         const PoolBudget& budget) {
  BufferCounts own;  // those without a configured number
  for (const BufferClass each : kAllBufferClasses)
    own[each] = automatic[each] ? counts[each] : 0;
  const std::uint64_t wanted = bytes_of(own);
  const std::uint64_t set = bytes_of(counts) - wanted;
  const std::uint64_t left = std::max(budget.first_bytes - std::min(budget.first_bytes, set),
                                      budget.first_bytes / kPartBesideSet);
  if (wanted <= left) return counts;
  BufferCounts sizes = counts;
  for (const BufferClass each : kAllBufferClasses) {
    if (!automatic[each] || kBufferBytes[each] == 0) continue;
    const double part = static_cast<double>(left) / static_cast<double>(wanted);
    sizes[each] = std::max(1U, static_cast<std::uint32_t>(part * counts[each]));
  }
  PLNET_CHECK(bytes_of(sizes) <= bytes_of(counts), "automatic classes are cut and not enlarged");
  return sizes;
}

PoolBounds pool_bounds(const BufferCounts& now, const PoolFlags& automatic,
                       const PoolBudget& budget) {
  PoolBounds bounds;
  for (const BufferClass each : kAllBufferClasses) {
    const Step step = step_of(each, now, budget);
    bounds[each] = !automatic[each] ? PoolBound::kSet
                   : step.more > 0  ? PoolBound::kNone
                                    : step.bound;
  }
  return bounds;
}

BufferCounts grown_sizes(const BufferCounts& now, const PoolFlags& starving,
                         const PoolFlags& automatic, const PoolBudget& budget) {
  BufferCounts sizes = now;
  for (const BufferClass each : kAllBufferClasses) {
    if (starving[each] && automatic[each]) sizes[each] += step_of(each, sizes, budget).more;
  }
  PLNET_CHECK(bytes_of(sizes) <= std::max(bytes_of(now), budget.most_bytes),
              "classes grow within the bytes of the budget");
  for (const BufferClass each : kAllBufferClasses)
    PLNET_CHECK(sizes[each] >= now[each], "no class shrinks by growth");
  return sizes;
}

}  // namespace plnet::lnet
