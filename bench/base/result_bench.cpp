// SPDX-License-Identifier: BSD-3-Clause
// The cost of results that carry an error code.
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>

#include "bench/harness/harness.hpp"
#include "lib/base/random.hpp"
#include "lib/base/result.hpp"

namespace plnet::bench {
namespace {

constexpr int kCalls = 4;
constexpr std::uint64_t kBad = ~std::uint64_t{0};

[[gnu::noinline]] Result<std::uint64_t> deepest(std::uint64_t value) {
  if (value == kBad) return std::unexpected(Errc::kNoSpace);
  return value + 1;
}
template <int depth>
[[gnu::noinline]] Result<std::uint64_t> pass(std::uint64_t value) {
  const auto result = [value] {
    if constexpr (depth == 2)
      return deepest(value);
    else
      return pass<depth - 1>(value);
  }();
  if (!result) return std::unexpected(result.error());
  return *result + 1;
}

// The same without possible failure.
[[gnu::noinline]] std::uint64_t plain_deepest(std::uint64_t value) {
  return value + 1;
}
template <int depth>
[[gnu::noinline]] std::uint64_t plain_pass(std::uint64_t value) {
  if constexpr (depth == 2)
    return plain_deepest(value) + 1;
  else
    return plain_pass<depth - 1>(value) + 1;
}

void pass_success(benchmark::State& state) {
  std::uint64_t value = 1;
  for ([[maybe_unused]] auto _ : state) {
    benchmark::DoNotOptimize(value);
    value = pass<kCalls>(value).value_or(0);
  }
}
void pass_failure(benchmark::State& state) {
  std::uint64_t value = kBad;
  std::uint64_t failed = 0;
  for ([[maybe_unused]] auto _ : state) {
    benchmark::DoNotOptimize(value);
    if (!pass<kCalls>(value)) ++failed;
    benchmark::DoNotOptimize(failed);
  }
}
void pass_plain(benchmark::State& state) {
  std::uint64_t value = 1;
  for ([[maybe_unused]] auto _ : state) {
    benchmark::DoNotOptimize(value);
    value = plain_pass<kCalls>(value);
  }
}

constexpr std::size_t kQuestions = 1024;

// The errno values of sockets, in an order that no branch predictor can learn.
void errno_to_code(benchmark::State& state) {
  constexpr std::array kNumbers{EAGAIN, ECONNRESET, EPIPE,  ETIMEDOUT,   EHOSTUNREACH,
                                ENOMEM, EINVAL,     EMFILE, ENETUNREACH, ENOTTY};
  Random random(1);
  std::array<int, kQuestions> numbers{};
  for (int& number : numbers)
    number = kNumbers[random.below(kNumbers.size())];
  std::size_t next = 0;
  for ([[maybe_unused]] auto _ : state)
    benchmark::DoNotOptimize(errc_of_errno(numbers[next++ % kQuestions]));
}

std::array<Errc, kQuestions> random_codes() {
  Random random(1);
  std::array<Errc, kQuestions> codes{};
  for (Errc& code : codes)
    code = static_cast<Errc>(random.below(static_cast<std::uint64_t>(Errc::kShutdown) + 1));
  return codes;
}

void code_to_health(benchmark::State& state) {
  const auto codes = random_codes();
  std::size_t next = 0;
  for ([[maybe_unused]] auto _ : state)
    benchmark::DoNotOptimize(health_of(codes[next++ % kQuestions]));
}
void code_to_name(benchmark::State& state) {
  const auto codes = random_codes();
  std::size_t next = 0;
  for ([[maybe_unused]] auto _ : state)
    benchmark::DoNotOptimize(name_of(codes[next++ % kQuestions]).data());
}

}  // namespace

void add_benchmarks(Suite& suite) {
  suite.push_back({.name = "base.result.pass",
                   .what = "a value handed up through four calls that may fail; floor: the same "
                           "calls returning the bare value",
                   .value = pass_success,
                   .floor = pass_plain});
  suite.push_back({.name = "base.result.fail",
                   .what = "a code handed up through the same four calls",
                   .value = pass_failure,
                   .floor = pass_plain});
  suite.push_back({.name = "base.result.of_errno",
                   .what = "the code for an errno, ten of them mixed",
                   .value = errno_to_code});
  suite.push_back({.name = "base.result.health",
                   .what = "the health class of a code",
                   .value = code_to_health});
  suite.push_back(
      {.name = "base.result.name", .what = "the name of a code", .value = code_to_name});
}

}  // namespace plnet::bench
