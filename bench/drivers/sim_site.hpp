// SPDX-License-Identifier: BSD-3-Clause
// Sites of simulated hosts for the benchmarks: each host has one shard and is connected to some ten
// others; a number of frames per host go back and forth for ever. Nothing here but what the
// drivers under measurement need.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include <malloc.h>

#include "drivers/net/sim/event_loop.hpp"
#include "drivers/net/sim/network.hpp"
#include "drivers/net/sim/shard.hpp"

namespace plnet::bench {

inline constexpr unsigned kFrameBytes = 100;
inline constexpr std::uint32_t kFirstAddress = 0x0a00'0001;

// Bytes that the allocator has handed out and not got back.
[[nodiscard]] inline std::size_t heap_in_use() {
  const struct mallinfo2 info = mallinfo2();
  return info.uordblks + info.hblkhd;
}

// Whom host `host` connects to as its `nth` of `each`: the distances grow, so that neighbours in
// the network are no neighbours in memory.
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

}  // namespace plnet::bench
