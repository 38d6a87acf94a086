// SPDX-License-Identifier: BSD-3-Clause
#include <set>

#include "drivers/net/null/device.hpp"
#include "tests/unit/drivers/lnd_rigs.hpp"

namespace plnet {
namespace {

using conformance::LndCase;
using conformance::LndConformance;
using conformance::LndRigOptions;
using drivers::NullConfig;
using drivers::NullLnd;
using drivers::NullMode;
using mocks::FakeCore;
using testrig::Memory;

INSTANTIATE_TEST_SUITE_P(Null, LndConformance,
                         testing::Values(LndCase{"echo",
                                                 [](const LndRigOptions& o) {
                                                   return std::make_unique<testrig::NullRig>(o,
                                                                                             false);
                                                 }},
                                         LndCase{"echo_placing",
                                                 [](const LndRigOptions& o) {
                                                   return std::make_unique<testrig::NullRig>(o,
                                                                                             true);
                                                 }}),
                         [](const auto& test) { return test.param.name; });
INSTANTIATE_TEST_SUITE_P(Mock, LndConformance,
                         testing::Values(LndCase{"stream",
                                                 [](const LndRigOptions& o) {
                                                   return std::make_unique<testrig::MockStreamRig>(
                                                       o);
                                                 }},
                                         LndCase{"rdma",
                                                 [](const LndRigOptions& o) {
                                                   return std::make_unique<testrig::MockRdmaRig>(o);
                                                 }}),
                         [](const auto& test) { return test.param.name; });

const lnet::Nid kHere = testrig::nid(lnet::NetType::kTcp, 1);
const lnet::Nid kThere = testrig::nid(lnet::NetType::kTcp, 2);

std::uint64_t counter(const lnet::Lnd& lnd, std::string_view name) {
  const CounterView view = lnd.counters();
  for (std::size_t i = 0; i < view.info.size(); ++i) {
    if (view.info[i].name == name) return view.value(i);
  }
  ADD_FAILURE() << "no counter " << name;
  return 0;
}

struct Node {
  explicit Node(NullConfig config, LndRigOptions options = {})
      : core([&] {
          auto made = testrig::core_config(options, memory, kHere, 0);
          made.check_bytes = false;
          return made;
        }()),
        random(options.seed),
        lnd((config.arenas = &memory.arenas, config), core, random) {
    core.attach(lnd);
  }
  Memory memory;
  FakeCore core;
  Random random;
  NullLnd lnd;
};

TEST(NullDevice, SinkCompletesInFlushAndAnswersNothing) {
  Node node({});
  node.core.put(kThere, 100, true);
  node.core.get(kThere, 100);
  node.core.turn(Instant{});
  EXPECT_TRUE(node.core.settled());
  EXPECT_EQ(node.core.tally().sent, 2U);
  EXPECT_EQ(node.core.tally().acks + node.core.tally().replies, 0U);
  EXPECT_EQ(counter(node.lnd, "sent"), 2U);
}

TEST(NullDevice, AFullDevicePushesBack) {
  Node node({.in_flight_max = 8});
  for (int i = 0; i < 20; ++i)
    node.core.put(kThere, 10, false);
  node.core.turn(Instant{});
  EXPECT_EQ(node.core.tally().accepted, 8U);
  EXPECT_EQ(counter(node.lnd, "back_pressure"), 1U);
  EXPECT_EQ(counter(node.lnd, "in_flight_max"), 8U);
  node.core.turn(Instant{});
  node.core.turn(Instant{});
  EXPECT_EQ(node.core.tally().sent, 20U);
}

TEST(NullDevice, OneFlushEndsNoMoreThanItsBudget) {
  Node node({.tx_budget = 5});
  for (int i = 0; i < 12; ++i)
    node.core.put(kThere, 0, false);
  node.core.turn(Instant{});
  EXPECT_EQ(node.core.tally().sent, 5U);
}

TEST(NullDevice, PeersBeyondTheTableWaitUntilOneIsReleased) {
  Node node({.peers_max = 1});
  node.core.put(kThere, 0, false);
  node.core.put(testrig::nid(lnet::NetType::kTcp, 3), 0, false);
  node.core.turn(Instant{});
  EXPECT_EQ(node.core.tally().accepted, 1U);
  EXPECT_GT(counter(node.lnd, "peers_exhausted"), 0U);
  node.core.release_peer(kThere);
  node.core.turn(Instant{});
  node.core.turn(Instant{});
  EXPECT_TRUE(node.core.settled());
  EXPECT_EQ(node.core.tally().sent, 2U);
}

TEST(NullDevice, EchoedReplyCarriesThePatternUpToTheSinkLength) {
  for (const bool places : {false, true}) {
    Node node({.mode = NullMode::kEcho, .places_replies = places});
    const lnet::Transmit& get = node.core.get(kThere, 100);
    node.core.turn(Instant{});
    ASSERT_TRUE(node.core.settled());
    EXPECT_EQ(node.core.tally().replies_placed, places ? 1U : 0U);
    EXPECT_EQ(node.core.tally().replies, places ? 0U : 1U);
    EXPECT_EQ(counter(node.lnd, "received_bytes"), places ? 0U : 100U);
    if (!places) continue;
    std::uint32_t position = 0;
    lnet::for_each_piece(get.sink, [&](const Fragment& piece) {
      for (const std::byte byte : node.memory.arenas.bytes(piece))
        EXPECT_EQ(byte, drivers::NullMemory::pattern(position++));
    });
    EXPECT_EQ(position, 100U);
  }
}

TEST(NullDevice, ARoutedGetNeverHasItsReplyPlaced) {
  Node node({.mode = NullMode::kEcho, .places_replies = true});
  node.core.get(kThere, 100).next_hop_is_router = true;
  node.core.turn(Instant{});
  EXPECT_EQ(node.core.tally().replies_placed, 0U);
  EXPECT_EQ(node.core.tally().replies, 1U);
}

TEST(NullDevice, MessagesBehindAParkedAnswerWaitAndExpire) {
  Node node({.mode = NullMode::kEcho}, {.park_percent = 100, .park_turns_max = 1U << 30});
  const Instant deadline = Instant{} + std::chrono::seconds(1);
  node.core.get(kThere, 10);
  node.core.get(kThere, 10, deadline);
  node.core.turn(Instant{});
  EXPECT_EQ(node.core.tally().sent, 1U);
  EXPECT_EQ(node.core.tally().parked, 1U);
  EXPECT_EQ(node.lnd.next_deadline(), deadline);
  node.core.turn(deadline);
  EXPECT_EQ(node.core.tally().failed, 1U);
  EXPECT_EQ(node.core.completions().back().health, Health::kLocalTimeout);
  node.core.resume_all();
  node.core.turn(deadline);
  EXPECT_EQ(node.core.tally().replies, 1U);
  EXPECT_TRUE(node.core.settled());
  EXPECT_EQ(node.core.breaches(), std::vector<std::string>{});
}

NullConfig source_config(unsigned peers) {
  drivers::NullSourceConfig source{.first_peer = kThere, .peers = peers, .burst = 10};
  source.header = {.destination = kHere, .type = lnet::MessageType::kPut, .payload_length = 64};
  source.header.set_area(lnet::PutArea{});
  return {.mode = NullMode::kSource, .peers_max = 8, .source = source};
}

TEST(NullDevice, TheSourceOffersABoundedBurstFromItsPeers) {
  Node node(source_config(5));
  for (int i = 0; i < 10; ++i)
    node.core.turn(Instant{});
  EXPECT_EQ(node.core.tally().puts, 100U);
  EXPECT_EQ(counter(node.lnd, "sourced"), 100U);
  EXPECT_EQ(counter(node.lnd, "received_bytes"), 6400U);
}

TEST(NullDevice, TheSourceOffersNoMoreThanItIsAllowed) {
  std::uint32_t allowance = 13;
  NullConfig config = source_config(5);
  config.source->allowance = &allowance;
  Node node(config);
  for (int i = 0; i < 3; ++i)
    node.core.turn(Instant{});
  EXPECT_EQ(node.core.tally().puts, 13U);
  EXPECT_EQ(allowance, 0U);
  allowance = 1;
  node.core.turn(Instant{});
  EXPECT_EQ(node.core.tally().puts, 14U);
}

TEST(NullDevice, AParkedMessageBlocksItsPeerOfTheSourceOnly) {
  Node node(source_config(2), {.park_percent = 100, .park_turns_max = 1U << 30});
  for (int i = 0; i < 4; ++i)
    node.core.turn(Instant{});
  EXPECT_EQ(node.core.tally().parked, 2U);
  EXPECT_EQ(counter(node.lnd, "source_blocked"), 38U);
  node.core.release_peer(kThere);
  node.core.turn(Instant{});
  EXPECT_EQ(node.core.tally().parked_gone, 1U);
  node.lnd.shut_down();
  node.core.turn(Instant{});
  EXPECT_TRUE(node.lnd.idle());
  EXPECT_TRUE(node.core.settled());
  EXPECT_EQ(node.core.breaches(), std::vector<std::string>{});
}

}  // namespace
}  // namespace plnet
