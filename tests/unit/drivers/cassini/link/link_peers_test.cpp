// SPDX-License-Identifier: BSD-3-Clause
// Peers that restart, move, fall silent or clash; cables that fail and return; unknown senders.
#include <array>
#include <cstring>
#include <set>
#include <vector>

#include <gtest/gtest.h>

#include "drivers/net/cassini/soft/link/link_layer.hpp"
#include "tests/mocks/seeds.hpp"
#include "tests/unit/drivers/cassini/link/link_rig.hpp"
#include "tests/unit/drivers/seeds.hpp"

namespace plnet::cassini::soft::link::link_peers_test {
namespace {

using drivers::for_each_seed;

TEST(LinkPeers, ARestartedPeerIsDetectedAndGetsWaitingPackets) {
  for_each_seed(30, [](std::uint64_t seed) {
    Rig rig(seed);
    Random random(seed);
    rig.cable.faults = {.loss = 0.03 * random.unit(), .overtaking = 0.2 * random.unit()};
    ASSERT_TRUE(rig.stream(1, 100, 500 * kMs));
    rig.run(random.below(300) * 1000);
    for (std::uint32_t number = 101; number <= 130; ++number)
      ASSERT_TRUE(rig[0].send(2, number));
    rig.run(random.below(30) * 1000);
    rig[1].got.clear();
    rig[1].start(2);
    ASSERT_TRUE(rig[0].send(2, 131));
    ASSERT_TRUE(rig.run_until(
        200 * kMs, [&] { return !rig[1].got[1].empty() && rig[1].got[1].back() == 131; }));
    // All packets that were not acknowledged have arrived at the end.
    const auto& got = rig[1].got[1];
    EXPECT_EQ(got, numbers(got.front(), 131));
    EXPECT_EQ(rig[0].count(LinkCount::kPeersRestarted), 1U);
    EXPECT_EQ(rig[0].count(LinkCount::kPeersDead), 0U);
  });
}

TEST(LinkPeers, ARestartedSenderIsNotTakenForItsEarlierSelf) {
  for_each_seed(30, [](std::uint64_t seed) {
    Rig rig(seed);
    rig.cable.faults = {.loss = 0.02, .duplication = 0.02, .overtaking = 0.1};
    ASSERT_TRUE(rig.stream(1, 100, 500 * kMs));
    rig[0].start(1);
    ASSERT_TRUE(rig.stream(1001, 1200, 500 * kMs));
    auto expected = numbers(1, 100);
    const auto after = numbers(1001, 1200);
    expected.insert(expected.end(), after.begin(), after.end());
    EXPECT_EQ(rig[1].got[1], expected);
  });
}

// Both nodes restart repeatedly while the cable mixes the frames of all their sessions: in the end
// they communicate, and no packet arrives that was not sent.
TEST(LinkPeers, SessionsOfManyRestartsSettle) {
  for_each_seed(100, [](std::uint64_t seed) {
    Rig rig(seed);
    Random random(seed);
    rig.cable.faults = {.loss = 0.1, .duplication = 0.2, .overtaking = 0.5, .late_ns = 400'000};
    std::uint32_t number = 1;
    for (int round = 0; round < 12; ++round) {
      for (std::uint64_t i = random.below(20); i > 0; --i)
        (void)rig[random.below(2)].send(random.chance(0.5) ? 1 : 2, number++);
      rig.run(random.below(400) * 1000);
      const std::size_t who = random.below(2);
      if (random.chance(0.4)) rig[who].start(static_cast<NicAddress>(who + 1));
    }
    rig.cable.faults = {};
    rig.run(20 * kMs);
    rig[0].got.clear();
    rig[1].got.clear();
    ASSERT_TRUE(rig.stream(900'001, 900'100, 200 * kMs));
    ASSERT_TRUE(rig[1].send(1, 900'101));
    ASSERT_TRUE(rig.run_until(
        50 * kMs, [&] { return !rig[0].got[2].empty() && rig[0].got[2].back() == 900'101; }));
    EXPECT_EQ(rig[0].damaged + rig[1].damaged, 0U);
  });
}

TEST(LinkPeers, ASilentPeerIsDeclaredDeadAndForgotten) {
  Rig rig(20);
  ASSERT_TRUE(rig.stream(1, 10, 100 * kMs));
  rig.run(10 * kMs);  // the last acknowledgement
  rig.cable.silent[rig[1].port()] = true;
  for (std::uint32_t lost = 11; lost <= 13; ++lost)
    ASSERT_TRUE(rig[0].send(2, lost));
  rig.run(400 * kMs);
  EXPECT_EQ(rig[0].count(LinkCount::kPeersDead), 0U);
  rig.run(250 * kMs);
  EXPECT_EQ(rig[0].count(LinkCount::kPeersDead), 1U);
  EXPECT_EQ(rig[0].count(LinkCount::kPacketsDropped), 3U);
  EXPECT_EQ(rig[0].count(LinkCount::kUnreachable), 0U);
  EXPECT_EQ(rig[0].layer->find_peer(2), nullptr);
  // It was running all the time and still uses the old session.
  rig.cable.silent[rig[1].port()] = false;
  ASSERT_TRUE(rig.stream(12, 20, 50 * kMs));
  EXPECT_EQ(rig[1].got[1].back(), 20U);
}

TEST(LinkPeers, PacketsWaitingAtAnAddressChangeAreCounted) {
  Rig rig(24);
  ASSERT_TRUE(rig.stream(1, 10, 100 * kMs));
  rig.run(10 * kMs);
  rig.cable.silent[rig[1].port()] = true;
  for (std::uint32_t lost = 11; lost <= 13; ++lost)
    ASSERT_TRUE(rig[0].send(2, lost));
  rig[0].layer->set_address(9);
  EXPECT_EQ(rig[0].count(LinkCount::kPacketsDropped), 3U);
  EXPECT_EQ(rig[0].count(LinkCount::kPeers), 0U);
}

TEST(LinkPeers, AnIdlePeerIsProbedAndOneThatDiesIdleIsNoticed) {
  Rig rig(21);
  ASSERT_TRUE(rig.stream(1, 10, 100 * kMs));
  rig.run(1500 * kMs);
  EXPECT_NE(rig[0].layer->find_peer(2), nullptr);
  EXPECT_EQ(rig[0].count(LinkCount::kPeersDead), 0U);
  rig.cable.silent[rig[1].port()] = true;
  rig.run(700 * kMs);
  EXPECT_EQ(rig[0].layer->find_peer(2), nullptr);
  EXPECT_EQ(rig[0].count(LinkCount::kPeersDead), 1U);
}

TEST(LinkPeers, AfterLongIdlenessTheRecordIsFreeAndNoPeerIsDead) {
  auto options = Rig::small_options();
  options.idle_ns = 1000 * kMs;
  Rig rig(22, 2, options);
  ASSERT_TRUE(rig.stream(1, 10, 100 * kMs));
  rig.run(2500 * kMs);
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(rig[static_cast<std::size_t>(i)].count(LinkCount::kPeers), 0U);
    EXPECT_EQ(rig[static_cast<std::size_t>(i)].count(LinkCount::kPeersDead), 0U);
  }
  ASSERT_TRUE(rig.stream(11, 20, 50 * kMs));
}

TEST(LinkPeers, AnUnusedAddress) {
  Rig rig(23);
  for (std::uint32_t number = 1; number <= kWindowMax; ++number)
    ASSERT_TRUE(rig[0].send(77, number));
  EXPECT_FALSE(rig[0].send(77, 0));
  rig.run(300 * kMs);
  EXPECT_FALSE(rig[0].send(77, 0)) << "it may be slow: nothing is dropped while it is looked for";
  EXPECT_EQ(rig[0].count(LinkCount::kUnreachable), 0U);
  rig.run(400 * kMs);
  EXPECT_EQ(rig[0].count(LinkCount::kUnreachable), kWindowMax) << "each packet is counted";
  EXPECT_GE(rig[0].count(LinkCount::kAsks), 5U);
  EXPECT_LE(rig[0].count(LinkCount::kAsks), 20U);
  EXPECT_EQ(rig[0].count(LinkCount::kPeers), 0U);
  EXPECT_TRUE(rig[0].send(1, 1));  // itself
  EXPECT_TRUE(rig[0].send(kEverybody, 1));
  EXPECT_EQ(rig[0].count(LinkCount::kPeers), 0U);
}

TEST(LinkPeers, WhileTheCableIsOutNothingIsSentAndNoPeerIsDead) {
  Rig rig(24);
  ASSERT_TRUE(rig.stream(1, 10, 100 * kMs));
  rig[0].layer->set_link(false, rig.cable.now_ns);
  rig[1].layer->set_link(false, rig.cable.now_ns);
  ASSERT_TRUE(rig[0].send(2, 11));
  const auto before = rig.cable.carried;
  rig.run(3000 * kMs);
  EXPECT_EQ(rig.cable.carried, before);
  rig[0].layer->set_link(true, rig.cable.now_ns);
  rig[1].layer->set_link(true, rig.cable.now_ns);
  ASSERT_TRUE(rig.stream(12, 20, 20 * kMs));
  EXPECT_EQ(rig[1].got[1], numbers(1, 20));
  EXPECT_EQ(rig[0].count(LinkCount::kPeersDead) + rig[0].count(LinkCount::kPeersRestarted), 0U);
}

TEST(LinkPeers, AProcessThatWasStoppedFindsItsPeersAlive) {
  Rig rig(25);
  ASSERT_TRUE(rig.stream(1, 10, 100 * kMs));
  rig.cable.now_ns += 5000 * kMs;
  ASSERT_TRUE(rig.stream(11, 20, 20 * kMs));
  EXPECT_EQ(rig[1].got[1], numbers(1, 20));
  EXPECT_EQ(rig[0].count(LinkCount::kPeersDead), 0U);
}

TEST(LinkPeers, APeerMayMoveToAnotherMac) {
  Rig rig(26);
  ASSERT_TRUE(rig.stream(1, 10, 100 * kMs));
  rig[1].move_to(mac_of(99));
  rig[1].start(2);  // announces itself
  ASSERT_TRUE(rig.stream(11, 20, 50 * kMs));
  EXPECT_EQ(rig[0].layer->find_peer(2)->mac, mac_of(99));
  EXPECT_EQ(rig[0].count(LinkCount::kPeersMoved), 1U);
}

TEST(LinkPeers, AnotherAddressIsAnotherPeer) {
  Rig rig(27);
  ASSERT_TRUE(rig.stream(1, 10, 100 * kMs));
  rig[1].layer->set_address(5);
  EXPECT_EQ(rig[1].count(LinkCount::kPeers), 0U);
  std::uint32_t next = 11;
  ASSERT_TRUE(rig.run_until(100 * kMs, [&] {
    for (; next <= 20; ++next)
      EXPECT_TRUE(rig[0].send(5, next));
    return rig[1].got[1].size() == 20;
  }));
  EXPECT_EQ(rig[1].got[1], numbers(1, 20));
  rig.run(1000 * kMs);
  EXPECT_EQ(rig[0].layer->find_peer(2), nullptr);
  ASSERT_TRUE(rig[1].send(1, 1));
  ASSERT_TRUE(rig.run_until(10 * kMs, [&] { return !rig[0].got[5].empty(); }));
}

TEST(LinkPeers, AClashOfAddressesIsSeenByBoth) {
  Rig rig(28, 1);
  rig.nodes.push_back(std::make_unique<Node>(rig.cable, Rig::small_options(), 1, mac_of(40)));
  rig.run(kMs);
  // Both announced themselves: the first hears the later one's announcement, and the later one the
  // first one's.
  EXPECT_GT(rig[0].count(LinkCount::kClashes), 0U);
  EXPECT_EQ(rig[0].layer->clashing(), mac_of(40));
  EXPECT_EQ(rig[1].layer->clashing(), mac_of(1));
}

TEST(LinkPeers, AFullTableMakesRoomForThoseInUseOnly) {
  auto options = Rig::small_options();
  options.peers = 2;
  Rig rig(29, 4, options);
  ASSERT_TRUE(rig[0].send(2, 1));
  ASSERT_TRUE(rig[0].send(3, 1));
  ASSERT_TRUE(rig[0].send(4, 1));  // dropped: both records are in use
  EXPECT_EQ(rig[0].count(LinkCount::kPeersExhausted), 1U);
  rig.run(200 * kMs);
  EXPECT_TRUE(rig[3].got.empty());
  ASSERT_TRUE(rig[0].send(4, 2));  // in place of 2
  ASSERT_TRUE(rig.run_until(20 * kMs, [&] { return !rig[3].got[1].empty(); }));
  EXPECT_EQ(rig[0].layer->find_peer(2), nullptr);
  EXPECT_NE(rig[0].layer->find_peer(3), nullptr);
}

TEST(LinkPeers, ADeadPeerDoesNotDelayOthers) {
  Rig rig(30, 3);
  ASSERT_TRUE(rig.stream(1, 10, 100 * kMs));
  rig.cable.silent[rig[1].port()] = true;
  for (std::uint32_t number = 0; number < 600; ++number)
    (void)rig[0].send(2, number);
  for (std::uint32_t number = 1; number <= 100; ++number)
    ASSERT_TRUE(rig[0].send(3, number));
  ASSERT_TRUE(rig.run_until(20 * kMs, [&] { return rig[2].got[1].size() == 100; }));
}

// The retry handler above is not notified: it must find all its packets at the peer.
TEST(LinkPeers, LongSilenceDropsNothing) {
  Rig rig(33);
  ASSERT_TRUE(rig.stream(1, 10, 100 * kMs));
  rig.cable.silent[rig[1].port()] = true;
  std::uint32_t next = 11;
  while (rig[0].send(2, next))
    ++next;
  rig.run(300 * kMs);
  EXPECT_FALSE(rig[0].send(2, next)) << "it would have to be dropped";
  rig.cable.silent[rig[1].port()] = false;
  ASSERT_TRUE(rig.stream(next, next + 100, 200 * kMs));
  rig.run(50 * kMs);
  EXPECT_EQ(rig[1].got[1], numbers(1, next + 100));
}

TEST(LinkPeers, ABurstAfterSilenceIsHeldBackNotDropped) {
  Rig rig(32);
  ASSERT_TRUE(rig.stream(1, 10, 100 * kMs));
  rig.run(90 * kMs);
  for (std::uint32_t number = 11; number <= 10 + kWindowMax; ++number)
    ASSERT_TRUE(rig[0].send(2, number));
  EXPECT_FALSE(rig[0].send(2, 0));
  ASSERT_TRUE(rig.run_until(20 * kMs, [&] { return rig[1].got[1].size() == 10 + kWindowMax; }));
  EXPECT_EQ(rig[0].count(LinkCount::kUnreachable), 0U);
}

TEST(LinkPeers, ManyToOneAllComes) {
  Rig rig(31, 6);
  rig.cable.faults = {.loss = 0.02, .overtaking = 0.05};
  std::array<std::uint32_t, 6> next{};
  ASSERT_TRUE(rig.run_until(2000 * kMs, [&] {
    bool all = true;
    for (std::size_t i = 1; i < 6; ++i) {
      while (next[i] < 400 && rig[i].send(1, next[i]))
        ++next[i];
      all = all && rig[0].got[static_cast<NicAddress>(i + 1)].size() >= 400;
    }
    return all;
  }));
  for (NicAddress from = 2; from <= 6; ++from)
    EXPECT_EQ(rig[0].got[from], numbers(0, 399));
}

TEST(LinkPeers, FramesOfStrangersNeverBreakAnything) {
  for_each_seed(mocks::has_few_seeds() ? 20 : 200, [](std::uint64_t seed) {
    Rig rig(seed);
    Random random(seed);
    ASSERT_TRUE(rig.stream(1, 20, 100 * kMs));
    // Complete frames with a valid checksum and arbitrary fields, many of them nearly correct.
    const Peer& peer = *rig[1].layer->find_peer(1);
    for (int i = 0; i < 200; ++i) {
      std::vector<std::byte> payload(random.below(80));
      for (auto& byte : payload)
        byte = static_cast<std::byte>(random.next());
      const auto near = [&](std::uint32_t value) {
        return random.chance(0.7) ? value + static_cast<std::uint32_t>(random.below(5))
                                  : static_cast<std::uint32_t>(random.next());
      };
      const Frame frame{.destination_mac = mac_of(2),
                        .source_mac = random.chance(0.5) ? mac_of(1) : mac_of(3),
                        .type = static_cast<FrameType>(random.between(1, 8)),
                        .flags = static_cast<std::uint16_t>(random.below(4)),
                        .destination = random.chance(0.9) ? 2U : kEverybody,
                        .source = static_cast<NicAddress>(random.between(0, 12)),
                        .destination_epoch = random.chance(0.8) ? peer.own_epoch : 7,
                        .source_epoch = random.chance(0.8) ? peer.peer_epoch : 9,
                        .sequence = near(peer.receive.next()),
                        .ack = near(peer.send.first()),
                        .sent_at = static_cast<std::uint32_t>(random.next()),
                        .echo = static_cast<std::uint32_t>(random.next())};
      std::vector<std::byte> bytes(kFrameHeaderBytes + payload.size());
      if (!payload.empty())
        std::memcpy(bytes.data() + kFrameHeaderBytes, payload.data(), payload.size());
      encode_frame(frame, payload.size(), payload_checksum(payload),
                   std::span(bytes).first<kFrameHeaderBytes>());
      rig[1].layer->receive(bytes, rig.cable.now_ns, rig[1]);
      if (random.chance(0.2)) rig.run(random.below(20) * 1000);
    }
    EXPECT_LE(rig[1].count(LinkCount::kPeers), 8U);
    // A peer that greets gets through once records of peers that never existed are evicted.
    rig.run(700 * kMs);
    rig[0].start(1);
    ASSERT_TRUE(rig[0].send(2, 777));
    ASSERT_TRUE(rig.run_until(100 * kMs, [&] { return rig[1].got[1].back() == 777; }));
  });
}

}  // namespace
}  // namespace plnet::cassini::soft::link::link_peers_test
