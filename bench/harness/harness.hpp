// SPDX-License-Identifier: BSD-3-Clause
// What a benchmark behind ./measure is made of. To add one: write a source file that defines
// add_benchmarks() and name it in the meson.build beside it; `./measure` finds it from there.
//
// A benchmark is a Google Benchmark body (the `for (auto _ : state)` loop), and where there is one
// a second body that measures the machine's floor for the same thing. The harness runs both in
// turn, round after round, so that whatever else happens on the machine happens to both. It quotes
// medians over rounds; a round during which the kernel took the CPU away is thrown away and
// repeated as long as patience lasts (the line says how many were left in).
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>

namespace plnet::bench {

enum class Timing : std::uint8_t {
  kCpu,     // CPU time of the body's own thread: right for what one thread does alone
  kReal,    // the wall: right when threads wait for one another
  kManual,  // the body calls state.SetIterationTime(seconds)
};

// What a requirement asks of a benchmark.
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
  // One iteration says it all: the figure is no time, and another would see what this one left.
  bool once = false;
  std::optional<Bar> bar{};
  // The figure is the time per iteration in ns, or state.counters["value"] if the body sets it
  // (then give the unit). Other counters become fields of the line, as medians. A body that cannot
  // run here calls state.SkipWithError("what is missing").
  Body value;
  // Empty if there is no floor: the line then has no floor and ratio. Same unit as value.
  Body floor{};
};

using Suite = std::vector<Benchmark>;

// Defined by each benchmark executable; the harness brings main().
void add_benchmarks(Suite& suite);

// The nth CPU that this process may use, from 0; nothing if there are not that many.
[[nodiscard]] std::optional<int> nth_usable_cpu(unsigned nth);
// Puts the calling thread there; the harness undoes it after the benchmark. See also partner.hpp.
[[nodiscard]] bool pin_to_nth_cpu(unsigned nth);

}  // namespace plnet::bench
