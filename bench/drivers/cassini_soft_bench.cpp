// SPDX-License-Identifier: BSD-3-Clause
// The throughput of the software Cassini, used as by kfilnd: small messages into multi-receive
// buffers and 1 MiB of bulk by tag, between two NICs of this process. Validation is always on; the
// freedom of order is off.
#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

#include "bench/drivers/cassini_packet_pair.hpp"
#include "bench/drivers/cassini_soft_pair.hpp"
#include "bench/harness/harness.hpp"
#include "bench/harness/line_distance.hpp"
#include "bench/harness/partner.hpp"
#include "lib/runtime/poll/tsc_clock.hpp"

namespace plnet::bench {
namespace {

constexpr std::size_t kSmallBytes = 64;
constexpr std::uint64_t kSmallMessages = 400'000;
constexpr unsigned kWindow = 256;  // small messages under way
constexpr std::size_t kBulkBytes = 1U << 20U;
constexpr unsigned kPieces = 64;  // at either end: more than any cache holds
constexpr unsigned kBulkWindow = 4;

// Sends and receives this number of messages, each with its number; `turn` steps the NICs if this
// thread has to. Ends with everything received, acknowledged and counted.
template <class Turn>
bool stream(SoftPair& pair, runtime::TscClock& clock, std::uint64_t messages, Turn turn) {
  SoftEnd& near = pair.near;
  SoftEnd& far = pair.far;
  near.ended = far.received = far.sum = 0;
  std::array<std::byte, kSmallBytes> bytes{};
  std::uint64_t sent = 0;
  while (far.received < messages || near.ended < messages) {
    while (sent < messages && sent - near.ended < kWindow) {
      std::memcpy(bytes.data(), &sent, sizeof sent);
      if (!near.endpoint().send(pair.to_far, bytes, {}, sent)) break;
      ++sent;
    }
    turn();
    pair.poll(clock.now());
    if (near.failed + far.failed != 0) return false;
  }
  return near.ended == messages && far.received == messages &&
         far.sum == messages * (messages - 1) / 2;
}

void report_rate(benchmark::State& state, const runtime::TscClock& clock, std::uint64_t cycles) {
  const double messages =
      static_cast<double>(kSmallMessages) * static_cast<double>(state.iterations());
  state.counters["value"] = messages * clock.cycles_per_second() / static_cast<double>(cycles);
  state.counters["cycles_per_message"] = static_cast<double>(cycles) / messages;
}

// One core for both NICs, one for both endpoints.
void rate(benchmark::State& state) {
  SoftPair pair;
  runtime::TscClock clock;
  LineDistance distance;
  std::atomic<bool> stop{false};
  double line_ns = 0;
  std::uint64_t cycles = 0;
  {
    const Partner nics(state, [&] {
      distance.answer();
      while (!stop.load(std::memory_order_relaxed))
        pair.step();
    });
    if (!nics.ready()) return;
    line_ns = distance.measure();
    while (state.KeepRunning()) {
      const std::uint64_t before = clock.cycles();
      if (!stream(pair, clock, kSmallMessages, [] {})) state.SkipWithError("not all arrived");
      cycles += clock.cycles() - before;
    }
    stop.store(true, std::memory_order_relaxed);
  }
  report_rate(state, clock, cycles);
  state.counters["line_ns"] = line_ns;
}

// One core for everything.
void rate_inline(benchmark::State& state) {
  SoftPair pair;
  runtime::TscClock clock;
  std::uint64_t cycles = 0;
  while (state.KeepRunning()) {
    const std::uint64_t before = clock.cycles();
    if (!stream(pair, clock, kSmallMessages, [&] { pair.step(); }))
      state.SkipWithError("not all arrived");
    cycles += clock.cycles() - before;
  }
  report_rate(state, clock, cycles);
}

// Uses all memory piece by piece, so that none of it is in a cache.
template <class Pair>
struct BulkPair : Pair {
  using Pair::far;
  using Pair::near;
  using Pair::to_far;
  using Pair::to_near;

