// SPDX-License-Identifier: BSD-3-Clause
// The router buffers of a shard: a pool of each class for the payloads of forwarded messages.
// Credits are counted as in lustre-release lnet/lnet/router.c: lnet_rtrpool_adjust_bufs().
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "lib/base/arena.hpp"
#include "lib/base/check.hpp"
#include "lib/base/counters.hpp"
#include "lib/lnet/api/payload.hpp"
#include "lib/lnet/flow/buffer_class.hpp"
#include "lib/lnet/flow/pool_sizing.hpp"

namespace plnet::lnet {

// The numbers of a pool in views and metrics, for each class in the order of classes.
#define PLNET_ROUTER_BUFFER_COUNTERS(X)                                                          \
  X(kTinyBuffers, "tiny_buffers", "buffers", kGauge, "router buffers without payload")           \
  X(kTinyUsedMax, "tiny_used_max", "buffers", kHighWater,                                        \
    "most router buffers without payload in use at a time")                                      \
  X(kTinyWaited, "tiny_waited", "messages", kCount,                                              \
    "messages that waited for a router buffer without payload")                                  \
  X(kTinyStarved, "tiny_starved", "messages", kCount,                                            \
    "messages that waited for a router buffer without payload when few were free, for any next " \
    "hop")                                                                                       \
  X(kSmallBuffers, "small_buffers", "buffers", kGauge, "router buffers of one page")             \
  X(kSmallUsedMax, "small_used_max", "buffers", kHighWater,                                      \
    "most router buffers of one page in use at a time")                                          \
  X(kSmallWaited, "small_waited", "messages", kCount,                                            \
    "messages that waited for a router buffer of one page")                                      \
  X(kSmallStarved, "small_starved", "messages", kCount,                                          \
    "messages that waited for a router buffer of one page when few were free, for any next hop") \
  X(kLargeBuffers, "large_buffers", "buffers", kGauge, "router buffers of 1 MiB")                \
  X(kLargeUsedMax, "large_used_max", "buffers", kHighWater,                                      \
    "most router buffers of 1 MiB in use at a time")                                             \
  X(kLargeWaited, "large_waited", "messages", kCount,                                            \
    "messages that waited for a router buffer of 1 MiB")                                         \
  X(kLargeStarved, "large_starved", "messages", kCount,                                          \
    "messages that waited for a router buffer of 1 MiB when few were free, for any next hop")
PLNET_COUNTERS(RouterBufferCounters, PLNET_ROUTER_BUFFER_COUNTERS);
static_assert(kBufferClasses * 4 == RouterBufferCounters::kInfo.size(),
              "each class has four numbers");

enum class PoolMark : std::uint8_t { kBuffers, kUsedMax, kWaited, kStarved };
inline constexpr std::size_t kPoolMarks = 4;

[[nodiscard]] constexpr RouterBufferCounters::Id counter_of(BufferClass of, PoolMark mark) {
  return static_cast<RouterBufferCounters::Id>(static_cast<std::size_t>(of) * kPoolMarks +
                                               static_cast<std::size_t>(mark));
}
static_assert(counter_of(BufferClass::kLarge, PoolMark::kStarved) ==
              RouterBufferCounters::Id::kLargeStarved);

// Address space for the buffers of a shard. The first use of a buffer touches its memory, so the
// space may be larger than the memory of the machine.
struct RouterMemory {
  BufferAddress at;
  BufferCounts most;  // the most buffers that fit
  PoolBudget budget{};

  [[nodiscard]] static std::uint64_t bytes(const BufferCounts& most) { return bytes_of(most); }
};

struct BufferPoolView {
  std::uint32_t buffers = 0;
  // Free buffers; negative: the number of messages that wait for a buffer or for their hop's share.
  std::int32_t credits = 0;
  std::int32_t credits_min = 0;
  // Since reset_marks().
  std::uint64_t used_max = 0;
  std::uint64_t waited = 0;  // messages that have waited
};

// A buffer that is in use.
struct BufferRef {
  BufferClass of = BufferClass::kTiny;
  std::uint32_t index = 0;
};

class RouterBuffers {
 public:
  // Allocates the tables; start-up only. There are no buffers until resize().
  explicit RouterBuffers(const RouterMemory& memory);

  // A pool with at most a quarter of its buffers free is scarce: three next hops or more have taken
  // their shares.
  static constexpr std::uint32_t kScarce = 4;

