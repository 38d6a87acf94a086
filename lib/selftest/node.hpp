// SPDX-License-Identifier: BSD-3-Clause
// A test node of LNet's selftest, for consoles. A program makes a SelftestShared; on each shard
// that serves tests a TestServer; on one of them a SelftestNode with the counters of all servers.
// The shards poll them after LNet. Portals 50 and 51 must be lazy (Node::set_lazy()) before open()
// of each object, on its shard. To end: close() everything and poll until closed() is true for all.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "lib/base/pollable.hpp"
#include "lib/base/timer_wheel.hpp"
#include "lib/selftest/framework.hpp"
#include "lib/selftest/test_server.hpp"

namespace plnet::selftest {

// Shared by the shards of a node. Outlives all objects on them.
struct SelftestShared {
  explicit SelftestShared(WorkMemory& memory) : source(memory) {}
  [[nodiscard]] static constexpr std::size_t memory_bytes() { return kBulkBytesMax; }

  EndedSessions ended;
  const SourceData source;
  // Written by the shard of the framework.
  TestLatency latency;
  PaceStatistics paced;
};

struct SelftestNodeSetup {
  FrameworkSetup framework;
  // Wall-clock time at the start: later than that of any earlier run of the node. See RpcIds.
  std::uint64_t unix_seconds = 0;
  unsigned shards = 1;  // of the node
  Instant start{};
};

class SelftestNode final : public Pollable {
 public:
  // `statistics` is its own, which it writes; `servers` are those of all servers.
  SelftestNode(lnet::DataOperations& operations, SelftestShared& shared, RpcStatistics& statistics,
               std::span<const RpcStatistics* const> servers, const LnetCounterSource& lnet,
               const SelftestNodeSetup& setup, WorkMemory& memory)
      : timers_(setup.start, kTick),
        ids_(setup.unix_seconds, operations.shard(), setup.shards),
        framework_({.operations = operations,
                    .timers = timers_,
                    .ids = ids_,
                    .source = shared.source,
                    .ended = shared.ended,
                    .lnet = lnet,
                    .statistics = statistics,
                    .servers = servers,
                    .latency = &shared.latency,
                    .paced = &shared.paced},
                   setup.framework, memory) {}
  [[nodiscard]] static std::size_t memory_bytes(const SelftestNodeSetup& setup) {
    return Framework::memory_bytes(setup.framework);
  }

  void open() { framework_.open(); }
  void close() { framework_.close(); }
  [[nodiscard]] bool closed() const { return framework_.closed(); }
  [[nodiscard]] const Framework& framework() const { return framework_; }
  [[nodiscard]] bool set_pace(const Pace& pace) { return framework_.set_pace(pace); }

  unsigned poll(Instant now) override {
    const unsigned timed = timers_.advance(now);
    return timed + framework_.poll(now);
  }
  [[nodiscard]] std::string_view name() const override { return "selftest"; }
  [[nodiscard]] bool woken_by_doorbell() const override { return true; }
  [[nodiscard]] Instant next_deadline() const override {
    if (framework_.has_work()) return Instant::min();
    return std::min(timers_.next_deadline(), framework_.next_deadline());
  }

 private:
  // resolution of timeouts in seconds
  static constexpr Duration kTick = std::chrono::milliseconds(100);

  TimerWheel timers_;
  RpcIds ids_;
  Framework framework_;
};

}  // namespace plnet::selftest
