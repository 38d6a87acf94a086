// SPDX-License-Identifier: BSD-3-Clause
// Where a forwarded message is between its two networks: three pools of buffers on each shard, one
// of each class. Their credits are those of lustre-release lnet/lnet/router.c:
// lnet_rtrpool_adjust_bufs().
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "lib/base/arena.hpp"
#include "lib/base/counters.hpp"
#include "lib/lnet/api/payload.hpp"
#include "lib/lnet/flow/buffer_class.hpp"
#include "lib/lnet/flow/pool_sizing.hpp"

namespace plnet::lnet {

// Of each class, in its order; what views and metrics tell of a pool.
#define PLNET_ROUTER_BUFFER_COUNTERS(X)                                                \
  X(kTinyBuffers, "tiny_buffers", "buffers", kGauge, "without payload that there are") \
  X(kTinyUsedMax, "tiny_used_max", "buffers", kHighWater, "most in use at a time")     \
  X(kTinyWaited, "tiny_waited", "messages", kCount, "had to wait for one")             \
  X(kTinyStarved, "tiny_starved", "messages", kCount,                                  \
    "had to wait for one when hardly any was free, for whatever next hop")             \
  X(kSmallBuffers, "small_buffers", "buffers", kGauge, "of a page that there are")     \
  X(kSmallUsedMax, "small_used_max", "buffers", kHighWater, "most in use at a time")   \
  X(kSmallWaited, "small_waited", "messages", kCount, "had to wait for one")           \
  X(kSmallStarved, "small_starved", "messages", kCount,                                \
    "had to wait for one when hardly any was free, for whatever next hop")             \
  X(kLargeBuffers, "large_buffers", "buffers", kGauge, "of 1 MiB that there are")      \
  X(kLargeUsedMax, "large_used_max", "buffers", kHighWater, "most in use at a time")   \
  X(kLargeWaited, "large_waited", "messages", kCount, "had to wait for one")           \
  X(kLargeStarved, "large_starved", "messages", kCount,                                \
    "had to wait for one when hardly any was free, for whatever next hop")
PLNET_COUNTERS(RouterBufferCounters, PLNET_ROUTER_BUFFER_COUNTERS);

enum class PoolMark : std::uint8_t { kBuffers, kUsedMax, kWaited, kStarved };
inline constexpr std::size_t kPoolMarks = 4;

[[nodiscard]] constexpr RouterBufferCounters::Id counter_of(BufferClass of, PoolMark mark) {
  return static_cast<RouterBufferCounters::Id>(static_cast<std::size_t>(of) * kPoolMarks +
                                               static_cast<std::size_t>(mark));
}
static_assert(counter_of(BufferClass::kLarge, PoolMark::kStarved) ==
              RouterBufferCounters::Id::kLargeStarved);

// Memory for the buffers of a shard. It is touched when a buffer is used for the first time, so it
// may be more than there is of real memory.
struct RouterMemory {
  BufferAddress at;
  BufferCounts most;  // that there can ever be
  PoolBudget budget{};

  [[nodiscard]] static std::uint64_t bytes(const BufferCounts& most) { return bytes_of(most); }
};

struct BufferPoolView {
  std::uint32_t buffers = 0;
  // Free ones; negative: as many messages wait, for one or until their hop holds fewer.
  std::int32_t credits = 0;
  std::int32_t credits_min = 0;
  // Since the marks were reset.
  std::uint64_t used_max = 0;
  std::uint64_t waited = 0;  // messages
};

// A buffer that was lent.
struct BufferRef {
  BufferClass of = BufferClass::kTiny;
  std::uint32_t index = 0;
};

class RouterBuffers {
 public:
  // Allocates what is beside the buffers themselves; start-up only. There are none until resize().
  explicit RouterBuffers(const RouterMemory& memory);

  // A pool of which no more than one in so many is free is scarce: three next hops or more have
  // taken their shares of it.
  static constexpr std::uint32_t kScarce = 4;

  // More are there at once, within what the memory holds; too many go: free ones now, the others
  // when they come back. Automatic ones begin with what PoolBudget lets them have and keep what
  // they have grown to. False: it does not hold as many.
  [[nodiscard]] bool resize(const BufferCounts& wanted, const PoolFlags& automatic = {});
  // A step for automatic ones that starve. False: none could grow.
  [[nodiscard]] bool grow(const PoolFlags& starving);
  [[nodiscard]] PoolBounds bounds() const {
    return pool_bounds(totals(), automatic_, memory_.budget);
  }

