// SPDX-License-Identifier: BSD-3-Clause
// Small objects that a single shard uses.
#include <array>
#include <cstdint>
#include <memory>

#include "bench/harness/harness.hpp"
#include "lib/base/arena.hpp"
#include "lib/base/check.hpp"
#include "lib/base/counters.hpp"
#include "lib/base/hash.hpp"
#include "lib/base/histogram.hpp"
#include "lib/base/intrusive_list.hpp"
#include "lib/base/pool.hpp"
#include "lib/base/qsbr.hpp"
#include "lib/base/random.hpp"

namespace plnet::bench {
namespace {

struct Message {
  std::array<std::byte, 256> bytes{};
};

constexpr std::size_t kBurst = 32;

void pool_op(benchmark::State& state) {
  Pool<Message> pool(4096);
  std::array<Message*, kBurst> lent{};
  while (state.KeepRunningBatch(kBurst)) {
    for (auto& message : lent)
      message = pool.take();
    benchmark::DoNotOptimize(lent);
    for (Message* message : lent)
      pool.give(message);
  }
}

void histogram_record(benchmark::State& state) {
  const auto histogram = std::make_unique<Histogram>();
  Random random(1);
  std::array<std::uint64_t, 1024> values{};
  for (auto& value : values)
    value = static_cast<std::uint64_t>(random.exponential(20000));
  std::size_t next = 0;
  for ([[maybe_unused]] auto _ : state)
    histogram->record(values[next++ % values.size()]);
}

#define BENCH_LIST(X)                                   \
  X(kSent, "sent", "messages", kCount, "messages sent") \
  X(kBytes, "bytes", "bytes", kCount, "bytes sent")
PLNET_COUNTERS(BenchTable, BENCH_LIST);

void counter_add(benchmark::State& state) {
  Counters<BenchTable> counters;
  for ([[maybe_unused]] auto _ : state) {
    counters.add(BenchTable::Id::kSent);
    benchmark::ClobberMemory();
  }
}

void plain_add(benchmark::State& state) {
  std::uint64_t counter = 0;
  benchmark::DoNotOptimize(&counter);
  for ([[maybe_unused]] auto _ : state) {
    ++counter;
    benchmark::ClobberMemory();
  }
}

void random_next(benchmark::State& state) {
  Random random(1);
  for ([[maybe_unused]] auto _ : state)
    benchmark::DoNotOptimize(random.next());
}

// The work of a driver for each fragment that it posts.
void arena_bytes(benchmark::State& state) {
  constexpr std::size_t kBytes = std::size_t{16} << 20U;
  const auto memory = std::make_unique<std::byte[]>(kBytes);
  ArenaTable arenas;
  const auto id = arenas.add({.base = memory.get(), .size = kBytes});
  PLNET_CHECK(id.has_value(), "an empty table takes an arena");
  Random random(1);
  std::array<Fragment, 1024> fragments{};
  for (auto& fragment : fragments)
    fragment = {.at = {*id, random.below(kBytes - 4096)}, .length = 4096};
  std::size_t next = 0;
  for ([[maybe_unused]] auto _ : state)
    benchmark::DoNotOptimize(arenas.bytes(fragments[next++ % fragments.size()]).data());
}

// The cost of lock-free tables for every shard, once a turn.
void qsbr_quiescent(benchmark::State& state) {
  Qsbr qsbr(4, 64);
  const auto reader = qsbr.register_reader();
  PLNET_CHECK(reader.has_value(), "an empty register takes a reader");
  qsbr.online(*reader);
  for ([[maybe_unused]] auto _ : state) {
    qsbr.quiescent(*reader);
    benchmark::ClobberMemory();
  }
  qsbr.offline(*reader);
}

struct Queued : ListNode<> {
  std::array<std::byte, 256> bytes{};
};

// A queue of constant length: the first element leaves, another one is appended.
void list_op(benchmark::State& state) {
  const auto messages = std::make_unique<std::array<Queued, 1024>>();
  IntrusiveList<Queued> queue;
  for (Queued& message : *messages)
    queue.push_back(message);
  for ([[maybe_unused]] auto _ : state)
    queue.push_back(*queue.pop_front());
}

// A key of the size of a NID; each hash depends on the previous one.
void hash_key(benchmark::State& state) {
  using Key = std::array<std::uint8_t, 20>;
  const KeyHash<Key> hash;
  Key key{};
  for ([[maybe_unused]] auto _ : state) {
    key[0] = static_cast<std::uint8_t>(hash(key));
    benchmark::DoNotOptimize(key);
  }
}

}  // namespace

void add_benchmarks(Suite& suite) {
  suite.push_back({.name = "base.pool.op",
                   .what = "take and give back one object, bursts of 32",
                   .value = pool_op});
  suite.push_back({.name = "base.histogram.record",
                   .what = "record one latency out of an exponential mix",
                   .value = histogram_record});
  suite.push_back({.name = "base.counter.add",
                   .what = "count one event; floor: add to a plain word in memory",
                   .value = counter_add,
                   .floor = plain_add});
  suite.push_back({.name = "base.arena.bytes",
                   .what = "find and check the memory of a fragment {arena, offset, length}",
                   .value = arena_bytes});
  suite.push_back({.name = "base.qsbr.quiescent",
                   .what = "say once a turn that nothing shared is held",
                   .value = qsbr_quiescent});
  suite.push_back({.name = "base.list.op",
                   .what = "first out of a list of 1024, and in again at its end",
                   .value = list_op});
  suite.push_back({.name = "base.hash.key",
                   .what = "hash a 20-byte key, each after the other's hash",
                   .value = hash_key});
  suite.push_back({.name = "base.random.next", .what = "64 random bits", .value = random_next});
}

}  // namespace plnet::bench
