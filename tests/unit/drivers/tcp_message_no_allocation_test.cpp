// SPDX-License-Identifier: BSD-3-Clause
// A message through the core, the TCP LND and its driver over real sockets allocates nothing.
#include <cstdint>

#include <gtest/gtest.h>

#include "bench/tcp/node.hpp"
#include "tests/unit/drivers/counting_new.hpp"

namespace plnet::bench {
namespace {

using testrig::heap_calls_of;
using testrig::HeapCalls;

constexpr unsigned kTurnsMax = 10'000'000;

// Keeps `depth` messages in flight until `count` have been answered.
void put_many(TcpNodePair& pair, std::uint64_t count, std::uint64_t depth) {
  const std::uint64_t last = pair.begun + count;
  const auto& acks = pair.near->events.acks;
  for (unsigned turns = 0; turns < kTurnsMax && acks < last; ++turns) {
    while (pair.begun < last && pair.begun - acks < depth)
      pair.put(true);
    pair.turn();
  }
}

class TcpMessageNoAllocation : public testing::TestWithParam<std::uint32_t> {};

TEST_P(TcpMessageNoAllocation, APutAndItsAckInAnyNumber) {
  TcpNodePair pair({.reserved_ports = false}, GetParam());
  if (!pair.ready()) GTEST_SKIP() << "no port is free";
  put_many(pair, 64, 32);  // warm-up: allocations of the first use
  const std::uint64_t before = pair.far->events.puts;
  const HeapCalls calls = heap_calls_of([&] {
    put_many(pair, 100, 1);
    put_many(pair, 200, 64);
  });
  EXPECT_EQ(calls, HeapCalls{});
  EXPECT_EQ(pair.far->events.puts - before, 300U);
  EXPECT_EQ(pair.near->events.acks, pair.begun);
  EXPECT_EQ(pair.near->events.failures + pair.far->events.failures, 0U);
}

INSTANTIATE_TEST_SUITE_P(Sizes, TcpMessageNoAllocation,
                         testing::Values(0U, 64U, 5000U, std::uint32_t{1} << 20U));

}  // namespace
}  // namespace plnet::bench
