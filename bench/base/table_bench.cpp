// SPDX-License-Identifier: BSD-3-Clause
// Lookup of a peer by its NID.
#include <array>
#include <cstdint>
#include <vector>

#include "bench/harness/harness.hpp"
#include "lib/base/qsbr_table.hpp"
#include "lib/base/random.hpp"

namespace plnet::bench {
namespace {

using Key = std::array<std::uint8_t, 20>;
constexpr std::size_t kKeys = 10000;

std::vector<Key> random_keys() {
  Random random(1);
  std::vector<Key> keys(kKeys);
  for (Key& key : keys) {
    for (auto& byte : key)
      byte = static_cast<std::uint8_t>(random.next());
  }
  return keys;
}

// Random order of keys, drawn before the measurement.
std::vector<Key> random_questions(const std::vector<Key>& keys) {
  Random random(2);
  std::vector<Key> questions(16384);
  for (Key& question : questions)
    question = keys[random.below(keys.size())];
  return questions;
}

void table_lookup(benchmark::State& state) {
  Qsbr qsbr(1, 1);
  QsbrTable<Key, std::uint64_t> table(kKeys, qsbr);
  const auto keys = random_keys();
  for (std::size_t i = 0; i < kKeys; ++i) {
    if (!table.insert(keys[i], i)) return state.SkipWithError("a key does not go in");
  }
  const auto questions = random_questions(keys);
  std::size_t next = 0;
  std::uint64_t answer = 0;
  for ([[maybe_unused]] auto _ : state) {
    // Each lookup depends on the previous result: latency, not throughput.
    answer = table.lookup(questions[(next++ + (answer >> 63)) % questions.size()]).value_or(0);
    benchmark::DoNotOptimize(answer);
  }
}

}  // namespace

void add_benchmarks(Suite& suite) {
  suite.push_back(
      {.name = "base.table.lookup",
       .what = "look up one random 20-byte key of 10 000, each after the other's answer",
       .bar = Bar{.limit = 60},
       .value = table_lookup});
}

}  // namespace plnet::bench
