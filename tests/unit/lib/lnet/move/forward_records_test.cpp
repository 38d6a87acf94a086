// SPDX-License-Identifier: BSD-3-Clause
// Fewer records than router buffers: waiting for records, and fairness when a next hop takes
// nothing.
#include <algorithm>
#include <array>

#include <gtest/gtest.h>

#include "tests/unit/lib/lnet/move/forward_rig.hpp"

namespace plnet::lnet::forward_records_test {
namespace {

const Nid kClient = ForwardRig::client(10);
const Nid kOther = ForwardRig::client(11);
const Nid kDead = ForwardRig::server(20);
const Nid kLive = ForwardRig::server(21);

struct Rig : ForwardRig {
  explicit Rig(std::size_t messages, std::size_t receives = 128)
      : ForwardRig({.buffers = {{64, 64, 64}},
                    .tunables = {.peer_credits = 32, .peer_buffer_credits = 64},
                    .messages = messages,
                    .receives = receives}) {
    for (const Nid& nid : {kClient, kOther, kDead, kLive})
      node.add_peer(nid, ShardId{0});
    settle();
    md = node.shard(0)
             .bind({.fragments = fragments_,
                    .length = 10,
                    .threshold = kThresholdInfinite,
                    .handler = &user})
             .value();
    (void)node.shard(0).attach({.portal = 5, .match_bits = 0}, {.fragments = fragments_,
                                                                .length = 1000,
                                                                .options = kMdPut | kMdManageRemote,
                                                                .handler = &user});
  }

  RxVerdict send(const Nid& to) { return forward(kClient, to, 10, {++index, 1}); }
  [[nodiscard]] bool leaves(const Nid& to) {
    return std::ranges::any_of(out().held,
                               [&](const Transmit* each) { return each->next_hop->nid == to; });
  }
  // A message of this node itself; false: no record is free.
  bool put() { return node.shard(0).put(md, {.target = {kLive}, .portal = 5}).has_value(); }
  // A message for this node that requests an ACK.
  RxDecision offer_to_us(RxHandle rx) {
    MessageHeader header{
        .destination = client(kRouter), .source = kOther, .type = MessageType::kPut};
    header.payload_length = 10;
    header.set_area(PutArea{.ack_handle = {7, 7}, .match_bits = 0, .portal = 5});
    return port(kOther).on_header({.header = header, .from = kOther, .rx = rx});
  }

  Recorder user;
  MdHandle md;
  std::uint32_t index = 0;

