// SPDX-License-Identifier: BSD-3-Clause
// The overhead of the TCP driver over the system's sockets: for small messages there and back, for
// bulk, and its savings when many small messages wait.
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "bench/drivers/tcp_pair.hpp"
#include "bench/harness/harness.hpp"
#include "bench/harness/partner.hpp"

namespace plnet::bench {
namespace {

using Id = drivers::TcpTable::Id;

constexpr std::size_t kBulkBytes = std::size_t{1} << 20U;
constexpr std::uint64_t kBulkAhead = 4;  // messages under way
constexpr std::array<std::byte, kSmallBytes> kSmall{};
constexpr std::array<std::span<const std::byte>, 1> kSmallPieces{kSmall};

double share(std::uint64_t part, std::uint64_t of) {
  return of == 0 ? 0.0 : static_cast<double>(part) / static_cast<double>(of);
}

// Two threads, each at one end.
void ping_pong(benchmark::State& state, unsigned hot_reads) {
  TcpEnd near(0, hot_reads);
  TcpEnd far(0, hot_reads);
  if (!join(near, far)) return state.SkipWithError("no port is free");
  far.on_message = [&] { far.send(kSmallPieces); };
  std::atomic<bool> stop = false;
  const Partner partner(state, [&] {
    while (!stop.load(std::memory_order_relaxed))
      far.poll();
  });
  if (!partner.ready()) return;
  const std::uint64_t before = near.messages;
  const std::uint64_t reads = near.count(Id::kReads);
  for (auto _ : state) {
    const std::uint64_t next = near.messages + 1;
    near.send(kSmallPieces);
    while (near.messages < next && near.open)
      near.poll();
  }
  state.counters["reads_per_message"] =
      share(near.count(Id::kReads) - reads, near.messages - before);
  stop = true;
}

// One thread at both ends: the work without waiting.
void exchange(benchmark::State& state, unsigned hot_reads) {
  TcpEnd near(0, hot_reads);
  TcpEnd far(0, hot_reads);
  if (!join(near, far)) return state.SkipWithError("no port is free");
  far.on_message = [&] { far.send(kSmallPieces); };
  const std::uint64_t waits = near.count(Id::kEpollWaits);
  for (auto _ : state) {
    const std::uint64_t next = near.messages + 1;
    near.send(kSmallPieces);
    do {
      far.poll();
      near.poll();
    } while (near.messages < next && near.open);
  }
  state.counters["waits_per_message"] = share(near.count(Id::kEpollWaits) - waits, near.messages);
}

// A header and 1 MiB into a destination, a few messages ahead of the receiver's answers.
void bulk(benchmark::State& state) {
  TcpEnd near;
  TcpEnd far(kBulkBytes);
  if (!join(near, far)) return state.SkipWithError("no port is free");
  far.on_message = [&] { far.send(kSmallPieces); };
  std::atomic<bool> stop = false;
  const Partner partner(state, [&] {
    while (!stop.load(std::memory_order_relaxed))
      far.poll();
  });
  if (!partner.ready()) return;
  const std::vector<std::byte> payload(kBulkBytes, std::byte{1});
  const std::array<std::span<const std::byte>, 2> pieces{kSmall, payload};
  std::uint64_t sent = 0;
  for (auto _ : state) {
    near.send(pieces);
    ++sent;
    while (near.messages + kBulkAhead < sent && near.open)
      near.poll();
  }
  while (near.messages < sent && near.open)
    near.poll();
  stop = true;
  state.counters["gbit_per_s"] = benchmark::Counter(static_cast<double>(sent * kBulkBytes) * 8e-9,
                                                    benchmark::Counter::kIsRate);
  state.counters["reads_per_message"] = share(far.count(Id::kReads), sent);
  state.counters["staged_share"] = share(far.count(Id::kBytesStaged), far.count(Id::kBytesRead));
}

void bare_bulk(benchmark::State& state) {
  const BarePair pair;
  if (!pair.far.valid()) return state.SkipWithError("no port is free");
  std::atomic<bool> stop = false;
  const Partner partner(state, [&] {
    std::vector<std::byte> message(kSmallBytes + kBulkBytes);
    while (spin_receive(pair.far.get(), message, stop) && spin_send(pair.far.get(), kSmall, stop)) {
    }
  });
  if (!partner.ready()) return;
  const std::vector<std::byte> message(kSmallBytes + kBulkBytes, std::byte{1});
  std::array<std::byte, kSmallBytes> answer{};
  std::uint64_t sent = 0;
  std::uint64_t answered = 0;
  for (auto _ : state) {
    (void)spin_send(pair.near.get(), message, stop);
    for (++sent; answered + kBulkAhead < sent; ++answered)
      (void)spin_receive(pair.near.get(), answer, stop);
  }
  for (; answered < sent; ++answered)
    (void)spin_receive(pair.near.get(), answer, stop);
  stop = true;
}

// All waiting small messages leave in one call; the other end takes them from its staging buffer.
void gather(benchmark::State& state, std::size_t waiting) {
  TcpEnd near;
  TcpEnd far;
  if (!join(near, far)) return state.SkipWithError("no port is free");
  const std::vector<std::span<const std::byte>> pieces(waiting, kSmall);
  std::uint64_t sent = 0;
  while (state.KeepRunningBatch(static_cast<std::int64_t>(waiting))) {
    near.send(pieces);
    sent += waiting;
    while (far.messages < sent && far.open)
      far.poll();
  }
  state.counters["messages_per_send"] = share(sent, near.count(Id::kSends));
  state.counters["messages_per_read"] = share(sent, far.count(Id::kReads));
}

// The floor: one buffer, one send, one receive.
void bare_gather(benchmark::State& state, std::size_t waiting) {
  const BarePair pair;
  if (!pair.far.valid()) return state.SkipWithError("no port is free");
  const std::atomic<bool> stop = false;
  std::vector<std::byte> messages(waiting * kSmallBytes);
  while (state.KeepRunningBatch(static_cast<std::int64_t>(waiting))) {
    (void)spin_send(pair.near.get(), messages, stop);
    (void)spin_receive(pair.far.get(), messages, stop);
  }
}

}  // namespace

void add_benchmarks(Suite& suite) {
  for (const bool hot : {true, false}) {
    const unsigned hot_reads = hot ? drivers::TcpConfig{}.hot_reads : 0;
    const std::string how = hot ? "" : ", always asking the readiness set first";
    const std::string tail = hot ? "" : ".asking";
    suite.push_back({.name = "tcp.driver.pingpong" + tail,
                     .what = "96 bytes there and back over loopback, two threads" + how,
                     .timing = Timing::kReal,
                     .round_seconds = 0.05,
                     .value = [=](benchmark::State& state) { ping_pong(state, hot_reads); },
                     .floor = bare_ping_pong});
    suite.push_back({.name = "tcp.driver.exchange" + tail,
                     .what = "the same by one thread at both ends: the work without waiting" + how,
                     .round_seconds = 0.05,
                     .value = [=](benchmark::State& state) { exchange(state, hot_reads); },
                     .floor = bare_exchange});
  }
  suite.push_back({.name = "tcp.driver.bulk",
                   .what = "1 MiB over loopback into its destination, two threads",
                   .timing = Timing::kReal,
                   .round_seconds = 0.2,
                   .value = bulk,
                   .floor = bare_bulk});
  for (const std::size_t waiting : {std::size_t{1}, std::size_t{32}, std::size_t{1024}}) {
    suite.push_back({.name = "tcp.driver.gather." + std::to_string(waiting),
                     .what = "a 96-byte message sent and received, " + std::to_string(waiting) +
                             " waiting at a time, one thread",
                     .round_seconds = 0.05,
                     .value = [waiting](benchmark::State& state) { gather(state, waiting); },
                     .floor = [waiting](benchmark::State& state) { bare_gather(state, waiting); }});
  }
}

}  // namespace plnet::bench
