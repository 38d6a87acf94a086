// SPDX-License-Identifier: BSD-3-Clause
// The parts of a benchmark of ./measure. To add one: write a source file that defines
// add_benchmarks() and name it in the meson.build beside it; `./measure` finds it from there.
//
// A benchmark is a Google Benchmark body (the `for (auto _ : state)` loop), and optionally a second
// body that measures the machine's floor for the same work. The harness runs both alternately,
// round after round, so that disturbances of the machine affect both. It reports medians over
// rounds. A round in which the kernel took the CPU away is discarded and repeated within limits
// (the line shows the number of disturbed rounds that were kept).
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>

namespace plnet::bench {

enum class Timing : std::uint8_t {
  kCpu,     // CPU time of the body's own thread: for single-threaded work
  kReal,    // wall-clock time: for threads that wait for each other
  kManual,  // the body calls state.SetIterationTime(seconds)
};

// A required value of a benchmark.
struct Bar {
  enum class Of : std::uint8_t { kValue, kRatio };
  enum class Side : std::uint8_t { kAtMost, kAtLeast };
  Of of = Of::kValue;
  double limit = 0;
  Side side = Side::kAtMost;
};

using Body = std::function<void(benchmark::State&)>;

struct Benchmark {
  std::string name;              // "base.ring.hop": room, noun, verb
  std::string what;              // one line for ./measure --list
  std::string unit = "ns";       // of value and floor
  Timing timing = Timing::kCpu;  // of both bodies
  double round_seconds = 0.01;   // about how long a round of one body lasts; setup is not counted
  // A single iteration: the figure is no time, and a second iteration would see the state left by
  // the first.
  bool once = false;
  std::optional<Bar> bar{};
  // The figure is the time per iteration in ns, or state.counters["value"] if the body sets it
  // (then give the unit). Other counters become fields of the line, as medians. A body that cannot
  // run on this machine calls state.SkipWithError("what is missing").
  Body value;
  // Empty if there is no floor: the line then has no floor and ratio. Same unit as value.
  Body floor{};
};

using Suite = std::vector<Benchmark>;

// Defined by each benchmark executable; the harness has main().
void add_benchmarks(Suite& suite);

// The nth CPU that this process may use, from 0; nothing if there are not that many.
[[nodiscard]] std::optional<int> nth_usable_cpu(unsigned nth);
// Pins the calling thread; the harness undoes it after the benchmark. See also partner.hpp.
[[nodiscard]] bool pin_to_nth_cpu(unsigned nth);

}  // namespace plnet::bench