  // The last one given back first: it may still be in the cache. There is a free one.
  [[nodiscard]] BufferRef take(BufferClass from) {
    Pool& pool = pools_[from];
    PLNET_CHECK(pool.free > 0, "who takes a router buffer has seen that there is one");
    --pool.free;
    pool.see_low();
    if (pool.total - pool.free > pool.used_max) [[unlikely]]
      see_high(from);
    return {from, pool.stack[pool.free]};
  }
  void give(BufferRef buffer) {
    Pool& pool = pools_[buffer.of];
    PLNET_CHECK(pool.free < pool.total, "no more router buffers come back than there are");
    if (pool.total > pool.wanted) [[unlikely]]
      return discard(buffer.of, buffer.index);
    pool.stack[pool.free++] = buffer.index;
  }
  // What a message of so many bytes uses of it.
  [[nodiscard]] Payload payload(BufferRef buffer, std::uint32_t length) const {
    if (buffer.of == BufferClass::kTiny) return {};
    return {.fragments = {&pools_[buffer.of].pieces[buffer.index], 1}, .length = length};
  }

  [[nodiscard]] std::uint32_t free_count(BufferClass of) const { return pools_[of].free; }
  [[nodiscard]] std::uint32_t total(BufferClass of) const { return pools_[of].total; }
  // What was lent has not all come back.
  [[nodiscard]] std::uint32_t held() const {
    std::uint32_t sum = 0;
    for (const BufferClass each : kAllBufferClasses)
      sum += pools_[each].total - pools_[each].free;
    return sum;
  }
  // Messages that wait for one of these.
  void begin_wait(BufferClass of);
  void end_wait(BufferClass of) { --pools_[of].waiting; }
  // Messages that came to wait since this was asked last, while the pool was scarce.
  [[nodiscard]] std::uint32_t exchange_starved(BufferClass of) {
    return std::exchange(pools_[of].starved, 0);
  }
  [[nodiscard]] bool starves(BufferClass of) const {
    return pools_[of].waiting > 0 && pools_[of].scarce();
  }

  [[nodiscard]] BufferPoolView view(BufferClass of) const;
  [[nodiscard]] CounterView counters() const { return counters_.view(); }
  // High-water marks and counts begin anew.
  void reset_marks();

 private:
  struct Pool {
    std::uint32_t free = 0;
    std::uint32_t total = 0;
    std::uint32_t wanted = 0;
    std::uint32_t made = 0;  // some are in use, some free, some spare: not wanted for now
    std::uint32_t spare = 0;
    std::uint32_t waiting = 0;
    std::uint32_t used_max = 0;
    std::uint32_t starved = 0;  // since somebody asked
    std::int32_t credits_min = 0;
    std::unique_ptr<std::uint32_t[]> stack;   // free ones
    std::unique_ptr<std::uint32_t[]> spares;  // not wanted for now
    std::unique_ptr<Fragment[]> pieces;       // of those that were made

    [[nodiscard]] std::int32_t credits() const {
      return waiting > 0 ? -static_cast<std::int32_t>(waiting) : static_cast<std::int32_t>(free);
    }
    [[nodiscard]] bool scarce() const { return free <= std::max(1U, total / kScarce); }
    void see_low() { credits_min = std::min(credits_min, credits()); }
  };

  void add(BufferClass of, std::uint32_t wanted);
  void shrink(BufferClass of);
  void discard(BufferClass of, std::uint32_t index) {
    Pool& pool = pools_[of];
    pool.spares[pool.spare++] = index;
    --pool.total;
    show_total(of);
  }
  [[nodiscard]] BufferCounts totals() const;
  void show_total(BufferClass of) {
    counters_.set(counter_of(of, PoolMark::kBuffers), pools_[of].total);
  }
  void see_high(BufferClass of);

  RouterMemory memory_;
  ByBufferClass<Pool> pools_;
  PoolFlags automatic_;
  Counters<RouterBufferCounters> counters_;
};

}  // namespace plnet::lnet