  BulkPair() : Pair(kPieces * kBulkBytes) {
    std::ranges::fill(near.bulk(), std::byte{1});
    std::ranges::fill(far.bulk(), std::byte{2});
  }
  static Fragment piece(std::uint64_t number) {
    return {{0, SoftEnd::kBulkFrom + number % kPieces * kBulkBytes}, kBulkBytes};
  }
  // The near end posts its piece, the far end reads from it or writes to it.
  bool post(std::uint64_t number, bool reads) {
    const Fragment fragment = piece(number);
    const lnet::Payload payload{{&fragment, 1}, 0, kBulkBytes};
    const auto tag = static_cast<kfilnd::Tag>(number & 0xffffU);
    if (!near.endpoint().post_tagged(to_far, tag, reads, payload, number)) return false;
    if (reads) return far.endpoint().read_tagged(to_near, tag, payload, number).has_value();
    return far.endpoint().write_tagged(to_near, tag, payload, number).has_value();
  }
  static BulkPair& get() {  // made once, since it is large
    static BulkPair pair;
    return pair;
  }
};

void report_bytes(benchmark::State& state) {
  const auto bytes = static_cast<double>(state.iterations()) * static_cast<double>(kBulkBytes);
  state.counters["value"] = benchmark::Counter(bytes / (1U << 20), benchmark::Counter::kIsRate);
}

template <class Pair>
void bulk(benchmark::State& state, bool reads) {
  auto& pair = BulkPair<Pair>::get();
  runtime::TscClock clock;
  pair.near.ended = pair.far.ended = 0;
  std::uint64_t posted = 0;
  const auto turn = [&] {
    pair.step();
    pair.poll(clock.now());
  };
  while (state.KeepRunning()) {
    while (posted - std::min(pair.near.ended, pair.far.ended) >= kBulkWindow)
      turn();
    // A GET may come before its entry: the driver then repeats it.
    if (!pair.post(posted++, reads)) state.SkipWithError("pushed back");
    turn();
  }
  while (std::min(pair.near.ended, pair.far.ended) < posted &&
         pair.near.failed + pair.far.failed == 0)
    turn();
  if (pair.near.failed + pair.far.failed != 0) state.SkipWithError("a transfer has failed");
  report_bytes(state);
}

// The same accesses to the same memory.
template <class Pair>
void bulk_floor(benchmark::State& state, bool reads) {
  auto& pair = BulkPair<Pair>::get();
  std::byte* const near = pair.near.bulk().data();
  std::byte* const far = pair.far.bulk().data();
  std::size_t at = 0;
  while (state.KeepRunning()) {
    std::memcpy((reads ? far : near) + at, (reads ? near : far) + at, kBulkBytes);
    benchmark::ClobberMemory();
    at = (at + kBulkBytes) % (kPieces * kBulkBytes);
  }
  report_bytes(state);
}

template <class Pair>
void add_bulk(Suite& suite, const std::string& name, const std::string& how, double bar) {
  for (const bool reads : {true, false}) {
    suite.push_back(
        {.name = name + (reads ? ".read" : ".write"),
         .what = std::string("1 MiB ") + (reads ? "read from" : "written into") +
                 " a peer's tagged buffer " + how +
                 ", everything on one core; floor: memcpy of as much, neither in a "
                 "cache",
         .unit = "MiB/s",
         .round_seconds = 0.05,
         .bar = Bar{.of = Bar::Of::kRatio, .limit = bar, .side = Bar::Side::kAtLeast},
         .value = [reads](benchmark::State& state) { bulk<Pair>(state, reads); },
         .floor = [reads](benchmark::State& state) { bulk_floor<Pair>(state, reads); }});
  }
}

}  // namespace

void add_benchmarks(Suite& suite) {
  suite.push_back({.name = "cassini.soft.rate",
                   .what =
                       "messages of 64 bytes a second between two software Cassinis, completions "
                       "at both ends; one core for the NICs, one for both endpoints",
                   .unit = "messages/s",
                   .timing = Timing::kReal,
                   .round_seconds = 0.1,
                   .bar = Bar{.limit = 2e6, .side = Bar::Side::kAtLeast},
                   .value = rate});
  suite.push_back({.name = "cassini.soft.rate.inline",
                   .what = "the same with everything on one core",
                   .unit = "messages/s",
                   .round_seconds = 0.1,
                   .value = rate_inline});
  add_bulk<SoftPair>(suite, "cassini.soft.bulk", "in one piece", 0.7);
  add_bulk<PacketPair>(suite, "cassini.soft.packets", "in packets of 8 KiB", 0.4);
}

}  // namespace plnet::bench
