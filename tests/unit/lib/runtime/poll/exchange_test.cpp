// SPDX-License-Identifier: BSD-3-Clause
#include "lib/runtime/poll/exchange.hpp"

#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "lib/runtime/poll/orders.hpp"

namespace plnet::runtime {
namespace {

using std::chrono::nanoseconds;

// A node of several shards, stepped by hand.
class HandNode {
 public:
  explicit HandNode(unsigned shards) {
    std::vector<Exchange::Place> places;
    for (unsigned i = 0; i < shards; ++i) {
      pollers_.push_back(std::make_unique<Poller>(clock, PollerOptions{.name = "s", .shard = i}));
      raw.push_back(pollers_.back().get());
      places.push_back({&raw[i]->doorbell(), &raw[i]->counters_owner()});
    }
    exchange = std::make_unique<Exchange>(clock, places);
    for (unsigned i = 0; i < shards; ++i)
      EXPECT_TRUE(raw[i]->add_owner(exchange->shard(i)));
  }

  void turns(unsigned rounds) {
    for (unsigned round = 0; round < rounds; ++round) {
      for (Poller* poller : raw) {
        clock.advance(nanoseconds(100));
        poller->turn(clock.now());
      }
      expect_conserved();
    }
    for (Poller* poller : raw)
      poller->commands().drain();
  }
  void expect_conserved() const {
    const TokenCensus census = exchange->census();
    EXPECT_EQ(census.at_home + census.waiting + census.in_rings, census.made);
  }
  [[nodiscard]] Outcome<void> reset() {
    return order_all(raw, [this](std::size_t i) {
      return make_command(exchange->reset_work(static_cast<unsigned>(i)));
    });
  }
  [[nodiscard]] std::size_t abroad() const {
    const TokenCensus census = exchange->census();
    return census.made - census.at_home;
  }

  ManualClock clock;
  std::vector<Poller*> raw;
  std::unique_ptr<Exchange> exchange;