  // New buffers are there at once, within the space; excess ones go, free ones now and others when
  // they come back. Automatic classes begin with the numbers that PoolBudget allows and keep the
  // buffers that they have grown to. False: the space does not hold as many.
  [[nodiscard]] bool resize(const BufferCounts& wanted, const PoolFlags& automatic = {});
  // Adds a step to automatic classes that starve. False: none could grow.
  [[nodiscard]] bool grow(const PoolFlags& starving);
  [[nodiscard]] PoolBounds bounds() const {
    return pool_bounds(totals(), automatic_, memory_.budget);
  }

  // The last one given back, which may still be in the cache. The caller knows that one is free.
  [[nodiscard]] BufferRef take(BufferClass from) {
    Pool& pool = pools_[from];
    PLNET_CHECK(pool.free > 0, "who takes a router buffer has seen that there is one");
    --pool.free;
    pool.see_low();
    if (pool.total - pool.free > pool.used_max) [[unlikely]]
      see_high(from);
    PLNET_DEBUG_CHECK(pool.free < pool.total && pool.stack[pool.free] < pool.made,
                      "a free buffer was made");
    return {from, pool.stack[pool.free]};
  }
  void give(BufferRef buffer) {
    Pool& pool = pools_[buffer.of];
    PLNET_CHECK(pool.free < pool.total, "no more router buffers come back than there are");
    PLNET_DEBUG_CHECK(buffer.index < pool.made, "a buffer that comes back was made");
    if (pool.total > pool.wanted) [[unlikely]]
      return discard(buffer.of, buffer.index);
    pool.stack[pool.free++] = buffer.index;
  }
  // The part of the buffer for a message of this length.
  [[nodiscard]] Payload payload(BufferRef buffer, std::uint32_t length) const {
    PLNET_CHECK(length <= kBufferBytes[buffer.of] && buffer.index < pools_[buffer.of].made,
                "a message fits into its buffer");
    if (buffer.of == BufferClass::kTiny) return {};
    return {.fragments = {&pools_[buffer.of].pieces[buffer.index], 1}, .length = length};
  }

  [[nodiscard]] std::uint32_t free_count(BufferClass of) const { return pools_[of].free; }
  [[nodiscard]] std::uint32_t total(BufferClass of) const { return pools_[of].total; }
  // Buffers in use.
  [[nodiscard]] std::uint32_t held() const {
    std::uint32_t sum = 0;
    for (const BufferClass each : kAllBufferClasses)
      sum += pools_[each].total - pools_[each].free;
    return sum;
  }
  // A message begins or ends its wait for a buffer of this class.
  void begin_wait(BufferClass of);
  void end_wait(BufferClass of) {
    PLNET_CHECK(pools_[of].waiting > 0, "a message that ends its wait has begun it");
    --pools_[of].waiting;
  }
  // Messages that came to wait while the pool was scarce, since the last call.
  [[nodiscard]] std::uint32_t exchange_starved(BufferClass of) {
    return std::exchange(pools_[of].starved, 0);
  }
  [[nodiscard]] bool starves(BufferClass of) const {
    return pools_[of].waiting > 0 && pools_[of].scarce();
  }

  [[nodiscard]] BufferPoolView view(BufferClass of) const;
  [[nodiscard]] CounterView counters() const { return counters_.view(); }
  // Sets high-water marks and counts back.
  void reset_marks();

 private:
  struct Pool {
    std::uint32_t free = 0;
    std::uint32_t total = 0;
    std::uint32_t wanted = 0;
    std::uint32_t made = 0;  // in use, free, or spare (not wanted for now)
    std::uint32_t spare = 0;
    std::uint32_t waiting = 0;
    std::uint32_t used_max = 0;
    std::uint32_t starved = 0;  // since the last exchange_starved()
    std::int32_t credits_min = 0;
    std::unique_ptr<std::uint32_t[]> stack;   // free buffers
    std::unique_ptr<std::uint32_t[]> spares;  // buffers not wanted for now
    std::unique_ptr<Fragment[]> pieces;       // the memory of each buffer that was made

    [[nodiscard]] std::int32_t credits() const {
      return waiting > 0 ? -static_cast<std::int32_t>(waiting) : static_cast<std::int32_t>(free);
    }
    [[nodiscard]] bool scarce() const { return free <= std::max(1U, total / kScarce); }
    void see_low() { credits_min = std::min(credits_min, credits()); }
    // Each buffer that was made is in use, free or spare.
    [[nodiscard]] bool is_sound(std::uint32_t most) const {
      return free <= total && total + spare == made && made <= most;
    }
  };

  void add(BufferClass of, std::uint32_t wanted);
  void shrink(BufferClass of);
  void discard(BufferClass of, std::uint32_t index) {
    Pool& pool = pools_[of];
    PLNET_CHECK(pool.total > 0 && index < pool.made && pool.spare < pool.made,
                "a buffer that is discarded was made");
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
