// SPDX-License-Identifier: BSD-3-Clause
// Sites of simulated hosts for the benchmarks: each host has one shard and some ten connections; a
// number of frames per host go back and forth for ever. Contains only the needs of the measured
// drivers.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include <malloc.h>

#include "bench/harness/harness.hpp"
#include "drivers/net/sim/event_loop.hpp"
#include "drivers/net/sim/network.hpp"
#include "drivers/net/sim/shard.hpp"
#include "lib/base/random.hpp"

namespace plnet::bench {

inline constexpr unsigned kFrameBytes = 100;
inline constexpr std::uint32_t kFirstAddress = 0x0a00'0001;

// Bytes allocated from the heap and not freed.
[[nodiscard]] inline std::size_t heap_in_use() {
  const struct mallinfo2 info = mallinfo2();
  return info.uordblks + info.hblkhd;
}

// The partner of host `host` as its `nth` of `each`: the distances grow, so that neighbours in the
// network are not neighbours in memory.
[[nodiscard]] inline unsigned partner_of(unsigned host, unsigned nth, unsigned hosts) {
  unsigned distance = 1;
  for (unsigned i = 0; i < nth; ++i)
    distance = distance * 7 + 3;
  return (host + 1 + distance % (hosts - 1)) % hosts;
}

struct SiteBase {
  SiteBase(unsigned hosts, const drivers::SimShape& shape) : loop(1), network(loop, shape.link, 1) {
    shards.reserve(hosts);
    for (unsigned i = 0; i < hosts; ++i) {
      const drivers::HostId host = network.add_host();
      (void)network.add_address(host, drivers::mapped_ipv4(kFirstAddress + i));
      shards.push_back(std::make_unique<drivers::SimShard>(network, host, shape.shard, 1, i));
    }
  }

  drivers::EventLoop loop;
  drivers::SimNetwork network;
  std::vector<std::unique_ptr<drivers::SimShard>> shards;
};

// The floor of a simulated message: the lines that it must touch (both hosts' shards and drivers,
// the connection, its bytes, its events), twelve in four places of a site of that size, each place
// known only from the one before, without any work on them.
inline void touch_site(benchmark::State& state, unsigned hosts) {
  struct Place {
    std::array<std::uint64_t, 3 * 8> words{};
  };
  constexpr unsigned kPlaces = 4;
  constexpr std::int64_t kBatch = 1000;
  std::vector<Place> site(std::size_t{hosts} * 5 * kPlaces);
  Random random(1);
  std::uint64_t seen = 0;  // always 0, unknown to the compiler
  while (state.KeepRunningBatch(kBatch)) {
    for (std::int64_t i = 0; i < kBatch; ++i) {
      for (unsigned place = 0; place < kPlaces; ++place) {
        Place& touched = site[(random.next() + seen) % site.size()];
        seen = touched.words[0] >> 63U;
        for (std::size_t word = 0; word < touched.words.size(); word += 8)
          ++touched.words[word];
      }
    }
    benchmark::ClobberMemory();
  }
}

}  // namespace plnet::bench