 private:
  std::array<Fragment, 1> fragments_{Fragment{{0, 0}, 1000}};
};

TEST(ForwardRecords, AHopThatTakesNothingLeavesMessagesForOthers) {
  Rig rig(8);
  unsigned got = 0;
  for (unsigned i = 0; i < 8; ++i)
    got += rig.send(kDead) == RxVerdict::kReceive ? 1 : 0;
  EXPECT_EQ(got, 4U) << "half of the messages";
  EXPECT_EQ(rig.cause(Cause::kHeldRecords), 4U);
  EXPECT_EQ(rig.cause(Cause::kHeldHopShare), 0U);
  EXPECT_EQ(rig.send(kLive), RxVerdict::kReceive);
  EXPECT_TRUE(rig.leaves(kLive));
  rig.end_all();
  EXPECT_EQ(rig.statistic(Statistic::kRouteCount), 9U);
  rig.expect_conserved();
}

TEST(ForwardRecords, AllClassesShareTheRecords) {
  Rig rig(8);
  for (const std::uint32_t length : {0U, 10U, 5000U, 0U, 10U, 5000U})
    (void)rig.forward(kClient, kDead, length, {++rig.index, 1});
  EXPECT_EQ(rig.peer(kDead)->hop.held, 4U);
  EXPECT_EQ(rig.send(kLive), RxVerdict::kReceive);
  EXPECT_TRUE(rig.leaves(kLive));
  rig.end_all();
  EXPECT_EQ(rig.statistic(Statistic::kRouteCount), 7U);
  rig.expect_conserved();
}

TEST(ForwardRecords, AHopThatTakesNothingLeavesReceiveRecordsForOthers) {
  Rig rig(64, 16);
  unsigned got = 0;
  while (rig.send(kDead) == RxVerdict::kReceive)
    ++got;
  EXPECT_EQ(got, 8U);
  EXPECT_EQ(rig.cause(Cause::kHeldRecords), 1U);
  EXPECT_EQ(rig.send(kLive), RxVerdict::kReceive);
  EXPECT_EQ(rig.cause(Cause::kDroppedNoReceive), 0U);
  rig.end_all();
  rig.expect_conserved();
}

TEST(ForwardRecords, WaitingForRecordsMakesTheHopStall) {
  Rig rig(8);
  for (unsigned i = 0; i < 5; ++i)
    (void)rig.send(kDead);
  rig.pass(kHopStall + std::chrono::seconds(2));
  EXPECT_EQ(rig.go_on(), std::vector{RxVerdict::kDrop});
  EXPECT_EQ(rig.cause(Cause::kDroppedHopStalled), 1U);
  rig.end_all();
  rig.expect_conserved();
}

// From the moment when it has its buffer: its payload arrives without pause.
TEST(ForwardRecords, OwnMessagesDoNotTakeAPromisedRecord) {
  Rig rig(4);
  ASSERT_EQ(rig.offer(kClient, kLive, 10, {1, 1}).verdict, RxVerdict::kReceive);
  for (unsigned i = 0; i < 3; ++i)
    EXPECT_TRUE(rig.put());
  EXPECT_FALSE(rig.put());
  ASSERT_EQ(rig.offer_to_us({2, 1}).verdict, RxVerdict::kReceive);
  rig.received(kOther, {2, 1});
  EXPECT_EQ(rig.cause(Cause::kAnswersWaited), 1U) << "the ACK";
  rig.received(kClient, {1, 1});
  rig.settle();
  EXPECT_EQ(rig.out().held.size(), 4U);
  EXPECT_EQ(rig.cause(Cause::kAnswersWaited), 1U);
  rig.end(0);
  EXPECT_EQ(rig.in().held.size(), 1U) << "a record returned without a reservation";
  rig.in().end(0);
  rig.end_all();
  rig.expect_conserved();
}

TEST(ForwardRecords, APromiseThatIsNoLongerNeededIsGoodForAnAnswer) {
  Rig rig(2);
  ASSERT_EQ(rig.offer(kClient, kLive, 10, {1, 1}).verdict, RxVerdict::kReceive);
  ASSERT_TRUE(rig.put());
  ASSERT_EQ(rig.offer_to_us({2, 1}).verdict, RxVerdict::kReceive);
  rig.received(kOther, {2, 1});
  rig.settle();
  EXPECT_TRUE(rig.in().held.empty());
  rig.received(kClient, {1, 1}, std::unexpected(Errc::kReset));
  EXPECT_EQ(rig.node.shard(0).next_deadline(), Instant::min()) << "there is something to do";
  rig.settle();
  ASSERT_EQ(rig.in().held.size(), 1U);
  rig.in().end(0);
  rig.end_all();
  rig.expect_conserved();
}

TEST(ForwardRecords, AWaitingMessageContinuesWithAReturnedRecord) {
  Rig rig(2);
  ASSERT_TRUE(rig.put() && rig.put());
  EXPECT_EQ(rig.send(kLive), RxVerdict::kPark);
  EXPECT_EQ(rig.cause(Cause::kHeldRecords), 1U);
  rig.end(0);
  EXPECT_EQ(rig.go_on(), std::vector{RxVerdict::kReceive});
  rig.end_all();
  EXPECT_EQ(rig.statistic(Statistic::kRouteCount), 1U);
  rig.expect_conserved();
}

}  // namespace
}  // namespace plnet::lnet::forward_records_test
