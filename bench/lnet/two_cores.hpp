// SPDX-License-Identifier: BSD-3-Clause
// Two shards of a node on two CPUs that work for each other. Each is an object that turns, counts
// its work, and finishes after stop().
#pragma once

#include <atomic>
#include <cstdint>

#include "bench/harness/harness.hpp"
#include "bench/harness/line_distance.hpp"
#include "bench/harness/partner.hpp"

namespace plnet::bench {

// Reports the work of each of the two cores, and their distance. Counting begins after `warm_up`.
template <class Worker>
void run_on_two_cores(benchmark::State& state, Worker& here, Worker& there, std::uint64_t warm_up) {
  std::atomic<std::uint64_t> done_there{0};
  std::atomic<bool> stop{false};
  std::atomic<bool> drained{false};
  LineDistance distance;
  {
    const Partner partner(state, [&] {
      distance.answer();
      while (!stop.load(std::memory_order_relaxed)) {
        there.turn();
        done_there.store(there.done(), std::memory_order_relaxed);
      }
      for (there.stop(); !drained.load(std::memory_order_relaxed) || !there.settled();)
        there.turn();
      distance.answer();
    });
    if (!partner.ready()) return;
    const double distance_before = distance.measure();
    while (here.done() < warm_up || done_there.load(std::memory_order_relaxed) < warm_up)
      here.turn();
    const std::uint64_t before = here.done() + done_there.load(std::memory_order_relaxed);
    for ([[maybe_unused]] auto _ : state)
      here.turn();
    const auto done =
        static_cast<double>(here.done() + done_there.load(std::memory_order_relaxed) - before);
    state.counters["value"] = benchmark::Counter(done / 2, benchmark::Counter::kIsRate);
    stop.store(true, std::memory_order_relaxed);
    for (here.stop(); !here.settled();)
      here.turn();
    drained.store(true, std::memory_order_relaxed);
    for (int turns = 0; turns < 1000; ++turns)  // finishes the other's work on this shard
      here.turn();
    state.counters["line_ns"] = (distance_before + distance.measure()) / 2;
  }
  while (!there.settled() || !here.settled()) {
    here.turn();
    there.turn();
  }
  if (here.failed() || there.failed()) state.SkipWithError("something failed");
}

}  // namespace plnet::bench