 private:
  std::vector<std::unique_ptr<Poller>> pollers_;
};

class ExchangeTest : public ::testing::TestWithParam<unsigned> {};

TEST_P(ExchangeTest, TokensAreConservedAndComeHome) {
  const unsigned shards = GetParam();
  const std::size_t pairs = shards == 1 ? 1 : std::size_t{shards} * (shards - 1);
  HandNode node(shards);
  EXPECT_TRUE(node.exchange->drained());
  node.turns(3);
  EXPECT_EQ(node.abroad(), 0U) << "off from the start";

  ASSERT_TRUE(node.exchange->apply({.enable = true, .in_flight = 32}, node.raw));
  node.turns(50);
  EXPECT_EQ(node.abroad(), pairs * 32);
  EXPECT_FALSE(node.exchange->drained());
  const auto rows = node.exchange->summary();
  ASSERT_EQ(rows.size(), pairs);
  for (const HopSummary& row : rows) {
    EXPECT_GT(row.hops, 0U) << row.from << " to " << row.to;
    EXPECT_GE(row.max_nsec, row.p99_nsec);
    EXPECT_GE(row.p99_nsec, row.p50_nsec);
    EXPECT_GE(row.p50_nsec, 100U) << "at least a step of the clock";
    // A receiver takes one burst in each turn: at worst all tokens, 32 per pair, were before this
    // one.
    EXPECT_LE(row.max_nsec, 100U * shards * (pairs + 1));
  }

  // Fewer, then none.
  ASSERT_TRUE(node.exchange->apply({.enable = true, .in_flight = 3}, node.raw));
  node.turns(200);
  EXPECT_EQ(node.abroad(), pairs * 3);
  ASSERT_TRUE(node.exchange->apply({.enable = false}, node.raw));
  node.turns(50);
  EXPECT_EQ(node.abroad(), 0U);
  EXPECT_TRUE(node.exchange->drained());
}

TEST_P(ExchangeTest, TheFullPoolWorksToo) {
  HandNode node(GetParam());
  const unsigned most =
      static_cast<unsigned>(Exchange::kTokensPerShard) / std::max(GetParam() - 1, 1U);
  ASSERT_TRUE(node.exchange->apply({.enable = true, .in_flight = most}, node.raw));
  node.turns(200);
  EXPECT_GE(node.abroad() + GetParam() * GetParam(), node.exchange->census().made);
  ASSERT_TRUE(node.exchange->apply({}, node.raw));
  node.turns(1000);
  EXPECT_TRUE(node.exchange->drained());
  EXPECT_EQ(node.abroad(), 0U);
}

// Shard 0 has its tokens on the node of its CPU, shard 1 on another one.
TEST(Exchange, TokensOnAnotherNodeThanTheCpuAreCounted) {
  ManualClock clock;
  Poller near(clock, {.name = "near", .shard = 0});
  Poller far(clock, {.name = "far", .shard = 1});
  struct alignas(4096) Memory {
    std::array<std::byte, kExchangeBytesPerShard> bytes;
  };
  const auto memory = std::make_unique<std::array<Memory, 2>>();
  const std::array<ExchangePlace, 2> places{
      ExchangePlace{&near.doorbell(), &near.counters_owner(), 0, 0, (*memory)[0].bytes},
      ExchangePlace{&far.doorbell(), &far.counters_owner(), 0, 1, (*memory)[1].bytes}};
  Exchange exchange(clock, places);
  const std::array<Poller*, 2> pollers{&near, &far};
  ASSERT_TRUE(near.add_owner(exchange.shard(0)));
  ASSERT_TRUE(far.add_owner(exchange.shard(1)));
  ASSERT_TRUE(exchange.apply({.enable = true, .in_flight = 2}, pollers));
  for (int round = 0; round < 100; ++round) {
    near.turn(clock.now());
    far.turn(clock.now());
  }
  const auto total = [&](PollerCounter id) {
    return near.counters().get(id) + far.counters().get(id);
  };
  EXPECT_GT(total(PollerCounter::kRemoteBuffers), 0U);
  EXPECT_LT(total(PollerCounter::kRemoteBuffers), total(PollerCounter::kHopsIn));
  EXPECT_EQ(total(PollerCounter::kTokens), total(PollerCounter::kHopsIn));
  EXPECT_EQ(exchange.census().made, 2 * kExchangeTokensPerShard);
}

INSTANTIATE_TEST_SUITE_P(Shards, ExchangeTest, ::testing::Values(1U, 2U, 3U, 4U));

TEST(Exchange, HopsAreCountedOnBothSides) {
  HandNode node(2);
  ASSERT_TRUE(node.exchange->apply({.enable = true, .in_flight = 4}, node.raw));
  node.turns(20);
  ASSERT_TRUE(node.exchange->apply({}, node.raw));
  node.turns(20);
  ASSERT_TRUE(node.exchange->drained());
  std::uint64_t in = 0;
  std::uint64_t out = 0;
  std::uint64_t hops = 0;
  for (const Poller* poller : node.raw) {
    in += poller->counters().get(PollerCounter::kHopsIn);
    out += poller->counters().get(PollerCounter::kHopsOut);
  }
  for (const HopSummary& row : node.exchange->summary())
    hops += row.hops;
  EXPECT_GT(in, 0U);
  EXPECT_EQ(in, out);
  EXPECT_EQ(in, hops);
}

TEST(Exchange, FiguresStartAgainAndGiveRates) {
  HandNode node(2);
  ASSERT_TRUE(node.exchange->apply({.enable = true, .in_flight = 1}, node.raw));
  node.turns(10);
  const auto before = node.exchange->summary();
  const Instant from = node.clock.now();
  node.turns(10);
  const auto after = node.exchange->summary();
  const auto rates = hop_rates(before, after, node.clock.now() - from);
  ASSERT_EQ(rates.size(), 2U);
  EXPECT_NEAR(rates[0], static_cast<double>(after[0].hops - before[0].hops) / 2e-6, 1);
  EXPECT_GT(rates[0], 0);
  ASSERT_TRUE(node.exchange->apply({}, node.raw));
  node.turns(10);
  ASSERT_TRUE(node.reset());
  node.turns(1);
  EXPECT_EQ(node.exchange->summary()[0].hops, 0U);
  EXPECT_EQ(node.exchange->summary()[1].max_nsec, 0U);
  EXPECT_EQ(hop_rates(after, after, Duration::zero())[0], 0);
}

TEST(Exchange, RefusesOrdersBeyondItsTokens) {
  HandNode node(4);
  const unsigned most = Exchange::kTokensPerShard / 3;
  EXPECT_TRUE(node.exchange->validate({.in_flight = most}));
  const auto refused = node.exchange->apply({.enable = true, .in_flight = most + 1}, node.raw);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::kOutOfRange);
  EXPECT_NE(refused.error().what.find("expected 1 to 1365"), std::string::npos);
  EXPECT_FALSE(node.exchange->validate({.work = std::chrono::seconds(1)}));
  EXPECT_FALSE(node.exchange->validate({.work = nanoseconds(-1)}));
}

TEST(Exchange, OrdersThatAreDoneMakeRoomForMore) {
  HandNode node(2);
  for (unsigned i = 0; i < 2 * CommandChannel::kCommandsMax; ++i) {
    ASSERT_TRUE(node.exchange->apply({.in_flight = 1 + i % 2}, node.raw)) << i;
    for (Poller* poller : node.raw)
      poller->turn(node.clock.now());  // the queue is not drained
  }
}

TEST(Exchange, AnOrderGoesToAllShardsOrToNone) {
  HandNode node(2);
  for (std::size_t i = 0; i < CommandChannel::kCommandsMax; ++i)
    ASSERT_TRUE(node.raw[1]->commands().submit(make_command([] {})));
  const auto refused = node.exchange->apply({.enable = true}, node.raw);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::kAgain);
  EXPECT_NE(refused.error().what.find("nothing was changed"), std::string::npos);
  EXPECT_EQ(node.raw[0]->commands().outstanding(), 0U);
}

