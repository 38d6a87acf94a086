// SPDX-License-Identifier: BSD-3-Clause
// Looks after a shard's router buffers: a class that starves grows by a step each second while it
// may, and what there is to be said of it is told. It starves while messages come to wait for a
// buffer and hardly any is free; a hop that waits because it has its own share does not count.
#pragma once

#include <cstdint>

#include "lib/base/clock.hpp"
#include "lib/base/ring.hpp"
#include "lib/lnet/flow/pool_sizing.hpp"
#include "lib/lnet/names/nid.hpp"

namespace plnet::lnet {

struct ShardCore;

// A class of a shard's router buffers starves, does so still, or no longer.
struct StarvingNote {
  enum class What : std::uint8_t { kBegins, kGoesOn, kOver };

  What what{};
  BufferClass of{};
  PoolBound bound{};  // why there are no more
  std::uint16_t cpt = 0;
  std::uint16_t shard = 0;
  std::uint32_t buffers = 0;
  std::uint64_t waited = 0;     // messages since the last note
  Nid hop;                      // the next hop that holds most of them
  std::uint32_t hop_holds = 0;  // 0: there is none
};

class PoolKeeper {
 public:
  // Without a message that had to wait it is over after this; so a burst each second is one line.
  static constexpr Duration kQuiet = std::chrono::seconds(10);
  // While it lasts it is told again.
  static constexpr Duration kTellAgain = std::chrono::seconds(60);
  // That nobody has read yet; more are lost, counters and views say how it is.
  static constexpr std::size_t kNotes = 32;

  explicit PoolKeeper(ShardCore& core) : core_(core) {}

  // Once a second, while something waits or somebody starves.
  void look();
  // One reader, any thread. False: there is none.
  [[nodiscard]] bool pop_note(StarvingNote& note) { return notes_.pop(note); }

 private:
  struct Watch {
    bool starving = false;
    Instant seen{};  // when a message waited last
    Instant told{};
    std::uint64_t waited = 0;  // since then
  };

  // Whether it starves now.
  [[nodiscard]] bool look_at(BufferClass of);
  void post_note(BufferClass of, StarvingNote::What what);
  void find_hop(StarvingNote& note);

  ShardCore& core_;
  ByBufferClass<Watch> watches_;
  SpscRing<StarvingNote> notes_{kNotes};
};

}  // namespace plnet::lnet
