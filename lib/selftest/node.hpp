// SPDX-License-Identifier: BSD-3-Clause
// A test node of LNet's selftest, as a console sees it. What a program does: make a SelftestShared;
// on each shard that is to serve tests a TestServer; on one of them a SelftestNode, which is given
// what all servers count; have the shards poll them after LNet; make portals 50 and 51 lazy
// (Node::set_lazy()), then open() everything, each on its shard. To end: close() everything and
// poll until all say closed().
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "lib/base/pollable.hpp"
#include "lib/base/timer_wheel.hpp"
#include "lib/selftest/framework.hpp"
#include "lib/selftest/test_server.hpp"

namespace plnet::selftest {

// What the shards of a node share. Outlives all that is on them.
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
  // Of the wall, at the start: later than that of any earlier run of the node. See RpcIds.
  std::uint64_t unix_seconds = 0;
  unsigned shards = 1;  // of the node
  Instant start{};
};

class SelftestNode final : public Pollable {
 public:
  // `statistics` are its own, which it writes, and those of all servers.
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
  static constexpr Duration kTick = std::chrono::milliseconds(100);  // of timeouts in seconds

  TimerWheel timers_;
  RpcIds ids_;
  Framework framework_;
};

}  // namespace plnet::selftest
