// SPDX-License-Identifier: BSD-3-Clause
// Packets over a bad cable: all arrive once and in order.
#include "drivers/net/cassini/soft/link/link_layer.hpp"

#include <algorithm>
#include <array>
#include <vector>

#include <gtest/gtest.h>

#include "tests/unit/drivers/cassini/link/link_rig.hpp"
#include "tests/unit/drivers/seeds.hpp"

namespace plnet::cassini::soft::link::link_layer_test {
namespace {

using drivers::for_each_seed;

TEST(LinkLayer, FindsThePeerAndTheFirstPacketArrives) {
  Rig rig(1);
  ASSERT_TRUE(rig[0].send(2, 7));
  ASSERT_TRUE(rig.run_until(kMs, [&] { return !rig[1].got[1].empty(); }));
  EXPECT_EQ(rig[1].got[1], numbers(7, 7));
  rig.run(10 * kMs);
  EXPECT_EQ(rig[0].count(LinkCount::kAsks), 1U);
  EXPECT_EQ(rig[0].count(LinkCount::kResent), 0U);
  EXPECT_TRUE(rig[0].layer->find_peer(2)->send.empty());
  EXPECT_EQ(rig[0].layer->clashing(), std::nullopt);
}

TEST(LinkLayer, AGoodCableNeedsNoPacketTwice) {
  Rig rig(2);
  ASSERT_TRUE(rig.stream(1, 5000, 1000 * kMs));
  EXPECT_EQ(rig[1].got[1], numbers(1, 5000));
  EXPECT_EQ(rig[0].count(LinkCount::kResent), 0U);
  EXPECT_EQ(rig[0].count(LinkCount::kTimeouts), 0U);
  EXPECT_EQ(rig[1].count(LinkCount::kDuplicates), 0U);
  EXPECT_GT(rig[0].count(LinkCount::kBackPressure), 0U);
  EXPECT_LT(rig[1].count(LinkCount::kAcksOut), 5000U / 4);
}

TEST(LinkLayer, BothWaysAtOnceAcknowledgementsRideOnData) {
  Rig rig(3);
  std::uint32_t next = 1;
  ASSERT_TRUE(rig.run_until(1000 * kMs, [&] {
    for (; next <= 3000 && rig[0].send(2, next) && rig[1].send(1, next); ++next) {
    }
    return rig[0].got[2].size() >= 3000 && rig[1].got[1].size() >= 3000;
  }));
  EXPECT_LT(rig[1].count(LinkCount::kAcksOut), 100U);
}

TEST(LinkLayer, AllArrivesInOrderOverABadCable) {
  for_each_seed(40, [](std::uint64_t seed) {
    Rig rig(seed);
    Random random(seed);
    rig.cable.faults = {.loss = 0.1 * random.unit(),
                        .duplication = 0.1 * random.unit(),
                        .damage = 0.05 * random.unit(),
                        .overtaking = 0.3 * random.unit(),
                        .late_ns = random.between(1'000, 100'000)};
    ASSERT_TRUE(rig.stream(1, 2000, 2000 * kMs));
    EXPECT_EQ(rig[1].got[1], numbers(1, 2000));
    EXPECT_EQ(rig[1].damaged, 0U);
    EXPECT_EQ(rig[0].count(LinkCount::kPeersDead), 0U);
    EXPECT_EQ(rig[0].count(LinkCount::kPeersRestarted), 0U);
  });
}

TEST(LinkLayer, EvenAThirdLostOnlyTakesLonger) {
  for_each_seed(5, [](std::uint64_t seed) {
    Rig rig(seed);
    rig.cable.faults.loss = 0.33;
    ASSERT_TRUE(rig.stream(1, 500, 4000 * kMs));
    EXPECT_EQ(rig[1].got[1], numbers(1, 500));
    EXPECT_GT(rig[0].count(LinkCount::kBackoffs), 0U);
  });
}

TEST(LinkLayer, OvertakingAloneIsLearnt) {
  Rig rig(6);
  rig.cable.faults.overtaking = 0.2;
  rig.cable.faults.late_ns = 8'000;
  ASSERT_TRUE(rig.stream(1, 2000, 1000 * kMs));
  const auto first = rig[0].count(LinkCount::kResent);
  ASSERT_TRUE(rig.stream(2001, 20'000, 8000 * kMs));
  EXPECT_EQ(rig[1].got[1], numbers(1, 20'000));
  EXPECT_LT(rig[0].count(LinkCount::kResent) - first, 18'000U / 50);
}

TEST(LinkLayer, ACableThatDamagesEverythingPassesNothingUp) {
  Rig rig(7);
  rig.cable.faults.damage = 1;
  ASSERT_TRUE(rig[0].send(2, 1));
  rig.run(1000 * kMs);
  EXPECT_TRUE(rig[1].got.empty());
  EXPECT_GT(rig[1].count(LinkCount::kBadChecksum) + rig[1].count(LinkCount::kForeign), 0U);
  EXPECT_EQ(rig[0].count(LinkCount::kUnreachable), 1U);
  EXPECT_EQ(rig[0].count(LinkCount::kPeers), 0U);
}

TEST(LinkLayer, OnePercentLossCostsLittle) {
  const auto time_of = [](double loss) {
    Rig rig(8);
    rig.cable.faults = {.loss = loss, .frame_ns = 350};  // 1 kB at 25 Gbit/s
    EXPECT_TRUE(rig.stream(1, 200, 1000 * kMs, 1000));
    const std::uint64_t start = rig.cable.now_ns;
    EXPECT_TRUE(rig.stream(201, 40'200, 60'000 * kMs, 1000));
    return rig.cable.now_ns - start;
  };
  const std::uint64_t good = time_of(0);
  const std::uint64_t bad = time_of(0.01);
  EXPECT_GE(good * 100, bad * 80) << good << " ns without, " << bad << " ns with loss";
}

// Six senders to one port with a short queue: each gets its turn, and few frames are sent in vain.
TEST(LinkLayer, CongestionBacksOff) {
  Rig rig(15, 7);
  rig.cable.faults = {.frame_ns = 1'000, .queue_ns = 60'000};
  constexpr std::uint64_t kEach = 8'000;
  std::array<std::uint32_t, 7> next{};
  const std::uint64_t start = rig.cable.now_ns;
  ASSERT_TRUE(rig.run_until(2000 * kMs, [&] {
    bool all = true;
    for (std::size_t i = 1; i < 7; ++i) {
      while (next[i] < kEach && rig[i].send(1, next[i], 900))
        ++next[i];
      all = all && rig[0].got[static_cast<NicAddress>(i + 1)].size() >= kEach;
    }
    return all;
  }));
  const std::uint64_t least_ns = 6 * kEach * rig.cable.faults.frame_ns;
  EXPECT_LE(rig.cable.now_ns - start, least_ns * 13 / 10);
  std::uint64_t resent = 0;
  std::uint64_t smaller = 0;
  for (std::size_t i = 1; i < 7; ++i) {
    resent += rig[i].count(LinkCount::kResent);
    smaller += rig[i].count(LinkCount::kBackoffs);
  }
  EXPECT_GT(smaller, 6U);
  EXPECT_LE(resent, 6 * kEach / 6) << "of " << 6 * kEach;
}

TEST(LinkLayer, SmallMessagesAreQuickAtOnePercentLoss) {
  Rig rig(9);
  rig.cable.faults.loss = 0.01;
  ASSERT_TRUE(rig.stream(1, 10, 100 * kMs));
  std::vector<std::uint64_t> times;
  rig[1].on_number = [&](NicAddress from, std::uint32_t number) {
    EXPECT_TRUE(rig[1].send(from, number));
  };
  for (std::uint32_t number = 11; number < 3000; ++number) {
    const std::size_t before = rig[0].got[2].size();
    const std::uint64_t start = rig.cable.now_ns;
    ASSERT_TRUE(rig[0].send(2, number));
    ASSERT_TRUE(rig.run_until(100 * kMs, [&] { return rig[0].got[2].size() > before; }));
    times.push_back(rig.cable.now_ns - start);
  }
  std::ranges::sort(times);
  EXPECT_LE(times[times.size() / 2], 20'000U);
  EXPECT_LE(times[times.size() * 99 / 100], kMs);
}

TEST(LinkLayer, APortThatTakesLittleOnlyDelays) {
  Rig rig(10);
  std::uint32_t next = 1;
  Random random(10);
  ASSERT_TRUE(rig.run_until(2000 * kMs, [&] {
    rig[0].frames_left = random.below(3);
    rig[1].frames_left = random.below(2);
    while (next <= 1000 && rig[0].send(2, next))
      ++next;
    return rig[1].got[1].size() >= 1000;
  }));
  EXPECT_EQ(rig[1].got[1], numbers(1, 1000));
}

TEST(LinkLayer, AStoreThatIsFullCostsTimeNotPackets) {
  auto options = Rig::small_options();
  options.store_packets = 2;
  Rig rig(11, 2, options);
  rig.cable.faults.loss = 0.05;
  ASSERT_TRUE(rig.stream(1, 2000, 8000 * kMs));
  EXPECT_EQ(rig[1].got[1], numbers(1, 2000));
  EXPECT_GT(rig[1].count(LinkCount::kStoreFull), 0U);
}

TEST(LinkLayer, ASmallerWindowOfThePeerIsKept) {
  auto options = Rig::small_options();
  Rig rig(12);
  options.window = 8;
  rig.nodes.push_back(std::make_unique<Node>(rig.cable, options, 3, mac_of(3)));
  std::uint32_t next = 1;
  ASSERT_TRUE(rig.run_until(1000 * kMs, [&] {
    while (next <= 1000 && rig[0].send(3, next))
      ++next;
    return rig[2].got[1].size() >= 1000;
  }));
  EXPECT_EQ(rig[2].got[1], numbers(1, 1000));
  EXPECT_EQ(rig[2].count(LinkCount::kMalformed), 0U);
}

TEST(LinkLayer, PacketsThatTheCableCannotCarryAreDroppedAloneAndCounted) {
  Rig rig(13);
  ASSERT_TRUE(rig.stream(1, 10, 100 * kMs));
  EXPECT_TRUE(rig[0].send(2, 11, 2000));  // more than ever fits
  ASSERT_TRUE(rig[0].send(2, 12, 900));
  rig[0].layer->set_packet_bytes_max(500);  // while it waits
  ASSERT_TRUE(rig[0].send(2, 13, 400));
  ASSERT_TRUE(rig.run_until(100 * kMs, [&] { return rig[1].got[1].size() >= 11; }));
  EXPECT_EQ(rig[1].got[1].back(), 13U);
  EXPECT_EQ(rig[0].count(LinkCount::kTooLong), 2U);
  EXPECT_TRUE(rig.run_until(kMs, [&] { return rig[0].layer->find_peer(2)->send.empty(); }));
}

TEST(LinkLayer, PacketsTooLongForThePeerAreDroppedAndCounted) {
  Rig rig(14);
  rig[1].layer->set_packet_bytes_max(500);
  ASSERT_TRUE(rig[0].send(2, 1, 900));
  ASSERT_TRUE(rig[0].send(2, 2, 400));
  ASSERT_TRUE(rig.run_until(100 * kMs, [&] { return !rig[1].got[1].empty(); }));
  EXPECT_EQ(rig[1].got[1], numbers(2, 2));
  EXPECT_EQ(rig[0].count(LinkCount::kTooLong), 1U);
}

// Before a session is open the limit is unknown; a change is announced in a new session.
TEST(LinkLayer, BothEndsKnowTheLongestPacket) {
  Rig rig(15);
  const auto room = [&](std::size_t from) {
    return rig[from].layer->packet_bytes_max_to(static_cast<NicAddress>(2 - from));
  };
  const std::size_t own = rig[0].layer->packet_bytes_max();
  ASSERT_GT(own, 500U);
  EXPECT_EQ(room(0), kPacketBytesFloor);
  ASSERT_TRUE(rig.stream(1, 10, 100 * kMs));
  EXPECT_EQ(room(0), own);
  EXPECT_EQ(room(1), own);
  for (const std::size_t bytes : {std::size_t{500}, std::size_t{300}, own}) {
    SCOPED_TRACE(bytes);
    rig[1].layer->set_packet_bytes_max(bytes);
    EXPECT_EQ(room(1), bytes);
    ASSERT_TRUE(rig.run_until(100 * kMs, [&] { return room(0) == bytes; }));
  }
  EXPECT_EQ(rig[0].count(LinkCount::kTooLong), 0U);
  EXPECT_EQ(rig[0].count(LinkCount::kPeersDead), 0U);
}

// The same seed gives the same run: all randomness comes from the seed.
TEST(LinkLayer, TheSeedDecides) {
  drivers::expect_seed_decides([](std::uint64_t seed) {
    Rig rig(seed);
    rig.cable.faults = {.loss = 0.05, .duplication = 0.05, .damage = 0.05, .overtaking = 0.2};
    EXPECT_TRUE(rig.stream(1, 300, 1000 * kMs));
    return rig.cable.now_ns * 1'000'003 + rig.cable.carried;
  });
}

}  // namespace
}  // namespace plnet::cassini::soft::link::link_layer_test
