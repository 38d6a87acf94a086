// SPDX-License-Identifier: BSD-3-Clause
// Messages without a match, late matches and ambiguous ones, on every combination of shards.
#include "tests/unit/lib/lnet/move/site.hpp"
#include "tests/unit/lib/lnet/move/wire_case.hpp"

namespace plnet::lnet::matching_test {
namespace {

constexpr std::uint64_t kBits = 42;

class Matching : public WireTest {
 protected:
  // With fresh nodes each time: messages arrive on `there`.
  template <class Body>
  void for_each_pair(Body&& body) {
    for (unsigned i = 0; i < shards() * shards(); ++i) {
      const auto there = static_cast<ShardId>(i % shards());
      const auto owner = static_cast<ShardId>(i / shards());
      const testing::ScopedTrace where(
          __FILE__, __LINE__, testing::Message() << "there " << there << " owner " << owner);
      Site site(setup());
      site.know(0, 1, there);
      site.know(1, 0, static_cast<ShardId>((there + 1U) % shards()));
      body(site, there, owner);
      site.expect_conserved();
    }
  }
  MdHandle put(Site& site, EventHandler& handler, std::uint32_t length, PortalId portal,
               std::uint64_t bits = kBits, unsigned caller = 0) {
    const Buffer& from = site.buffer(length);
    site.fill(from, 8);
    const MdHandle md = site.bind(0, caller, from, handler);
    EXPECT_TRUE(site.shard(0, caller).put(
        md, {.target = {site.nid(1)}, .portal = portal, .match_bits = bits}));
    return md;
  }
  MdHandle get(Site& site, EventHandler& handler, std::uint32_t length, PortalId portal) {
    const MdHandle md = site.bind(0, 0, site.buffer(length), handler);
    EXPECT_TRUE(
        site.shard(0, 0).get(md, {.target = {site.nid(1)}, .portal = portal, .match_bits = kBits}));
    return md;
  }
  static void expect_dropped(Site& site, Cause cause, std::uint32_t bytes,
                             LnetTraffic::Id traffic) {
    EXPECT_EQ(site.sum(1, cause), 1U);
    EXPECT_EQ(site.sum(1, Statistic::kDropCount), 1U);
    EXPECT_EQ(site.sum(1, Statistic::kDropLength), bytes);
    EXPECT_EQ(site.traffic(1, traffic), 1U);
    EXPECT_EQ(site.sum(1, Statistic::kReceiveCount), 0U);
  }
};

TEST_P(Matching, APutThatNothingMatchesIsDropped) {
  for_each_pair([&](Site& site, ShardId, ShardId owner) {
    Recorder sender, target;
    site.attach(1, owner, {.portal = 5, .match_bits = 1}, site.buffer(100), target, kMdPut);
    put(site, sender, 100, 5);
    site.settle();
    EXPECT_EQ(target.events.size(), 0U);
    EXPECT_EQ(sender.count(EventKind::kAck), 0U);
    expect_dropped(site, Cause::kDroppedPutNoMatch, 100, LnetTraffic::Id::kDroppedPut);
  });
}

TEST_P(Matching, AGetThatNothingMatchesIsDropped) {
  for_each_pair([&](Site& site, ShardId, ShardId owner) {
    Recorder asker, target;
    site.attach(1, owner, {.portal = 5, .match_bits = 1}, site.buffer(100), target, kMdGet);
    get(site, asker, 100, 5);
    site.settle();
    EXPECT_EQ(asker.count(EventKind::kReply), 0U);
    const Event sent = asker.only(EventKind::kSend);
    if (rdma()) {
      EXPECT_EQ(sent.status.error(), Errc::kNoData);
    } else {
      EXPECT_TRUE(sent.status.has_value());
    }
    expect_dropped(site, Cause::kDroppedGetNoMatch, 0, LnetTraffic::Id::kDroppedGet);
  });
}

TEST_P(Matching, LongMessagesAreDropped) {
  for_each_pair([&](Site& site, ShardId, ShardId owner) {
    Recorder sender, target;
    site.attach(1, owner, {.portal = 5, .match_bits = kBits}, site.buffer(99), target, kMdPut);
    put(site, sender, 100, 5);
    site.settle();
    expect_dropped(site, Cause::kDroppedPutTooLong, 100, LnetTraffic::Id::kDroppedPut);
  });
  for_each_pair([&](Site& site, ShardId, ShardId owner) {
    Recorder asker, target;
    site.attach(1, owner, {.portal = 5, .match_bits = kBits}, site.buffer(99), target, kMdGet);
    get(site, asker, 100, 5);
    site.settle();
    expect_dropped(site, Cause::kDroppedGetTooLong, 0, LnetTraffic::Id::kDroppedGet);
  });
}

TEST_P(Matching, APortalThatDoesNotExistMatchesNothing) {
  Site site(setup());
  Recorder sender;
  const MdHandle md = site.bind(0, 0, site.buffer(10), sender);
  for (const PortalId portal : {kPortalsMax, PortalId{0xffffffff}}) {
    EXPECT_EQ(site.shard(0, 0).put(md, {.target = {site.nid(1)}, .portal = portal}).error(),
              Errc::kInvalid);
    EXPECT_EQ(site.shard(0, 0).get(md, {.target = {site.nid(1)}, .portal = portal}).error(),
              Errc::kInvalid);
  }
  site.settle();
  EXPECT_TRUE(sender.events.empty());
  site.expect_conserved();
}

TEST_P(Matching, UniqueEntriesAreFoundOnTheirShard) {
  for_each_pair([&](Site& site, ShardId, ShardId owner) {
    Recorder sender, target, other;
    const Buffer& into = site.buffer(100);
    site.attach(1, owner, {.portal = 5, .match = {site.nid(0), kLustrePid}, .match_bits = kBits},
                into, target, kMdPut);
    for (unsigned i = 0; i < shards(); ++i) {
      site.attach(
          1, i,
          {.portal = 5, .match = {Nid::of(NetType::kTcp, 0, 99), kLustrePid}, .match_bits = kBits},
          site.buffer(100), other, kMdPut);
    }
    put(site, sender, 100, 5);
    site.settle();
    EXPECT_EQ(target.count(EventKind::kPut), 1U);
    EXPECT_EQ(sender.count(EventKind::kAck), 1U);
    EXPECT_EQ(other.events.size(), 0U);
    EXPECT_TRUE(site.holds(into, 0, 100, 8));
  });
}

TEST_P(Matching, EachOfManyEntriesIsUsedOnce) {
  for_each_pair([&](Site& site, ShardId, ShardId) {
    Recorder sender, target;
    for (unsigned i = 0; i < 3 * shards(); ++i) {
      site.attach(1, i % shards(), {.portal = 5, .match_bits = kBits}, site.buffer(10), target,
                  kMdPut, 1);
    }
    for (unsigned i = 0; i < 3 * shards() + 2; ++i)
      put(site, sender, 10, 5, kBits, i % shards());
    site.settle();
    EXPECT_EQ(target.count(EventKind::kPut), 3U * shards());
    EXPECT_EQ(sender.count(EventKind::kAck), 3U * shards());
    EXPECT_EQ(site.sum(1, Cause::kDroppedPutNoMatch), 2U);
    for (const Event& event : target.events)
      EXPECT_TRUE(event.unlinked);
  });
}

TEST_P(Matching, OnALazyPortalAPutWaitsForItsEntry) {
  for_each_pair([&](Site& site, ShardId, ShardId owner) {
    for (PortalId portal = 5; portal < 5 + shards(); ++portal) {  // every home
      Recorder sender, target;
      site.node(1).set_lazy(portal, true);
      put(site, sender, 5000, portal);
      site.settle();
      EXPECT_EQ(target.events.size(), 0U);
      EXPECT_EQ(sender.count(EventKind::kAck), 0U);
      EXPECT_FALSE(site.shard(1, portal % shards()).next_deadline() == Instant::min());
      const Buffer& into = site.buffer(5000);
      site.attach(1, owner, {.portal = portal, .match_bits = kBits}, into, target, kMdPut);
      site.settle();
      EXPECT_EQ(target.only(EventKind::kPut).accepted_length, 5000U);
      EXPECT_EQ(sender.only(EventKind::kAck).accepted_length, 5000U);
      EXPECT_TRUE(site.holds(into, 0, 5000, 8));
    }
    EXPECT_EQ(site.sum(1, Statistic::kDropCount), 0U);
  });
}

TEST_P(Matching, AnEntryThatDoesNotFitLeavesTheWaitingMessageWhereItIs) {
  for_each_pair([&](Site& site, ShardId, ShardId owner) {
    Recorder sender, target;
    site.node(1).set_lazy(5, true);
    put(site, sender, 50, 5);
    site.settle();
    site.attach(1, owner, {.portal = 5, .match_bits = 7}, site.buffer(50), target, kMdPut);
    site.settle();
    EXPECT_EQ(target.events.size(), 0U);
    site.attach(1, owner, {.portal = 5, .match_bits = kBits}, site.buffer(50), target, kMdPut);
    site.settle();
    EXPECT_EQ(target.count(EventKind::kPut), 1U);
  });
}

TEST_P(Matching, WaitingMessagesAreDroppedWhenThePortalIsNotLazyAnyMore) {
  for_each_pair([&](Site& site, ShardId, ShardId) {
    Recorder sender;
    site.node(1).set_lazy(5, true);
    put(site, sender, 500, 5);
    site.settle();
    EXPECT_EQ(site.sum(1, Statistic::kDropCount), 0U);
    site.node(1).set_lazy(5, false);
    site.settle();
    expect_dropped(site, Cause::kDroppedLazyCleared, 500, LnetTraffic::Id::kDroppedPut);
  });
}

TEST_P(Matching, AGetDoesNotWaitOnALazyPortal) {
  for_each_pair([&](Site& site, ShardId, ShardId) {
    Recorder asker;
    site.node(1).set_lazy(5, true);
    get(site, asker, 500, 5);
    site.settle();
    EXPECT_EQ(site.sum(1, Cause::kDroppedGetNoMatch), 1U);
  });
}

TEST_P(Matching, WaitingMessagesEndWithTheirSender) {
  for_each_pair([&](Site& site, ShardId, ShardId owner) {
    Recorder sender, target;
    site.node(1).set_lazy(5, true);
    put(site, sender, 5000, 5);
    site.settle();
    site.node(1).delete_peer(site.nid(0));
    site.settle();
    site.pass(std::chrono::seconds(3));
    EXPECT_EQ(site.sum(1, Cause::kDroppedConnectionLost), 1U);
    EXPECT_EQ(site.sum(1, Statistic::kDropCount), 1U);
    site.attach(1, owner, {.portal = 5, .match_bits = kBits}, site.buffer(5000), target, kMdPut);
    site.settle();
    EXPECT_EQ(target.events.size(), 0U);
  });
}

TEST_P(Matching, AnswersForAnEarlierIncarnationFindNothing) {
  for_each_pair([&](Site& site, ShardId there, ShardId owner) {
    Recorder sender, target;
    site.attach(1, owner, {.portal = 5, .match_bits = kBits}, site.buffer(100), target, kMdPut);
    const MdHandle md = put(site, sender, 100, 5);
    // The descriptor is unlinked while the PUT is in flight: its ACK finds another generation.
    site.turn();
    (void)site.shard(0, 0).unlink(md);
    site.settle();
    EXPECT_EQ(sender.count(EventKind::kAck), 0U);
    EXPECT_EQ(site.sum(0, Cause::kDroppedAckNoMd) + site.sum(0, Cause::kTxMdAborted), 1U);
    (void)there;
  });
}

TEST_P(Matching, ForgedHandlesFindNothing) {
  Site site(setup());
  Recorder unused;
  const Buffer& from = site.buffer(100);
  const MdHandle md = site.bind(0, 0, from, unused);
  site.know(0, 1, 0);
  NiPort& port = *site.core(1, 0).ports[1];
  const WireHandle handles[] = {{100, encode_handle(md, 100).object_cookie},
                                {101, ~0ULL},
                                {101, 1},
                                {101, (std::uint64_t{1} << 32) | (63U << 2) | 1U},
                                {101, (std::uint64_t{1} << 32) | (255U << 2) | 1U},
                                {101, (std::uint64_t{1} << 32) | 0xfffffc01U},
                                {}};
  site.know(1, 0, 0);
  for (const WireHandle& handle : handles) {
    MessageHeader header{.destination = site.nid(1), .source = site.nid(0)};
    header.type = MessageType::kAck;
    header.set_area(AckArea{.destination = handle});
    const RxDecision decision =
        port.on_header({.header = header, .from = site.nid(0), .rx = {1, 1}});
    EXPECT_NE(decision.verdict, RxVerdict::kReceive);
    EXPECT_NE(decision.verdict, RxVerdict::kReject);
    site.settle();
  }
  EXPECT_EQ(site.sum(1, Cause::kDroppedAckNoMd), std::size(handles));
  site.expect_conserved();
}

INSTANTIATE_TEST_SUITE_P(Wires, Matching, testing::ValuesIn(kEveryWire),
                         testing::PrintToStringParamName());

}  // namespace
}  // namespace plnet::lnet::matching_test