// The first enabling allocates the histograms; commands that read them must not be in flight.
TEST(Exchange, ResetsWaitForHistograms) {
  HandNode node(2);
  ASSERT_TRUE(node.reset());
  ASSERT_TRUE(node.exchange->apply({.enable = true, .in_flight = 1}, node.raw));
  node.turns(10);
  EXPECT_GT(node.exchange->summary()[0].hops, 0U);
}

TEST(Exchange, FiguresOfAllShardsStartAgainOrThoseOfNone) {
  HandNode node(2);
  ASSERT_TRUE(node.exchange->apply({.enable = true, .in_flight = 1}, node.raw));
  node.turns(10);
  for (std::size_t i = 0; i < CommandChannel::kCommandsMax; ++i)
    ASSERT_TRUE(node.raw[1]->commands().submit(make_command([] {})));
  const std::uint64_t hops = node.exchange->summary()[1].hops;
  const auto refused = node.reset();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::kAgain);
  EXPECT_EQ(node.raw[0]->commands().outstanding(), 0U);
  node.raw[0]->turn(node.clock.now());
  EXPECT_GE(node.exchange->summary()[1].hops, hops);
  // Room for one command is enough for a whole reset.
  node.turns(1);
  for (std::size_t i = 1; i < CommandChannel::kCommandsMax; ++i)
    ASSERT_TRUE(node.raw[1]->commands().submit(make_command([] {})));
  EXPECT_TRUE(node.reset());
}

// A clock that stands still must not make the simulated work endless.
TEST(Exchange, PretendedWorkIsBounded) {
  HandNode node(2);
  ASSERT_TRUE(node.exchange->apply(
      {.enable = true, .in_flight = 2, .work = std::chrono::microseconds(5)}, node.raw));
  node.turns(10);
  EXPECT_GT(node.exchange->summary()[0].hops, 0U);
}

}  // namespace
}  // namespace plnet::runtime
