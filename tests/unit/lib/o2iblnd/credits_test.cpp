// SPDX-License-Identifier: BSD-3-Clause
// Credits, reserved credits and NOOPs by the rules of both versions, and limits of tunables.
#include "lib/o2iblnd/credits.hpp"

#include <gtest/gtest.h>

namespace plnet::o2iblnd::credits_test {
namespace {

Credits v2(unsigned depth = 8) {
  return Credits({.depth = depth, .high_water = depth / 2, .sends_max = depth});
}
Credits v1() {
  return Credits({.depth = 8, .high_water = kHighWaterV1, .sends_max = 8, .version = kVersion1});
}
void spend(Credits& credits, unsigned count) {
  for (unsigned i = 0; i < count; ++i) {
    credits.posted(true, Kind::kImmediate);
    credits.completed(Kind::kImmediate);
  }
}
void owe(Credits& credits, unsigned count) {
  for (unsigned i = 0; i < count; ++i)
    credits.receive_posted(ReceiveUse::kPeer);
}

TEST(O2iblndCredits, MessagesCostCreditsAndAnswersDoNot) {
  Credits credits = v2();
  spend(credits, 8);
  EXPECT_FALSE(credits.may_post(true, Kind::kImmediate));
  EXPECT_TRUE(credits.may_post(false, Kind::kPutAck));
  EXPECT_TRUE(credits.take_returned(8, Kind::kPutAck));
  EXPECT_EQ(credits.credits(), 8U);
  EXPECT_FALSE(credits.take_returned(1, Kind::kNoop));
}

TEST(O2iblndCredits, EveryMessageReturnsAllThatIsOwed) {
  Credits credits = v2();
  owe(credits, 3);
  credits.posted(true, Kind::kImmediate);
  EXPECT_EQ(credits.owed(), 0U);
}

TEST(O2iblndCredits, RequestsPutReceivesAside) {
  Credits credits = v2();
  for (unsigned i = 0; i < 8; ++i)
    EXPECT_TRUE(credits.reserve());
  EXPECT_FALSE(credits.reserve());
  credits.receive_posted(ReceiveUse::kReserved);
  EXPECT_TRUE(credits.reserve());
}

TEST(O2iblndCredits, PostedSendsAreBounded) {
  Credits credits({.depth = 8, .high_water = 4, .sends_max = 2});
  credits.posted(true, Kind::kImmediate);
  credits.posted(false, Kind::kPutAck);
  EXPECT_FALSE(credits.may_post(false, Kind::kGetDone));
  credits.completed(Kind::kPutAck);
  EXPECT_TRUE(credits.may_post(false, Kind::kGetDone));
}

TEST(O2iblndCredits, NoopsOfVersionTwo) {
  Credits credits = v2();
  owe(credits, 3);
  EXPECT_FALSE(credits.needs_noop({}, false));
  EXPECT_TRUE(credits.needs_noop({}, true));  // a keepalive
  owe(credits, 1);
  EXPECT_TRUE(credits.needs_noop({}, false));
  EXPECT_FALSE(credits.needs_noop({.nocredit = true}, false));
  EXPECT_FALSE(credits.needs_noop({.messages = true}, false));
  spend(credits, 8);
  owe(credits, 4);
  EXPECT_TRUE(credits.needs_noop({.messages = true}, false));  // which cannot be sent
  credits.posted(false, Kind::kNoop);
  credits.posted(false, Kind::kNoop);
  EXPECT_TRUE(credits.noops_full());
  EXPECT_EQ(credits.use_of_noop(0), ReceiveUse::kNone);
  EXPECT_TRUE(credits.take_returned(2, Kind::kNoop));
  EXPECT_EQ(credits.owed(), 0U);
}

TEST(O2iblndCredits, NoopsOfVersionOneCostCredits) {
  Credits credits = v1();
  spend(credits, 7);
  EXPECT_FALSE(credits.may_post(true, Kind::kImmediate));  // the last one is reserved for a NOOP
  EXPECT_TRUE(credits.may_post(true, Kind::kNoop));
  EXPECT_FALSE(credits.needs_noop({}, true));  // no credits to return for the last one
  owe(credits, 7);
  EXPECT_TRUE(credits.needs_noop({}, false));
  EXPECT_TRUE(credits.needs_noop({.messages = true}, false));
  EXPECT_FALSE(credits.needs_noop({.noop = true}, false));
  credits.posted(true, Kind::kNoop);
  EXPECT_FALSE(credits.needs_noop({}, true));  // no credit
  EXPECT_EQ(credits.use_of_noop(0), ReceiveUse::kPeer);
  EXPECT_EQ(credits.use_of_noop(1), ReceiveUse::kNone);
  EXPECT_TRUE(credits.take_returned(3, Kind::kNoop));
  EXPECT_EQ(credits.owed(), 1U);  // the credit of that NOOP
}

TEST(O2iblndCredits, APeerCannotSendMoreThanItWasGiven) {
  Credits credits = v2();
  EXPECT_TRUE(credits.may_arrive(7));
  EXPECT_FALSE(credits.may_arrive(8));
  owe(credits, 1);
  EXPECT_FALSE(credits.may_arrive(7));
}

TEST(O2iblndTunables, TheKernelsBounds) {
  EXPECT_EQ(peer_credits({}), 8U);
  EXPECT_EQ(peer_credits({.peer_credits = 1}), 8U);
  EXPECT_EQ(peer_credits({.credits = 1024, .peer_credits = 1000}), 255U);
  EXPECT_EQ(peer_credits({.credits = 16, .peer_credits = 32}), 16U);
  EXPECT_EQ(credits_high_water({}, kVersion2, 8), 4U);
  EXPECT_EQ(credits_high_water({.peer_credits_hiw = 100}, kVersion2, 8), 7U);
  EXPECT_EQ(credits_high_water({.peer_credits = 32, .peer_credits_hiw = 16}, kVersion2, 8), 4U);
  EXPECT_EQ(credits_high_water({}, kVersion2, 1), 1U);
  EXPECT_EQ(credits_high_water({}, kVersion1, 8), 7U);
  EXPECT_EQ(concurrent_sends({}, kVersion2), 8U);
  EXPECT_EQ(concurrent_sends({.concurrent_sends = 100}, kVersion2), 16U);
  EXPECT_EQ(concurrent_sends({.concurrent_sends = 1}, kVersion2), 4U);
  EXPECT_EQ(concurrent_sends({.peer_credits = 128, .concurrent_sends = 256}, kVersion1), 16U);
  EXPECT_EQ(receives_of(kVersion2, 8), 18U);
  EXPECT_EQ(receives_of(kVersion1, 8), 16U);
  EXPECT_EQ(depth_that_fits({.work_requests_max = 16384}, kVersion2, 8, 257), 8U);
  EXPECT_EQ(depth_that_fits({.work_requests_max = 1024}, kVersion2, 8, 257), 3U);
  EXPECT_EQ(depth_that_fits({.work_requests_max = 1}, kVersion2, 8, 257), 1U);
  EXPECT_EQ(connections_per_peer({.conns_per_peer = 0}), 1U);
  EXPECT_EQ(connect_timeout(std::chrono::seconds(50)), std::chrono::milliseconds(12500));
  EXPECT_EQ(connect_timeout(std::chrono::seconds(8)), std::chrono::seconds(5));
  EXPECT_EQ(lnd_timeout({.timeout = 0}, std::chrono::seconds(49)), std::chrono::seconds(49));
}

TEST(O2iblndTunables, AreSetByName) {
  Tunables tunables;
  EXPECT_TRUE(set_tunable(tunables, "peer_credits", 32).has_value());
  EXPECT_EQ(tunables.peer_credits, 32);
  EXPECT_EQ(set_tunable(tunables, "wrq_sge", 3).error(), Errc::kOutOfRange);
  EXPECT_EQ(set_tunable(tunables, "speed", 1).error(), Errc::kNotFound);
  EXPECT_TRUE(changes_live("keepalive"));
  EXPECT_FALSE(changes_live("peer_credits"));
  EXPECT_EQ(tunable_table().size(), 26U);
}

}  // namespace
}  // namespace plnet::o2iblnd::credits_test
