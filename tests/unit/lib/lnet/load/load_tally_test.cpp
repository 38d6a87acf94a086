// SPDX-License-Identifier: BSD-3-Clause
#include "lib/lnet/load/load_tally.hpp"

#include <algorithm>
#include <map>

#include <gtest/gtest.h>

#include "lib/lnet/load/load_ranking.hpp"

namespace plnet::lnet::load_tally_test {
namespace {

constexpr Instant kStart{std::chrono::seconds(1000)};
constexpr NetId kTcp0 = make_net(NetType::kTcp);

Nid tcp(std::uint32_t address) {
  return Nid::of(NetType::kTcp, 0, address);
}

MessageHeader put_from(std::uint32_t address, std::uint32_t bytes = 0, std::uint32_t portal = 1) {
  MessageHeader header{.destination = Nid::of(NetType::kO2ib, 0, 1),
                       .source = tcp(address),
                       .type = MessageType::kPut};
  header.payload_length = bytes;
  header.set_area(PutArea{.portal = portal});
  return header;
}

std::uint64_t messages_of(const LoadSnapshot& snapshot, const Nid& nid) {
  std::uint64_t sum = 0;
  for (const auto& talker : snapshot.nids)
    sum += talker.key == nid ? talker.messages : 0;
  return sum;
}

struct LoadTallyOf : testing::Test {
  LoadTally tally{3, kStart, 128};

