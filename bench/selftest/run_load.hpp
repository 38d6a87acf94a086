// SPDX-License-Identifier: BSD-3-Clause
// RPCs of selftest from one core to another, over any connection between the nodes of a site.
#pragma once

#include <atomic>
#include <cstdint>
#include <span>

#include "bench/harness/harness.hpp"
#include "bench/harness/line_distance.hpp"
#include "bench/harness/partner.hpp"
#include "bench/selftest/load.hpp"

namespace plnet::bench {

inline LoadShape brw(selftest::BulkOperation operation, std::uint32_t length,
                     std::uint32_t concurrency) {
  return {.service = selftest::Service::kBrw,
          .bulk = {.operation = operation, .check = selftest::Check::kNone, .length = length},
          .concurrency = concurrency};
}

inline selftest::WorkMemory memory_of(std::span<std::byte> bytes) {
  return {.at = {0, 0}, .bytes = bytes};
}

// RPCs a second, or GiB of their data, between the nodes of a site, `near` and `far`: the client's
// shard has the first CPU, the server's the second. A site with further measurements is told when
// to begin and asked for its results.
template <class Site>
void run_load(benchmark::State& state, Site& site, const LoadShape& shape) {
  if (const char* const why = site.trouble()) return state.SkipWithError(why);
  auto& near = site.near;
  auto& far = site.far;
  selftest::WorkMemory far_memory = memory_of(far.memory());
  selftest::WorkMemory near_memory = memory_of(near.memory());
  ServerLoad load(far.shard(), far_memory);
  ClientLoad client(near.shard(), {site.server()}, shape, near_memory, near.shard().core().now);
  far.set_resident(&load.server);
  near.set_resident(&client);
  std::atomic<bool> stop{false};
  LineDistance distance;
  std::uint64_t done = 0;
  {
    const Partner partner(state, [&] {
      distance.answer();
      while (!stop.load(std::memory_order_relaxed))
        far.turn();
    });
    if (!partner.ready()) return;
    state.counters["line_ns"] = distance.measure();
    client.begin(near.shard().core().now);
    for (const std::uint64_t warm = 4ULL * shape.concurrency; client.sent() < warm;)
      near.turn();
    const std::uint64_t first = client.sent();
    if constexpr (requires { site.begin(); }) site.begin();
    for ([[maybe_unused]] auto _ : state)
      near.turn();
    done = client.sent() - first;
    if constexpr (requires { site.report(state, done); }) site.report(state, done);
    client.stop();
    while (!client.idle())
      near.turn();
    stop.store(true);
  }
  load.server.close();
  while (!load.server.closed()) {
    near.turn();
    far.turn();
  }
  near.set_resident(nullptr);
  far.set_resident(nullptr);
  const bool bulk = shape.bulk.length >= (1U << 20U);
  const double each = bulk ? shape.bulk.length / (1024.0 * 1024 * 1024) : 1.0;
  state.counters["value"] =
      benchmark::Counter(static_cast<double>(done) * each, benchmark::Counter::kIsRate);
  state.counters["concurrency"] = shape.concurrency;
  if (client.failed()) state.SkipWithError("an RPC failed");
}

}  // namespace plnet::bench
