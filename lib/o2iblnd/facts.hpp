// SPDX-License-Identifier: BSD-3-Clause
// Reports of an interface, its peers and connections, by value: for other threads.
#pragma once

#include <cstdint>
#include <string_view>

#include "lib/base/clock.hpp"
#include "lib/base/result.hpp"
#include "lib/lnet/names/nid.hpp"
#include "lib/o2iblnd/connection.hpp"

namespace plnet::o2iblnd {

// `lnetctl net show -v` of an o2ib network: its "lnd tunables", under those names.
struct InterfaceFacts {
  std::int64_t peercredits_hiw = 0;
  std::int64_t map_on_demand = 1;
  std::int64_t concurrent_sends = 0;
  std::int64_t fmr_pool_size = 0;
  std::int64_t fmr_flush_trigger = 0;
  std::int64_t fmr_cache = 0;
  std::int64_t ntx = 0;
  std::int64_t conns_per_peer = 1;
  std::int64_t timeout = 0;  // seconds
  std::int64_t tos = -1;
};

struct ConnectionFacts {
  lnet::Nid nid;
  Connection::State state = Connection::State::kFree;
  bool by_us = false;
  bool parked = false;  // receiving waits for a decision
  std::uint16_t version = 0;
  std::uint64_t incarnation = 0;
  unsigned queue_depth = 0;
  unsigned max_frags = 0;
  unsigned credits = 0;
  unsigned owed = 0;
  unsigned reserved = 0;
  unsigned sends_posted = 0;
  unsigned held = 0;  // messages of the peer's whose credit has not gone back
  Duration age{};
  Duration since_sent{};
};

struct PeerFacts {
  lnet::Nid nid;
  unsigned connections = 0;
  unsigned connecting = 0;
  unsigned accepting = 0;
  unsigned reconnecting = 0;
  bool waiting = false;  // messages wait for a connection
  std::uint16_t version = 0;
  std::uint64_t incarnation = 0;
  Duration silent{};
};

}  // namespace plnet::o2iblnd
