// SPDX-License-Identifier: BSD-3-Clause
// The arenas as an RDMA device names them: each registered once, whole. For an arena of address
// space that is allocated at first use, a registration would allocate all of it: such an arena is
// registered by parts, each when a request first names memory in it.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>

#include <infiniband/verbs.h>

#include "lib/base/arena.hpp"
#include "lib/base/result.hpp"

namespace plnet::mlx {

// A device's name for memory.
struct Keys {
  std::uint32_t local = 0;
  std::uint32_t remote = 0;
};

class Memory {
 public:
  // A part costs about a millisecond when it is registered. Each reaches into the next one, so that
  // every fragment lies in one part.
  static constexpr std::uint64_t kPartBytes = std::uint64_t{8} << 20U;
  static constexpr std::uint64_t kFragmentBytesMax = std::uint64_t{1} << 20U;  // LNet's payload

  // The arenas outlive it.
  explicit Memory(const ArenaTable& arenas) : arenas_(arenas) {}
  ~Memory() { leave(); }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  // Before anything is posted. The error says what to do.
  [[nodiscard]] Outcome<void> enter(ibv_pd& domain);
  // Nothing is posted any more.
  void leave();

  // Hot, any shard. Of memory that the device refuses: keys that no request gets through with.
  [[nodiscard]] Keys keys(const Fragment& fragment) const {
    PLNET_DEBUG_CHECK(fragment.at.arena < arenas_.count(), "fragments lie in arenas");
    const Registered& of = registered_[fragment.at.arena];
    return of.parts == nullptr ? of.keys : keys_of_part(of, fragment);
  }

  // Any thread.
  [[nodiscard]] std::uint64_t parts() const { return parts_.load(std::memory_order_relaxed); }
  [[nodiscard]] std::uint64_t refused() const { return refused_.load(std::memory_order_relaxed); }

 private:
  struct Registered {
    ibv_mr* region = nullptr;
    Keys keys;
    std::unique_ptr<std::atomic<ibv_mr*>[]> parts;  // null: the arena is registered whole
  };

  [[nodiscard]] Keys keys_of_part(const Registered& of, const Fragment& fragment) const;
  [[nodiscard]] ibv_mr* enter_part(std::atomic<ibv_mr*>& part, const Fragment& fragment) const;

  const ArenaTable& arenas_;
  ibv_pd* domain_ = nullptr;
  std::array<Registered, kArenasMax> registered_;
  mutable std::atomic<std::uint64_t> parts_{0};
  mutable std::atomic<std::uint64_t> refused_{0};
};

}  // namespace plnet::mlx
