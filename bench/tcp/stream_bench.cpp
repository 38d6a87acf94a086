// SPDX-License-Identifier: BSD-3-Clause
// Many PUTs through all of plnet, small ones and large: the generator has one core, the sink the
// other. The floor of each figure is the same bytes over plain sockets.
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <time.h>

#include "bench/harness/harness.hpp"
#include "bench/harness/partner.hpp"
#include "bench/tcp/bare_pair.hpp"
#include "bench/tcp/node.hpp"

namespace plnet::bench {
namespace {

using DriverId = drivers::TcpTable::Id;

constexpr std::uint32_t kBulkBytes = std::uint32_t{1} << 20U;
constexpr std::uint64_t kBulkAhead = 4;  // PUTs under way
constexpr double kGib = 1024.0 * 1024 * 1024;

// The CPU time of all threads of this process.
double cpu_seconds() {
  timespec spent{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &spent);
  return static_cast<double>(spent.tv_sec) + static_cast<double>(spent.tv_nsec) * 1e-9;
}

// --- Many small PUTs ---

struct SmallShape {
  std::int32_t peer_credits = 8;
  std::uint32_t payload_bytes = 0;
};

struct SystemCalls {
  explicit SystemCalls(const TcpNodePair& pair)
      : sends(pair.near->count(DriverId::kSends)), reads(pair.far->count(DriverId::kReads)) {}
  std::uint64_t sends;
  std::uint64_t reads;
};

void report_calls(benchmark::State& state, const TcpNodePair& pair, const SystemCalls& before,
                  std::uint64_t messages) {
  const SystemCalls after(pair);
  state.counters["messages_per_send"] = share(messages, after.sends - before.sends);
  state.counters["messages_per_read"] = share(messages, after.reads - before.reads);
}

// PUTs without ACK, as many under way as there are credits.
void small_puts(benchmark::State& state, const SmallShape& shape) {
  TcpNodePair pair({.peer_credits = shape.peer_credits}, shape.payload_bytes);
  if (!pair.ready()) return state.SkipWithError(kNotReady);
  const auto depth = static_cast<std::uint64_t>(shape.peer_credits) * 2;
  const auto turn = [&] {
    while (pair.begun - pair.near->events.sends < depth)
      pair.put(false);
    pair.near->turn();
  };
  std::atomic<std::uint64_t> arrived = 0;
  std::atomic<bool> stop = false;
  std::uint64_t done = 0;
  const SystemCalls before(pair);
  {
    const Partner partner(state, [&] {
      while (!stop.load(std::memory_order_relaxed)) {
        pair.far->turn();
        arrived.store(pair.far->events.puts, std::memory_order_relaxed);
      }
    });
    if (!partner.ready()) return;
    for (const std::uint64_t warm = arrived + 10'000; arrived.load() < warm;)
      turn();
    const std::uint64_t first = arrived.load();
    for ([[maybe_unused]] auto _ : state)
      turn();
    done = arrived.load() - first;
    stop = true;
  }
  state.counters["value"] =
      benchmark::Counter(static_cast<double>(done), benchmark::Counter::kIsRate);
  pair.settle();
  report_calls(state, pair, before, pair.begun - 1);
  if (pair.near->events.failures + pair.far->events.failures > 0)
    state.SkipWithError("a PUT failed");
}

// Each send has as many bytes as the credits allow in plnet.
void bare_small_puts(benchmark::State& state, const SmallShape& shape) {
  const BarePair pair;
  if (!pair.far.valid()) return state.SkipWithError("no port is free");
  const std::size_t one = kSmallBytes + shape.payload_bytes;
  std::atomic<std::uint64_t> arrived = 0;
  std::atomic<bool> stop = false;
  const Partner partner(state, [&] {
    std::vector<std::byte> buffer(16 * 1024);
    std::uint64_t bytes = 0;
    while (!stop.load(std::memory_order_relaxed)) {
      const auto got = ::recv(pair.far.get(), buffer.data(), buffer.size(), 0);
      if (got <= 0) continue;
      bytes += static_cast<std::uint64_t>(got);
      arrived.store(bytes / one, std::memory_order_relaxed);
    }
  });
  if (!partner.ready()) return;
  const std::vector<std::byte> messages(one * static_cast<std::size_t>(shape.peer_credits));
  for ([[maybe_unused]] auto _ : state)
    (void)spin_send(pair.near.get(), messages, stop);
  state.counters["value"] =
      benchmark::Counter(static_cast<double>(arrived.load()), benchmark::Counter::kIsRate);
  stop = true;
}

// One thread at both ends: the CPU time of a PUT, from put() to its event at the other end.
void small_work(benchmark::State& state, const SmallShape& shape) {
  TcpNodePair pair({.peer_credits = shape.peer_credits}, shape.payload_bytes);
  if (!pair.ready()) return state.SkipWithError(kNotReady);
  const SystemCalls before(pair);
  while (state.KeepRunningBatch(shape.peer_credits)) {
    for (std::int32_t i = 0; i < shape.peer_credits; ++i)
      pair.put(false);
    pair.near->turn();
    while (pair.far->events.puts < pair.begun)
      pair.turn();
  }
  pair.settle();
  report_calls(state, pair, before, pair.begun - 1);
}

void bare_small_work(benchmark::State& state, const SmallShape& shape) {
  const BarePair pair;
  if (!pair.far.valid()) return state.SkipWithError("no port is free");
  const std::atomic<bool> stop = false;
  const auto waiting = static_cast<std::size_t>(shape.peer_credits);
  std::vector<std::byte> messages(waiting * (kSmallBytes + shape.payload_bytes));
  while (state.KeepRunningBatch(shape.peer_credits)) {
    (void)spin_send(pair.near.get(), messages, stop);
    (void)spin_receive(pair.far.get(), messages, stop);
  }
}

// --- Bulk ---

void report_bulk(benchmark::State& state, std::uint64_t messages, double cpu) {
  const double gib = static_cast<double>(messages) * kBulkBytes / kGib;
  state.counters["value"] = benchmark::Counter(gib, benchmark::Counter::kIsRate);
  state.counters["cpu_s_per_gib"] = cpu / gib;
}

void bulk(benchmark::State& state) {
  TcpNodePair pair({}, kBulkBytes);
  if (!pair.ready()) return state.SkipWithError(kNotReady);
  std::atomic<bool> stop = false;
  const Partner partner(state, [&] {
    while (!stop.load(std::memory_order_relaxed))
      pair.far->turn();
  });
  if (!partner.ready()) return;
  const std::uint64_t before = pair.near->events.acks;
  const std::uint64_t reads = pair.far->count(DriverId::kReads);
  const std::uint64_t sends = pair.near->count(DriverId::kSends);
  const double cpu = cpu_seconds();
  for ([[maybe_unused]] auto _ : state) {
    pair.put(true);
    do {
      pair.near->turn();
    } while (pair.near->events.acks + kBulkAhead < pair.begun);
  }
  report_bulk(state, pair.near->events.acks - before, cpu_seconds() - cpu);
  while (pair.near->events.acks < pair.begun)
    pair.near->turn();
  stop = true;
  const std::uint64_t done = pair.near->events.acks - before;
  state.counters["reads_per_message"] = share(pair.far->count(DriverId::kReads) - reads, done);
  state.counters["sends_per_message"] = share(pair.near->count(DriverId::kSends) - sends, done);
  if (pair.near->events.failures > 0) state.SkipWithError("a PUT failed");
}

void bare_bulk(benchmark::State& state) {
  const BarePair pair;
  if (!pair.far.valid()) return state.SkipWithError("no port is free");
  std::atomic<bool> stop = false;
  const Partner partner(state, [&] {
    constexpr std::array<std::byte, kSmallBytes> kAnswer{};
    std::vector<std::byte> message(kSmallBytes + kBulkBytes);
    while (spin_receive(pair.far.get(), message, stop) &&
           spin_send(pair.far.get(), kAnswer, stop)) {
    }
  });
  if (!partner.ready()) return;
  const std::vector<std::byte> message(kSmallBytes + kBulkBytes, std::byte{1});
  std::array<std::byte, kSmallBytes> answer{};
  std::uint64_t sent = 0;
  std::uint64_t answered = 0;
  const double cpu = cpu_seconds();
  for ([[maybe_unused]] auto _ : state) {
    (void)spin_send(pair.near.get(), message, stop);
    for (++sent; answered + kBulkAhead < sent; ++answered)
      (void)spin_receive(pair.near.get(), answer, stop);
  }
  report_bulk(state, answered, cpu_seconds() - cpu);
  for (; answered < sent; ++answered)
    (void)spin_receive(pair.near.get(), answer, stop);
  stop = true;
}

// One thread at both ends: the CPU time of a MiB.
void bulk_work(benchmark::State& state) {
  TcpNodePair pair({}, kBulkBytes);
  if (!pair.ready()) return state.SkipWithError(kNotReady);
  for ([[maybe_unused]] auto _ : state) {
    pair.put(true);
    do {
      pair.turn();
    } while (pair.near->events.acks < pair.begun && pair.near->events.failures == 0);
  }
}

void bare_bulk_work(benchmark::State& state) {
  const BarePair pair;
  if (!pair.far.valid()) return state.SkipWithError("no port is free");
  const std::vector<std::byte> source(kSmallBytes + kBulkBytes, std::byte{1});
  std::vector<std::byte> target(source.size());
  for ([[maybe_unused]] auto _ : state) {
    std::size_t sent = 0;
    for (std::size_t got = 0; got < target.size();) {
      const auto out = ::send(pair.near.get(), source.data() + sent, source.size() - sent, 0);
      if (out > 0) sent += static_cast<std::size_t>(out);
      const auto in = ::recv(pair.far.get(), target.data() + got, target.size() - got, 0);
      if (in > 0) got += static_cast<std::size_t>(in);
    }
  }
}

void add_small(Suite& suite, const std::string& tail, const SmallShape& shape,
               std::optional<Bar> bar) {
  const std::string what = std::to_string(kSmallBytes + shape.payload_bytes) +
                           " bytes on the wire, peer_credits " + std::to_string(shape.peer_credits);
  suite.push_back({.name = "tcp.small" + tail,
                   .what = "PUTs from one core to the other, " + what,
                   .unit = "msg/s",
                   .timing = Timing::kReal,
                   .round_seconds = 0.2,
                   .bar = bar,
                   .value = [=](benchmark::State& state) { small_puts(state, shape); },
                   .floor = [=](benchmark::State& state) { bare_small_puts(state, shape); }});
  suite.push_back({.name = "tcp.small" + tail + ".work",
                   .what = "such a PUT by one thread at both ends: its CPU time",
                   .round_seconds = 0.1,
                   .value = [=](benchmark::State& state) { small_work(state, shape); },
                   .floor = [=](benchmark::State& state) { bare_small_work(state, shape); }});
}

}  // namespace

void add_benchmarks(Suite& suite) {
  add_small(suite, "", {.peer_credits = 128}, Bar{.limit = 1e6, .side = Bar::Side::kAtLeast});
  add_small(suite, ".64", {.peer_credits = 128, .payload_bytes = 64}, {});
  add_small(suite, ".default", {.peer_credits = 8}, {});
  suite.push_back({.name = "tcp.bulk",
                   .what = "1 MiB PUTs with ACK, a few under way, two threads",
                   .unit = "GiB/s",
                   .timing = Timing::kReal,
                   .round_seconds = 0.2,
                   .bar = Bar{.of = Bar::Of::kRatio, .limit = 0.9, .side = Bar::Side::kAtLeast},
                   .value = bulk,
                   .floor = bare_bulk});
  suite.push_back({.name = "tcp.bulk.work",
                   .what = "a PUT of 1 MiB by one thread at both ends: its CPU time",
                   .round_seconds = 0.1,
                   .value = bulk_work,
                   .floor = bare_bulk_work});
}

}  // namespace plnet::bench