  LoadSnapshot snapshot(Instant now = kStart) {
    LoadSnapshot copy;
    tally.copy_owner(copy, now);
    return copy;
  }
  void see(const MessageHeader& header, int times, Instant now = kStart) {
    for (int i = 0; i < times; ++i)
      tally.count_arrival(header, kTcp0, now);
  }
};

TEST(TalkerTable, KeepsTheHeaviestWithErrorBounds) {
  TalkerTable<std::uint64_t> table{4};
  std::map<std::uint64_t, std::uint64_t> truth;
  Random random(5);
  for (int i = 0; i < 10'000; ++i) {
    const std::uint64_t key = random.below(2) == 0 ? 1 : 2 + random.below(100);
    ++truth[key];
    table.add(key, 1, 10);
  }
  std::uint64_t sum = 0;
  bool found = false;
  for (const auto& talker : table.entries()) {
    sum += talker.messages;
    EXPECT_LE(talker.messages - talker.error, truth[talker.key]);
    EXPECT_GE(talker.messages, truth[talker.key]) << "never too few peers";
    found = found || (talker.key == 1 && talker.error < 100);
  }
  EXPECT_EQ(sum, 10'000U) << "no message is missing from the sum";
  EXPECT_TRUE(found);
}

TEST_F(LoadTallyOf, FindsTheHeaviestSenderAmongMany) {
  std::uint32_t stranger = 1000;
  for (int i = 0; i < 100'000; ++i) {
    see(put_from(i % 4 == 0 ? 7 : stranger++, 100), 1);
  }
  const LoadSnapshot seen = snapshot();
  const auto most = std::ranges::max_element(
      seen.nids, {}, [](const auto& talker) { return talker.messages - talker.error; });
  ASSERT_NE(most, seen.nids.end());
  EXPECT_EQ(most->key, tcp(7));
  EXPECT_NEAR(static_cast<double>(most->messages), 25'000, 2'500);
  EXPECT_EQ(most->bytes, (most->messages - most->error) * 100);
}

TEST_F(LoadTallyOf, CountsByNetworkAndPortal) {
  see(put_from(1, 0, 26), 3200);
  MessageHeader ack = put_from(1);
  ack.type = MessageType::kAck;
  see(ack, 1600);
  const LoadSnapshot seen = snapshot();
  ASSERT_EQ(seen.nets.size(), 1U);
  EXPECT_EQ(seen.nets[0].key, (NetPair{kTcp0, make_net(NetType::kO2ib)}));
  EXPECT_NEAR(static_cast<double>(seen.nets[0].messages), 4800, 480);
  ASSERT_EQ(seen.portals.size(), 2U);
  for (const auto& portal : seen.portals) {
    const double expected = portal.key == 26 ? 3200 : 1600;
    EXPECT_TRUE(portal.key == 26 || portal.key == kNoPortal);
    EXPECT_NEAR(static_cast<double>(portal.messages), expected, expected / 5);
  }
}

TEST_F(LoadTallyOf, APeriodicLoadIsNotTakenForOneOfItsParts) {
  for (int i = 0; i < 16'000; ++i)
    see(put_from(i % 16 == 0 ? 1 : 2), 1);
  EXPECT_NEAR(static_cast<double>(messages_of(snapshot(), tcp(1))), 1000, 500);
}

TEST_F(LoadTallyOf, ForgetsMessagesOlderThanTwoWindows) {
  see(put_from(1), 1000);
  const Instant second = kStart + LoadTally::kWindow;
  see(put_from(2), 1000, second);
  EXPECT_GT(messages_of(snapshot(second), tcp(1)), 0U);
  EXPECT_EQ(snapshot(second + std::chrono::seconds(1)).covered,
            LoadTally::kWindow + std::chrono::seconds(1));
  const Instant third = second + LoadTally::kWindow;
  see(put_from(3), 1000, third);
  EXPECT_EQ(messages_of(snapshot(third), tcp(1)), 0U);
  EXPECT_GT(messages_of(snapshot(third), tcp(2)), 0U);
  EXPECT_TRUE(snapshot(third + 3 * LoadTally::kWindow).nids.empty()) << "long silence";
}

TEST_F(LoadTallyOf, ReportsTheTimesOfEachNextHop) {
  for (int i = 0; i < 3200; ++i) {
    const bool slow = i % 20 == 0;
    tally.sent(tcp(1), 1000, kStart, kStart + std::chrono::microseconds(slow ? 900 : 9));
    tally.sent(tcp(2), 0, kStart, kStart);
  }
  const LoadSnapshot seen = snapshot();
  ASSERT_EQ(seen.hops.size(), 2U);
  const auto& first = seen.hops[seen.hops[0].key == tcp(1) ? 0 : 1];
  EXPECT_NEAR(static_cast<double>(first.messages), 3200, 480);
  EXPECT_EQ(first.bytes, first.messages * 1000);
  EXPECT_EQ(first.more.percentile(50), std::chrono::microseconds(12)) << "9 is in 8 … 11";
  EXPECT_EQ(first.more.percentile(99), std::chrono::microseconds(1024)) << "900 is in 768 … 1023";
}

// Two shards with the same load, one of them older: 1000 messages a second each.
struct TwoTallies : testing::Test {
  LoadTally first{3, kStart, 128};
  LoadTally second{4, kStart + std::chrono::seconds(5), 128};

  void run_until(Instant end) {
    for (; now_ < end; now_ += std::chrono::milliseconds(1)) {
      first.count_arrival(put_from(1, 10), kTcp0, now_);
      if (now_ >= kStart + std::chrono::seconds(5))
        second.count_arrival(put_from(2, 10), kTcp0, now_);
    }
  }
  static void expect_alike(const LoadSnapshot& snapshot) {
    const auto rows = heaviest(snapshot, LoadBy::kNid, 10);
    ASSERT_EQ(rows.size(), 2U);
    for (const LoadRow& row : rows) {
      EXPECT_NEAR(static_cast<double>(row.messages), 1000, 120) << row.name;
      EXPECT_NEAR(static_cast<double>(row.bytes), 10'000, 1200) << row.name;
    }
  }

 private:
  Instant now_ = kStart;
};

TEST_F(TwoTallies, CountOverTheSameTimeWheneverTheyBegan) {
  const Instant end = kStart + std::chrono::milliseconds(24'900);
  run_until(end);
  LoadSnapshot both;
  first.copy_owner(both, end);
  second.copy_owner(both, end);
  EXPECT_EQ(both.covered, std::chrono::milliseconds(14'900));
  expect_alike(both);
}

TEST_F(TwoTallies, AreBroughtToTheSameLengthIfAWindowEndsBetweenThem) {
  const Instant end = kStart + 3 * LoadTally::kWindow;
  run_until(end);
  LoadSnapshot both;
  first.copy_owner(both, end - Duration(1));
  second.copy_owner(both, end);
  expect_alike(both);
  LoadSnapshot other_way;
  second.copy_owner(other_way, end);
  first.copy_owner(other_way, end - Duration(1));
  expect_alike(other_way);
}

TEST_F(LoadTallyOf, AnIdleShardHasTurnedItsWindows) {
  see(put_from(1), 1000);
  EXPECT_GT(messages_of(snapshot(kStart + std::chrono::seconds(15)), tcp(1)), 0U);
  EXPECT_TRUE(snapshot(kStart + std::chrono::seconds(25)).nids.empty());
}

TEST_F(LoadTallyOf, HowLongNextHopsTookIsNotForgottenWithTheWindows) {
  const auto send = [&](Instant now) {
    for (int i = 0; i < 1600; ++i)
      tally.sent(tcp(1), 0, now, now + std::chrono::microseconds(9));
  };
  const auto counted = [&](Instant now) {
    const auto times = times_of_all_hops(snapshot(now));
    const auto its = times.find("0.0.0.1@tcp");
    return its == times.end() ? 0 : its->second.count();
  };
  send(kStart);
  const std::uint64_t once = counted(kStart);
  EXPECT_NEAR(static_cast<double>(once), 100, 25);
  const Instant later = kStart + 5 * LoadTally::kWindow;
  EXPECT_EQ(counted(later), once);
  EXPECT_TRUE(snapshot(later).hops.empty());
  send(later);
  const std::uint64_t twice = counted(later);
  EXPECT_GT(twice, once);
  EXPECT_EQ(counted(later + LoadTally::kWindow), twice) << "counted once";
  EXPECT_EQ(counted(later + 2 * LoadTally::kWindow), twice);
}

}  // namespace
}  // namespace plnet::lnet::load_tally_test
