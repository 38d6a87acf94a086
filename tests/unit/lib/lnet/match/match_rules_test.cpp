// SPDX-License-Identifier: BSD-3-Clause
// The ME that a message matches, and the number of bytes accepted.
#include <gtest/gtest.h>

#include "tests/unit/lib/lnet/match/fixture.hpp"

namespace plnet::lnet::match_rules_test {
namespace {

using MatchRules = MatchTest;
using Id = MatchCounters::Id;

TEST_F(MatchRules, AnEmptyPortalMatchesNothing) {
  const MatchResult result = table.match(put(1));
  EXPECT_EQ(result.verdict, MatchVerdict::kNoMatch);
  EXPECT_EQ(result.cause, MatchCause::kNoEntry);
  EXPECT_EQ(count(Id::kNoEntry), 1U);
}

TEST_F(MatchRules, APortalThatDoesNotExistDrops) {
  MatchRequest request = put(1);
  request.portal = kPortalsMax;
  EXPECT_EQ(table.match(request).verdict, MatchVerdict::kDrop);
  request.portal = 0xffffffff;
  EXPECT_EQ(table.match(request).cause, MatchCause::kBadPortal);
  EXPECT_EQ(count(Id::kDropBadPortal), 2U);
}

TEST_F(MatchRules, BitsCountWhereTheyAreNotIgnored) {
  const MdHandle handle = attach(me(0xab00, 0xff), md(kMdPut));
  EXPECT_EQ(table.match(put(1, 0xac00)).cause, MatchCause::kNoEntry);
  const MatchResult result = table.match(put(1, 0xab42));
  ASSERT_TRUE(result.matched());
  EXPECT_EQ(result.grant.md, handle);
  finish(result.grant);
}

TEST_F(MatchRules, ThePortalCounts) {
  std::ignore = attach(me(7), md(kMdPut));
  MatchRequest request = put(1, 7);
  request.portal = 5;
  EXPECT_FALSE(table.match(request).matched());
}

TEST_F(MatchRules, ThePortalCountsAlsoWhereHashesCollide) {
  for (std::uint64_t bits = 0; bits < 64; ++bits)
    std::ignore = attach(me(bits), md(kMdPut));
  for (MatchRequest request = put(1); request.match_bits < 64; ++request.match_bits) {
    for (request.portal = 0; request.portal < kPortalsMax; ++request.portal) {
      if (request.portal == 4) continue;
      ASSERT_FALSE(table.match(request).matched());
    }
  }
}

TEST_F(MatchRules, AnOperationThatIsNotAllowedGoesOnToTheNextEntry) {
  std::ignore = attach(me(), md(kMdPut));
  const MdHandle gets = attach(me(), md(kMdGet));
  const MatchResult result = table.match(get(1));
  ASSERT_TRUE(result.matched());
  EXPECT_EQ(result.grant.md, gets);
  EXPECT_EQ(result.grant.kind, EventKind::kGet);
  finish(result.grant);
}

TEST_F(MatchRules, ThePidCountsUnlessItIsAny) {
  MeSpec other = me();
  other.match.pid = 4711;
  std::ignore = attach(other, md(kMdPut));
  EXPECT_FALSE(table.match(put(1)).matched());
  MatchRequest request = put(1);
  request.sender.pid = 4711;
  const MatchResult result = table.match(request);
  ASSERT_TRUE(result.matched());
  finish(result.grant);
}

TEST_F(MatchRules, ThePrimaryNidOfTheSenderMatchesWithoutAskingAnybody) {
  MeSpec named = me();
  named.match.nid = nid_of(1);
  std::ignore = attach(named, md(kMdPut));
  MatchRequest request = put(1);
  request.source = nid_of(2);
  const MatchResult result = table.match(request);
  ASSERT_TRUE(result.matched());
  finish(result.grant);
  EXPECT_EQ(peers.asked, 0U);
  EXPECT_EQ(count(Id::kSamePeer), 0U);
}

TEST_F(MatchRules, AnotherNidOfTheSendersPeerMatches) {
  MeSpec named = me();
  named.match.nid = nid_of(3);
  std::ignore = attach(named, md(kMdPut));
  EXPECT_FALSE(table.match(put(1)).matched());
  EXPECT_EQ(peers.asked, 1U);
  peers.pairs.emplace_back(nid_of(3), nid_of(1));
  const MatchResult result = table.match(put(1));
  ASSERT_TRUE(result.matched());
  finish(result.grant);
  EXPECT_EQ(count(Id::kSamePeer), 1U);
}

TEST_F(MatchRules, TheNidInTheHeaderIsOfTheSendersPeerForCertain) {
  MeSpec named = me();
  named.match.nid = nid_of(2);
  std::ignore = attach(named, md(kMdPut));
  MatchRequest request = put(1);
  request.source = nid_of(2);
  const MatchResult result = table.match(request);
  ASSERT_TRUE(result.matched());
  finish(result.grant);
  EXPECT_EQ(peers.asked, 0U);
}

TEST_F(MatchRules, AUniqueEntryForAnotherNidOfThePeerIsFoundWhereverItsHashLies) {
  for (std::uint32_t other = 10; other < 40; ++other) {
    MeSpec unique = me(0x77);
    unique.match = {nid_of(other), kLustrePid};
    std::ignore = attach(unique, md(kMdPut));
  }
  peers.pairs.emplace_back(nid_of(37), nid_of(1));
  const MatchResult result = table.match(put(1, 0x77));
  ASSERT_TRUE(result.matched());
  finish(result.grant);
}

TEST_F(MatchRules, OnAUniquePortalThePrimaryNidGoesBeforeOtherNidsOfThePeer) {
  peers.pairs.emplace_back(nid_of(3), nid_of(1));
  MeSpec unique = me(5);
  unique.match = {nid_of(3), kLustrePid};
  std::ignore = attach(unique, md(kMdPut));
  unique.match.nid = nid_of(1);
  const MdHandle primary = attach(unique, md(kMdPut));
  const MatchResult result = table.match(put(1, 5));
  ASSERT_TRUE(result.matched());
  EXPECT_EQ(result.grant.md, primary);
  EXPECT_EQ(peers.asked, 0U);
  finish(result.grant);
}

TEST_F(MatchRules, OnAWildcardPortalTheOrderDecidesBetweenNidsOfThePeer) {
  peers.pairs.emplace_back(nid_of(3), nid_of(1));
  MeSpec named = me(5);
  named.match.nid = nid_of(3);
  const MdHandle first = attach(named, md(kMdPut));
  named.match.nid = nid_of(1);
  std::ignore = attach(named, md(kMdPut));
  const MatchResult result = table.match(put(1, 5));
  ASSERT_TRUE(result.matched());
  EXPECT_EQ(result.grant.md, first);
  finish(result.grant);
}

TEST_F(MatchRules, TheFirstInOrderWins) {
  std::ignore = attach(me(), md(kMdPut));
  MeSpec spec = me();
  spec.position = MePosition::kBefore;
  const MdHandle first = attach(spec, md(kMdPut));
  spec.position = MePosition::kAfter;
  std::ignore = attach(spec, md(kMdPut));
  const MatchResult result = table.match(put(1));
  ASSERT_TRUE(result.matched());
  EXPECT_EQ(result.grant.md, first);
  finish(result.grant);
}

TEST_F(MatchRules, EntriesWithIgnoreBitsGoFirst) {
  std::ignore = attach(me(6), md(kMdPut));
  const MdHandle ignoring = attach(me(0, ~0ULL), md(kMdPut));
  const MatchResult result = table.match(put(1, 6));
  ASSERT_TRUE(result.matched());
  EXPECT_EQ(result.grant.md, ignoring);
  finish(result.grant);
}

TEST_F(MatchRules, LongMessagesAreDroppedAndTheSearchStops) {
  std::ignore = attach(me(), md(kMdPut, 10));
  std::ignore = attach(me(), md(kMdPut, 100));
  const MatchResult result = table.match(put(11));
  EXPECT_EQ(result.verdict, MatchVerdict::kDrop);
  EXPECT_EQ(result.cause, MatchCause::kTooLong);
  EXPECT_EQ(count(Id::kDropTooLong), 1U);
  EXPECT_TRUE(events().empty());
}

TEST_F(MatchRules, ADropUsesNothingUp) {
  MdSpec once = md(kMdPut, 10);
  once.threshold = 1;
  std::ignore = attach(me(), once);
  EXPECT_FALSE(table.match(put(11)).matched());
  const MatchResult result = table.match(put(10));
  ASSERT_TRUE(result.matched());
  finish(result.grant);
}

TEST_F(MatchRules, TruncateAcceptsTheBytesThatFit) {
  std::ignore = attach(me(), md(kMdPut | kMdTruncate, 10));
  const MatchResult result = table.match(put(64));
  ASSERT_TRUE(result.matched());
  EXPECT_EQ(result.grant.accepted_length, 10U);
  EXPECT_EQ(result.grant.window.length, 10U);
  finish(result.grant);
  const MatchResult full = table.match(put(64));
  ASSERT_TRUE(full.matched());
  EXPECT_EQ(full.grant.accepted_length, 0U);
  EXPECT_EQ(full.grant.offset, 10U);
  finish(full.grant);
}

TEST_F(MatchRules, TheLocalOffsetAdvances) {
  std::ignore = attach(me(), md(kMdPut, 100));
  MatchRequest request = put(30);
  request.offset = 77;  // not for this MD
  const MatchResult one = table.match(request);
  const MatchResult two = table.match(request);
  ASSERT_TRUE(one.matched() && two.matched());
  EXPECT_EQ(one.grant.window.offset, 0U);
  EXPECT_EQ(two.grant.window.offset, 30U);
  EXPECT_EQ(two.grant.window.fragments.data(), memory.data());
  EXPECT_EQ(table.match(put(41)).cause, MatchCause::kTooLong);
  finish(two.grant);
  finish(one.grant);
}

TEST_F(MatchRules, ARemotelyManagedOffsetComesWithTheRequest) {
  std::ignore = attach(me(), md(kMdGet | kMdManageRemote, 100));
  MatchRequest request = get(40);
  request.offset = 60;
  for (int i = 0; i < 2; ++i) {
    const MatchResult result = table.match(request);
    ASSERT_TRUE(result.matched());
    EXPECT_EQ(result.grant.offset, 60U);
    EXPECT_EQ(result.grant.window.offset, 60U);
    EXPECT_EQ(result.grant.accepted_length, 40U);
    finish(result.grant);
  }
  request.offset = 61;
  EXPECT_EQ(table.match(request).cause, MatchCause::kTooLong);
}

TEST_F(MatchRules, ARemoteOffsetBeyondTheEndReachesNoMemory) {
  std::ignore = attach(me(1), md(kMdPut | kMdManageRemote, 100));
  std::ignore = attach(me(2), md(kMdPut | kMdManageRemote | kMdTruncate, 100));
  MatchRequest request = put(1, 1);
  request.offset = 101;
  EXPECT_EQ(table.match(request).cause, MatchCause::kTooLong);
  request.offset = 0xffffffff;
  EXPECT_EQ(table.match(request).cause, MatchCause::kTooLong);
  request.match_bits = 2;
  const MatchResult cut = table.match(request);
  ASSERT_TRUE(cut.matched());
  EXPECT_EQ(cut.grant.accepted_length, 0U);
  EXPECT_EQ(cut.grant.window.offset, 0U);
  EXPECT_EQ(cut.grant.offset, 0xffffffffU);
  finish(cut.grant);
}

TEST_F(MatchRules, MaxSizeBoundsEveryMessage) {
  MdSpec spec = md(kMdPut | kMdMaxSize, 100);
  spec.max_size = 40;
  std::ignore = attach(me(), spec);
  EXPECT_EQ(table.match(put(41)).cause, MatchCause::kTooLong);
  const MatchResult result = table.match(put(40));
  ASSERT_TRUE(result.matched());
  finish(result.grant);
}

TEST_F(MatchRules, MaxSizeWithARemoteOffsetStaysInsideTheMemory) {
  MdSpec spec = md(kMdPut | kMdMaxSize | kMdManageRemote, 100);
  spec.max_size = 40;
  std::ignore = attach(me(), spec);
  MatchRequest request = put(40);
  request.offset = 80;
  EXPECT_EQ(table.match(request).cause, MatchCause::kTooLong);
}

TEST_F(MatchRules, AnAckIsAllowedForAPutUnlessTheMdDisablesIt) {
  std::ignore = attach(me(1), md(kMdPut | kMdGet));
  std::ignore = attach(me(2), md(kMdPut | kMdAckDisable));
  const MatchResult plain = table.match(put(0, 1));
  const MatchResult fetched = table.match(get(0, 1));
  const MatchResult disabled = table.match(put(0, 2));
  EXPECT_TRUE(plain.grant.ack_allowed);
  EXPECT_FALSE(fetched.grant.ack_allowed);
  EXPECT_FALSE(disabled.grant.ack_allowed);
  for (const MatchResult& result : {plain, fetched, disabled})
    finish(result.grant);
}

TEST_F(MatchRules, AnExhaustedMdThatStaysIsPassedOver) {
  MdSpec once = md(kMdPut);
  once.threshold = 1;
  once.unlink_when_exhausted = false;
  std::ignore = attach(me(), once);
  const MdHandle next = attach(me(), md(kMdPut));
  finish(table.match(put(1)).grant);
  const MatchResult result = table.match(put(1));
  ASSERT_TRUE(result.matched());
  EXPECT_EQ(result.grant.md, next);
  finish(result.grant);
  EXPECT_FALSE(events()[0].unlinked);
}

}  // namespace
}  // namespace plnet::lnet::match_rules_test
