// SPDX-License-Identifier: BSD-3-Clause
// One PUT and its ACK through all of plnet: core, LND, driver, on loopback sockets; as the floor
// the same bytes over plain sockets.
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "bench/harness/harness.hpp"
#include "bench/harness/partner.hpp"
#include "bench/tcp/bare_pair.hpp"
#include "bench/tcp/crowd.hpp"
#include "bench/tcp/node.hpp"

namespace plnet::bench {
namespace {

using DriverId = drivers::TcpTable::Id;

constexpr std::size_t kIdlePeers = 1000;

struct PingSite {
  explicit PingSite(std::size_t idle) : pair({.peers = idle + 4}) {
    good = pair.ready();
    if (!good || idle == 0) return;
    good = near_crowd.join(*pair.near, idle, [&] { pair.near->turn(); }) &&
           far_crowd.join(*pair.far, idle, [&] { pair.far->turn(); });
  }
  TcpNodePair pair;
  Crowd near_crowd;
  Crowd far_crowd;
  bool good = false;
};

// The ACK event begins the next PUT, as in programs.
void ping_pong_on(benchmark::State& state, TcpNodePair& pair) {
  std::atomic<bool> stop = false;
  const Partner partner(state, [&] {
    while (!stop.load(std::memory_order_relaxed))
      pair.far->turn();
  });
  if (!partner.ready()) return;
  TcpNode& near = *pair.near;
  const std::uint64_t before = pair.begun;
  const std::uint64_t reads = near.count(DriverId::kReads);
  const std::uint64_t waits = near.count(DriverId::kEpollWaits);
  near.events.on_ack = [&] { pair.put(true); };
  pair.put(true);
  for ([[maybe_unused]] auto _ : state) {
    const std::uint64_t next = near.events.acks + 1;
    while (near.events.acks < next && near.events.failures == 0)
      near.turn();
  }
  near.events.on_ack = {};
  while (near.events.acks < pair.begun && near.events.failures == 0)
    near.turn();
  stop = true;
  const std::uint64_t done = pair.begun - before;
  state.counters["reads_per_message"] = share(near.count(DriverId::kReads) - reads, done);
  state.counters["waits_per_message"] = share(near.count(DriverId::kEpollWaits) - waits, done);
  if (near.events.failures > 0) state.SkipWithError("a PUT failed");
}

void ping_pong(benchmark::State& state) {
  PingSite site(0);
  if (!site.good) return state.SkipWithError(kNotReady);
  ping_pong_on(state, site.pair);
}

// The same by one thread at both ends: the work without waiting.
void exchange(benchmark::State& state) {
  PingSite site(0);
  if (!site.good) return state.SkipWithError(kNotReady);
  TcpNodePair& pair = site.pair;
  TcpNode& near = *pair.near;
  near.events.on_ack = [&] { pair.put(true); };
  pair.put(true);
  near.turn();
  for ([[maybe_unused]] auto _ : state) {
    const std::uint64_t next = near.events.acks + 1;
    do {
      pair.far->turn();
      near.turn();
    } while (near.events.acks < next && near.events.failures == 0);
  }
  near.events.on_ack = {};
}

}  // namespace

void add_benchmarks(Suite& suite) {
  suite.push_back({.name = "tcp.pingpong",
                   .what = "a PUT of 96 bytes and its ACK, node to node and back, two threads",
                   .timing = Timing::kReal,
                   .round_seconds = 0.05,
                   .bar = Bar{.of = Bar::Of::kRatio, .limit = 1.25},
                   .value = ping_pong,
                   .floor = bare_ping_pong});
  // Made once: 6000 connections would take longer than a round.
  const auto kept = std::make_shared<std::unique_ptr<PingSite>>();
  suite.push_back({.name = "tcp.pingpong.idle",
                   .what = "the same while 1000 other peers are connected to each of the two nodes",
                   .timing = Timing::kReal,
                   .round_seconds = 0.05,
                   .bar = Bar{.of = Bar::Of::kRatio, .limit = 1.35},
                   .value =
                       [kept](benchmark::State& state) {
                         if (*kept == nullptr) *kept = std::make_unique<PingSite>(kIdlePeers);
                         if (!(*kept)->good) return state.SkipWithError(kNotReady);
                         ping_pong_on(state, (*kept)->pair);
                       },
                   .floor = bare_ping_pong});
  suite.push_back({.name = "tcp.pingpong.work",
                   .what = "a PUT of 96 bytes and its ACK by one thread at both ends: its CPU time",
                   .round_seconds = 0.05,
                   .value = exchange,
                   .floor = bare_exchange});
}

}  // namespace plnet::bench
