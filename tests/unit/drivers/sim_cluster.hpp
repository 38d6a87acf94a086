// SPDX-License-Identifier: BSD-3-Clause
// Two simulated hosts with a shard each: the base of all tests of the simulator's drivers.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "drivers/net/sim/event_loop.hpp"
#include "drivers/net/sim/network.hpp"
#include "drivers/net/sim/shape.hpp"
#include "drivers/net/sim/shard.hpp"
#include "lib/base/arena.hpp"

namespace plnet::drivers {

inline constexpr std::uint32_t kFirstAddress = 0x0a00'0001;  // 10.0.0.1

class SimCluster {
 public:
  SimCluster(std::uint64_t seed, const SimShape& the_shape, unsigned hosts = 2)
      : shape(the_shape), loop(seed), network(loop, shape.link, seed) {
    for (unsigned i = 0; i < hosts; ++i) {
      const HostId host = network.add_host();
      (void)network.add_address(host, mapped_ipv4(kFirstAddress + i));
      shards.push_back(std::make_unique<SimShard>(network, host, shape.shard, seed, i));
    }
  }

  // Runs events until `done`, which is evaluated between any two of them, or until `within` of
  // simulated time is over. `done` may have side effects, hence the small steps when nothing is
  // due.
  bool run(const std::function<bool()>& done, Duration within = std::chrono::minutes(10)) {
    constexpr unsigned kIdleRounds = 1000;
    const Instant end = loop.now() + within;
    for (unsigned idle = 0; idle < kIdleRounds; ++idle) {
      if (done()) return true;
      if (loop.next() > end) {
        loop.run_for(std::chrono::microseconds(10));
      } else if (loop.step()) {
        idle = 0;
      }
    }
    return done();
  }

  SimShape shape;
  EventLoop loop;
  SimNetwork network;
  std::vector<std::unique_ptr<SimShard>> shards;
};

// The memory of two hosts, an arena each.
struct SimArenas {
  explicit SimArenas(std::size_t size) {
    for (unsigned side = 0; side < 2; ++side) {
      bytes[side].resize(size);
      (void)tables[side].add({.base = bytes[side].data(), .size = bytes[side].size()});
    }
  }
  std::array<std::vector<std::byte>, 2> bytes;
  std::array<ArenaTable, 2> tables;
};

}  // namespace plnet::drivers
