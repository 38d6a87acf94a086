// SPDX-License-Identifier: BSD-3-Clause
// The interface of an RDMA device for o2ib networks: drivers/net/mlx if libibverbs and librdmacm
// were present at build time, a mock in tests.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "lib/base/arena.hpp"
#include "lib/base/clock.hpp"
#include "lib/base/counters.hpp"
#include "lib/base/pollable.hpp"
#include "lib/base/result.hpp"
#include "lib/o2iblnd/queue_pair.hpp"

namespace plnet::node {

// A connect request on its way from the listening shard to the home of its peer.
using O2ibRequest = o2iblnd::HandedRequest;

// Queue pairs of one user on one shard.
class O2ibQueuePairs {
 public:
  virtual ~O2ibQueuePairs() = default;
  [[nodiscard]] virtual o2iblnd::VerbsDriver& driver() = 0;
  [[nodiscard]] virtual Pollable& pollable() = 0;
  // Takes over a reported request that is not answered yet. Nothing: the request has ended.
  [[nodiscard]] virtual std::optional<O2ibRequest> hand_over(o2iblnd::QueuePairId request) = 0;
  // Reports the request by on_connect_request() within this call, on the adopting shard.
  virtual void adopt(const O2ibRequest& request) = 0;
};

struct O2ibPairsConfig {
  std::size_t connections_max = 0;
};

// Shared by all shards, for the life of the process.
class O2ibAdapter {
 public:
  virtual ~O2ibAdapter() = default;
  // The adapter and `events` outlive the queue pairs.
  [[nodiscard]] virtual Outcome<std::unique_ptr<O2ibQueuePairs>> make(
      const O2ibPairsConfig& config, o2iblnd::VerbsEvents& events) = 0;
  // Called on shard 0: reads the events of the connection manager and the device for all shards.
  // It may be called for each of the adapters that share them.
  virtual unsigned poll_events(Instant now) = 0;
  // Any shard: rejects a request that no NI takes.
  virtual void discard(const O2ibRequest& request) = 0;
  [[nodiscard]] virtual std::string name() const = 0;  // "mlx5_0 port 1"
  // Any thread. The device was removed: it never returns, though another one may appear.
  [[nodiscard]] virtual bool is_gone() const = 0;
  // The admin thread, periodically: releases a removed device after its last queue pair.
  virtual void look_at_removal() = 0;
};

// Opens the device behind the interface with this IPv4 address (host order). The arenas outlive it.
// The error names the remedy.
using O2ibAdapterOpener = std::function<Outcome<std::unique_ptr<O2ibAdapter>>(
    std::uint32_t address, const ArenaTable& arenas)>;
// The opener for a node: its adapters share a channel of events.
[[nodiscard]] O2ibAdapterOpener verbs_adapter_opener();

}  // namespace plnet::node
