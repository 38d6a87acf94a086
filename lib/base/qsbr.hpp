// SPDX-License-Identifier: BSD-3-Clause
// Quiescent-state-based reclamation: an object that the writer removes from a shared structure is
// released only after every reader has reported once that it holds nothing. Readers pay one load
// and one store a turn, and nothing per lookup.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "lib/base/cache_line.hpp"
#include "lib/base/check.hpp"
#include "lib/base/result.hpp"

namespace plnet {

// Threads: each reader slot belongs to one thread, which alone calls online, quiescent and offline
// with it. The functions listed under "writer" belong to one thread as well.
// NOLINTNEXTLINE(clang-analyzer-optin.performance.Padding): what readers touch lies apart
class Qsbr {
 public:
  using Reader = std::uint32_t;
  // A moment in the writer's time. Greater is later.
  using Grace = std::uint64_t;
  using Release = void (*)(void* context, void* object);

  // Limits of readers, and of objects retired but not yet reclaimed. Allocates; start-up only.
  Qsbr(std::size_t readers_max, std::size_t retired_max);
  ~Qsbr();
  Qsbr(const Qsbr&) = delete;
  Qsbr& operator=(const Qsbr&) = delete;

  // Any thread, cold. The new reader is offline. Slots are never reused: a reader that ends stays
  // offline.
  [[nodiscard]] Result<Reader> register_reader();

  // Reader: may hold references from now on.
  void online(Reader reader);
  // Reader: holds no reference found earlier. Once a turn.
  void quiescent(Reader reader) {
    std::atomic<Grace>& seen = slot(reader).seen;
    PLNET_DEBUG_CHECK(seen.load(std::memory_order_relaxed) != kOffline, "reader is offline");
    const Grace now = epoch_.load(std::memory_order_acquire);
    if (seen.load(std::memory_order_relaxed) != now) seen.store(now, std::memory_order_release);
  }
  // Reader: holds no reference and makes no lookup until online(). Call before sleeping.
  void offline(Reader reader) { slot(reader).seen.store(kOffline, std::memory_order_release); }

  // Writer: call after unpublishing; passed() becomes true when no reader can hold what was
  // unpublished before.
  [[nodiscard]] Grace begin_grace() { return epoch_.fetch_add(1, std::memory_order_acq_rel) + 1; }
  [[nodiscard]] bool passed(Grace grace);

  // Writer: a later reclaim() calls `release(context, object)`. The object is already unpublished.
  // kNoSpace when retired_max objects wait: reclaim first.
  [[nodiscard]] Result<void> retire(void* object, Release release, void* context);
  // Writer: releases, oldest first, at most `limit` objects that no reader can hold. Returns their
  // number.
  std::size_t reclaim(std::size_t limit);
  [[nodiscard]] std::size_t retired() const { return tail_ - head_; }

 private:
  static constexpr Grace kOffline = 0;

  struct alignas(kNoSharing) Slot {
    std::atomic<Grace> seen{kOffline};
  };
  struct Retired {
    void* object = nullptr;
    Release release = nullptr;
    void* context = nullptr;
    Grace grace = 0;
  };

  [[nodiscard]] Slot& slot(Reader reader) {
    PLNET_CHECK(reader < readers_.load(std::memory_order_relaxed), "no such QSBR reader");
    return slots_[reader];
  }

  const std::size_t readers_max_;
  const std::size_t retired_max_;
  const std::unique_ptr<Slot[]> slots_;
  std::atomic<std::uint32_t> readers_{0};
  alignas(kNoSharing) std::atomic<Grace> epoch_{1};
  // Written by the writer only.
  alignas(kNoSharing) Grace known_passed_ = 0;
  std::size_t head_ = 0;
  std::size_t tail_ = 0;
  const std::unique_ptr<Retired[]> retired_;
};

}  // namespace plnet
