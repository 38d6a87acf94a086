// SPDX-License-Identifier: BSD-3-Clause
// State shared by both directions of one shard's context.
#pragma once

#include <cstdint>

#include "drivers/net/cassini/address.hpp"
#include "drivers/net/cassini/completions.hpp"
#include "drivers/net/cassini/memory.hpp"
#include "drivers/net/cassini/stats.hpp"
#include "lib/base/clock.hpp"

namespace plnet::cassini {

class Tracer;

// NOLINTNEXTLINE(clang-analyzer-optin.performance.Padding): counters are aligned on purpose
struct Context {
  Context(const ArenaTable& the_arenas, const ArenaMap& the_map, std::size_t completions_max)
      : arenas(the_arenas), map(the_map), completions(completions_max) {}

  const ArenaTable& arenas;
  const ArenaMap& map;
  CompletionRing completions;
  Stats stats;
  Tracer* tracer = nullptr;
  unsigned pid_bits = 9;
  Process own;    // changes with the NIC's address
  Instant now{};  // of the latest turn
  bool shut_down = false;
  // The queues of that direction must be rebuilt.
  bool receive_failed = false;
  bool transmit_failed = false;

  [[nodiscard]] static kfilnd::FabricCompletion failure(kfilnd::FabricEvent event,
                                                        std::uint64_t cookie, Errc why) {
    return {.event = event, .status = std::unexpected(why), .cookie = cookie};
  }
};

}  // namespace plnet::cassini
