// SPDX-License-Identifier: BSD-3-Clause
// Grows the router buffers of a shard: a class that starves grows by a step each second within its
// bounds, and the admin thread gets notes about it. A class starves while messages come to wait for
// a buffer and hardly any is free. Messages of a hop that has used up its share do not count.
#pragma once

#include <cstdint>

#include "lib/base/clock.hpp"
#include "lib/base/ring.hpp"
#include "lib/lnet/flow/pool_sizing.hpp"
#include "lib/lnet/names/nid.hpp"

namespace plnet::lnet {

struct ShardCore;

// A class of a shard's router buffers begins to starve, still starves, or no longer does.
struct StarvingNote {
  enum class What : std::uint8_t { kBegins, kGoesOn, kOver };

  What what{};
  BufferClass of{};
  PoolBound bound{};  // the reason why there are no more
  std::uint16_t cpt = 0;
  std::uint16_t shard = 0;
  std::uint32_t buffers = 0;
  std::uint64_t waited = 0;     // messages since the last note
  Nid hop;                      // the next hop with the most buffers
  std::uint32_t hop_holds = 0;  // 0: there is none
};

class PoolKeeper {
 public:
  // A class no longer starves after this time without a waiting message, so a burst each second
  // gives one note.
  static constexpr Duration kQuiet = std::chrono::seconds(10);
  // A class that still starves gives another note after this time.
  static constexpr Duration kTellAgain = std::chrono::seconds(60);
  // Unread notes. More are lost; counters and views have the numbers.
  static constexpr std::size_t kNotes = 32;
  static_assert(kQuiet < kTellAgain, "a class that is quiet is not reported again");

  explicit PoolKeeper(ShardCore& core) : core_(core) {}

  // Once a second, while messages wait or a class starves.
  void look();
  // One reader, any thread. False: there is no note.
  [[nodiscard]] bool pop_note(StarvingNote& note) { return notes_.pop(note); }

 private:
  struct Watch {
    bool starving = false;
    Instant seen{};  // time at which a message last waited
    Instant told{};
    std::uint64_t waited = 0;  // since the last note
  };

  // True: the class starves now.
  [[nodiscard]] bool look_at(BufferClass of);
  void post_note(BufferClass of, StarvingNote::What what);
  void find_hop(StarvingNote& note);

  ShardCore& core_;
  ByBufferClass<Watch> watches_;
  SpscRing<StarvingNote> notes_{kNotes};
};

}  // namespace plnet::lnet
