// SPDX-License-Identifier: BSD-3-Clause
// Where a forwarded message is between its two networks: three pools of buffers on each shard, for
// no payload, up to a page, and up to LNET_MTU. Numbers and their meaning are those of
// lustre-release lnet/lnet/router.c: lnet_rtrpools_alloc(), lnet_rtrpool_adjust_bufs().
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "lib/base/arena.hpp"
#include "lib/lnet/payload.hpp"
#include "lib/lnet/wire/header.hpp"

namespace plnet::lnet {

enum class BufferClass : std::uint8_t { kTiny, kSmall, kLarge };
inline constexpr std::size_t kBufferClasses = 3;

template <class T>
class ByBufferClass {
 public:
  [[nodiscard]] T& operator[](BufferClass which) { return of_[static_cast<std::size_t>(which)]; }
  [[nodiscard]] const T& operator[](BufferClass which) const {
    return of_[static_cast<std::size_t>(which)];
  }
  [[nodiscard]] auto begin() { return of_.begin(); }
  [[nodiscard]] auto end() { return of_.end(); }
  [[nodiscard]] auto begin() const { return of_.begin(); }
  [[nodiscard]] auto end() const { return of_.end(); }

  std::array<T, kBufferClasses> of_{};

  friend bool operator==(const ByBufferClass&, const ByBufferClass&) = default;
};

inline constexpr std::array<BufferClass, kBufferClasses> kAllBufferClasses{
    BufferClass::kTiny, BufferClass::kSmall, BufferClass::kLarge};

using BufferCounts = ByBufferClass<std::uint32_t>;
inline constexpr BufferCounts kBufferBytes{{0, 4096, kPayloadBytesMax}};
inline constexpr BufferCounts kBuffersDefault{{2048, 16384, 1024}};
inline constexpr BufferCounts kBuffersAdvised{{512, 4096, 256}};  // less is asking for trouble

// The first class that holds so many bytes.
[[nodiscard]] constexpr BufferClass buffer_class_of(std::uint32_t bytes) {
  if (bytes == 0) return BufferClass::kTiny;
  return bytes <= kBufferBytes[BufferClass::kSmall] ? BufferClass::kSmall : BufferClass::kLarge;
}

// Of the whole node, 0: the default; what each of its shards gets, at least one of each.
[[nodiscard]] BufferCounts buffers_of_shard(const BufferCounts& asked, unsigned shards);

// Memory for the buffers of a shard. It is touched when a buffer is used for the first time, so it
// may be more than there is of real memory.
struct RouterMemory {
  BufferAddress at;
  BufferCounts most;  // that there can ever be

  [[nodiscard]] static std::uint64_t bytes(const BufferCounts& most) {
    std::uint64_t sum = 0;
    for (const BufferClass each : kAllBufferClasses)
      sum += std::uint64_t{most[each]} * kBufferBytes[each];
    return sum;
  }
};

struct BufferPoolView {
  std::uint32_t buffers = 0;
  std::int32_t credits = 0;  // free ones; negative: as many messages wait
  std::int32_t credits_min = 0;
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

  // More are there at once, within what the memory holds; too many go: free ones now, the others
  // when they come back. False: it does not hold as many.
  [[nodiscard]] bool resize(const BufferCounts& wanted);

  // The last one given back first: it may still be in the cache. There is a free one.
  [[nodiscard]] BufferRef take(BufferClass from) {
    Pool& pool = pools_[from];
    PLNET_CHECK(pool.free > 0, "who takes a router buffer has seen that there is one");
    --pool.free;
    pool.see_low();
    return {from, pool.stack[pool.free]};
  }
  void give(BufferRef buffer) {
    Pool& pool = pools_[buffer.of];
    PLNET_CHECK(pool.free < pool.total, "no more router buffers come back than there are");
    if (pool.total > pool.wanted) [[unlikely]]
      return discard(pool, buffer.index);
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
  // Messages that wait for one of these; for the views.
  void begin_wait(BufferClass of) {
    ++pools_[of].waiting;
    pools_[of].see_low();
  }
  void end_wait(BufferClass of) { --pools_[of].waiting; }
  [[nodiscard]] BufferPoolView view(BufferClass of) const;

 private:
  struct Pool {
    std::uint32_t free = 0;
    std::uint32_t total = 0;
    std::uint32_t wanted = 0;
    std::uint32_t made = 0;  // some are in use, some free, some spare: not wanted for now
    std::uint32_t spare = 0;
    std::uint32_t waiting = 0;
    std::int32_t credits_min = 0;
    std::unique_ptr<std::uint32_t[]> stack;   // free ones
    std::unique_ptr<std::uint32_t[]> spares;  // not wanted for now
    std::unique_ptr<Fragment[]> pieces;       // of those that were made

    [[nodiscard]] std::int32_t credits() const {
      return static_cast<std::int32_t>(free) - static_cast<std::int32_t>(waiting);
    }
    void see_low() { credits_min = std::min(credits_min, credits()); }
  };

  void grow(BufferClass of, std::uint32_t wanted);
  static void shrink(Pool& pool);
  static void discard(Pool& pool, std::uint32_t index) {
    pool.spares[pool.spare++] = index;
    --pool.total;
  }

  const RouterMemory memory_;
  ByBufferClass<Pool> pools_;
};

}  // namespace plnet::lnet
