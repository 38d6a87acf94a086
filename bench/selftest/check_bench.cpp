// SPDX-License-Identifier: BSD-3-Clause
// The speed of checking bulk data, relative to copying it.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "bench/harness/harness.hpp"
#include "lib/selftest/data_pattern.hpp"

namespace plnet::bench {
namespace {

using selftest::Check;

constexpr std::size_t kBulkBytes = 1U << 20;  // the largest that a test sends

void report_bytes(benchmark::State& state) {
  const auto bytes = static_cast<double>(state.iterations()) * static_cast<double>(kBulkBytes);
  state.counters["value"] = benchmark::Counter(bytes / (1U << 20), benchmark::Counter::kIsRate);
}

void check_bulk(benchmark::State& state) {
  std::vector<std::uint64_t> data(kBulkBytes / sizeof(std::uint64_t));
  const auto bytes = std::as_writable_bytes(std::span(data));
  selftest::fill_data(bytes, Check::kFull, 0, selftest::kDataMagic);
  for ([[maybe_unused]] auto _ : state) {
    const auto wrong = selftest::first_wrong_word(bytes, Check::kFull, 0, selftest::kDataMagic);
    if (wrong) state.SkipWithError("it is as it was filled");
  }
  report_bytes(state);
}

void fill_bulk(benchmark::State& state) {
  std::vector<std::uint64_t> data(kBulkBytes / sizeof(std::uint64_t));
  for ([[maybe_unused]] auto _ : state) {
    selftest::fill_data(std::as_writable_bytes(std::span(data)), Check::kFull, 0,
                        selftest::kDataMagic);
    benchmark::DoNotOptimize(data.data());
    benchmark::ClobberMemory();
  }
  report_bytes(state);
}

void copy_bulk(benchmark::State& state) {
  const std::vector<std::uint64_t> from(kBulkBytes / sizeof(std::uint64_t), 1);
  std::vector<std::uint64_t> to(from.size());
  for ([[maybe_unused]] auto _ : state) {
    std::memcpy(to.data(), from.data(), kBulkBytes);
    benchmark::DoNotOptimize(to.data());
    benchmark::ClobberMemory();
  }
  report_bytes(state);
}

}  // namespace

void add_benchmarks(Suite& suite) {
  suite.push_back({.name = "selftest.check",
                   .what = "full verification of 1 MiB of bulk data; floor: memcpy of as much",
                   .unit = "MiB/s",
                   .bar = Bar{.of = Bar::Of::kRatio, .limit = 0.5, .side = Bar::Side::kAtLeast},
                   .value = check_bulk,
                   .floor = copy_bulk});
  suite.push_back({.name = "selftest.fill",
                   .what = "filling 1 MiB of bulk data; floor: memcpy of as much",
                   .unit = "MiB/s",
                   .value = fill_bulk,
                   .floor = copy_bulk});
}

}  // namespace plnet::bench
