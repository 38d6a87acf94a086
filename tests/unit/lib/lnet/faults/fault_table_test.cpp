// SPDX-License-Identifier: BSD-3-Clause
#include "lib/lnet/faults/fault_table.hpp"

#include <gtest/gtest.h>

namespace plnet::lnet::fault_table_test {
namespace {

constexpr Instant kStart{std::chrono::seconds(1000)};

Nid tcp(std::uint32_t address) {
  return Nid::of(NetType::kTcp, 0, address);
}

struct FaultTableOf : testing::Test {
  FaultTableOf() : reader(*qsbr.register_reader()) { qsbr.online(reader); }

  FaultSpec drop(std::uint32_t from, std::uint32_t to) {
    return {.source = tcp(from), .destination = tcp(to), .rate = 1};
  }

  Qsbr qsbr{1, 1};
  Qsbr::Reader reader;
  FaultTable table{qsbr, Random(1)};
};

TEST_F(FaultTableOf, WithoutRulesPublishesNothing) {
  EXPECT_EQ(table.view(), nullptr);
  ASSERT_TRUE(table.add(drop(1, 2), kStart).has_value());
  EXPECT_NE(table.view(), nullptr);
  EXPECT_EQ(table.remove(FaultKind::kDrop, Nid::any(), Nid::any()), 1U);
  EXPECT_EQ(table.view(), nullptr);
}

TEST_F(FaultTableOf, ListsTheNewestFirst) {
  ASSERT_TRUE(table.add(drop(1, 2), kStart).has_value());
  ASSERT_TRUE(table.add(drop(3, 4), kStart).has_value());
  ASSERT_TRUE(
      table.add({.kind = FaultKind::kDelay, .rate = 1, .latency_s = 1}, kStart).has_value());
  const auto drops = table.list(FaultKind::kDrop);
  ASSERT_EQ(drops.size(), 2U);
  EXPECT_EQ(drops[0].spec.source, tcp(3));
  EXPECT_EQ(drops[1].spec.source, tcp(1));
  EXPECT_EQ(table.list(FaultKind::kDelay).size(), 1U);
}

TEST_F(FaultTableOf, RemovesByTheGivenCriteria) {
  for (const auto& [from, to] : {std::pair{1U, 2U}, {1U, 3U}, {4U, 3U}})
    ASSERT_TRUE(table.add(drop(from, to), kStart).has_value());
  EXPECT_EQ(table.remove(FaultKind::kDelay, Nid::any(), Nid::any()), 0U);
  EXPECT_EQ(table.remove(FaultKind::kDrop, tcp(1), tcp(9)), 0U);
  EXPECT_EQ(table.remove(FaultKind::kDrop, tcp(1), tcp(2)), 1U);
  EXPECT_EQ(table.remove(FaultKind::kDrop, Nid::any(), tcp(3)), 2U);
}

TEST_F(FaultTableOf, RefusesInvalidAndSurplusRules) {
  EXPECT_EQ(table.add({}, kStart).error().code, Errc::kInvalid);
  for (std::size_t i = 0; i < FaultTable::kRulesMax; ++i)
    ASSERT_TRUE(table.add(drop(1, 2), kStart).has_value());
  EXPECT_EQ(table.add(drop(1, 2), kStart).error().code, Errc::kNoSpace);
}

TEST_F(FaultTableOf, KeepsARemovedRuleUntilReadersAreGone) {
  ASSERT_TRUE(table.add(drop(2, 1), kStart).has_value());
  const FaultView& seen = *table.view();
  (void)table.remove(FaultKind::kDrop, Nid::any(), Nid::any());
  table.step();
  const MessageHeader header{.destination = tcp(1), .source = tcp(2), .type = MessageType::kAck};
  EXPECT_NE(seen.drop(header, nullptr, FaultPlace::kArriving, kStart), nullptr);
  qsbr.quiescent(reader);
  table.step();
}

TEST_F(FaultTableOf, TakesOutExactlyTheRuleThatIsMeant) {
  ASSERT_TRUE(table.add(drop(2, 1), kStart).has_value());
  ASSERT_TRUE(table.add(drop(2, 3), kStart).has_value());
  const FaultSpec meant = table.list(FaultKind::kDrop)[1].spec;
  EXPECT_EQ(table.remove(meant), 1U);
  EXPECT_EQ(table.remove(meant), 0U);
  ASSERT_EQ(table.list(FaultKind::kDrop).size(), 1U);
  EXPECT_EQ(table.list(FaultKind::kDrop)[0].spec.destination, tcp(3));
}

TEST_F(FaultTableOf, ResetTouchesOneKind) {
  ASSERT_TRUE(table.add(drop(2, 1), kStart).has_value());
  const MessageHeader header{.destination = tcp(1), .source = tcp(2), .type = MessageType::kAck};
  (void)table.view()->drop(header, nullptr, FaultPlace::kArriving, kStart);
  table.reset(FaultKind::kDelay, kStart);
  EXPECT_EQ(table.list(FaultKind::kDrop)[0].counts.struck, 1U);
  table.reset(FaultKind::kDrop, kStart);
  EXPECT_EQ(table.list(FaultKind::kDrop)[0].counts.struck, 0U);
}

TEST_F(FaultTableOf, FailsANidAsOftenAsAsked) {
  ASSERT_TRUE(table.fail_nid(tcp(1), 2).has_value());
  EXPECT_FALSE(table.view()->fails(tcp(2)));
  EXPECT_TRUE(table.view()->fails(tcp(1)));
  EXPECT_TRUE(table.view()->fails(tcp(1)));
  EXPECT_FALSE(table.view()->fails(tcp(1)));
  ASSERT_TRUE(table.fail_nid(tcp(3), FailNid::kForever).has_value());
  for (unsigned i = 0; i < 10; ++i)
    EXPECT_TRUE(table.view()->fails(tcp(3)));
  ASSERT_TRUE(table.fail_nid(tcp(3), 0).has_value());
  EXPECT_EQ(table.view(), nullptr) << "used-up entries are removed as well";
}

TEST_F(FaultTableOf, FailingEverybodyEndsTheSameWay) {
  ASSERT_TRUE(table.fail_nid(Nid::any(), FailNid::kForever).has_value());
  EXPECT_TRUE(table.view()->fails(tcp(77)));
  ASSERT_TRUE(table.fail_nid(Nid::any(), 0).has_value());
  EXPECT_EQ(table.view(), nullptr);
}

TEST_F(FaultTableOf, EachViewHasAVersionOfItsOwn) {
  ASSERT_TRUE(table.add(drop(1, 2), kStart).has_value());
  const std::uint64_t first = table.view()->version;
  table.close();
  ASSERT_NE(table.view(), nullptr);
  EXPECT_TRUE(table.view()->closing && table.view()->drops.empty());
  EXPECT_NE(table.view()->version, first);
}

}  // namespace
}  // namespace plnet::lnet::fault_table_test
