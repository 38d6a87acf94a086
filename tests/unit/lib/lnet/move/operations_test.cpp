// SPDX-License-Identifier: BSD-3-Clause
// PUT and GET from one node to another with every shard in every part: caller, homes of the peers
// (where messages arrive), owner of the match entry.
#include <algorithm>
#include <string>

#include "tests/unit/lib/lnet/move/site.hpp"
#include "tests/unit/lib/lnet/move/wire_case.hpp"

namespace plnet::lnet::operations_test {
namespace {

constexpr PortalId kPortal = 26;
constexpr std::uint64_t kBits = 0x1234567890;

// The shard of each part.
struct Parts {
  ShardId caller, there, owner, back;
};

class Operations : public WireTest {
 protected:
  // Runs the test's body with fresh nodes, once for each assignment of the parts.
  template <class Body>
  void for_each_share(Body&& body) {
    const unsigned n = shards();
    for (unsigned i = 0; i < n * n; ++i) {
      const Parts parts{.caller = static_cast<ShardId>(i % n),
                        .there = static_cast<ShardId>((i + i / n) % n),
                        .owner = static_cast<ShardId>((i / n) % n),
                        .back = static_cast<ShardId>((i + 2 * (i / n) + 1) % n)};
      const testing::ScopedTrace where(__FILE__, __LINE__,
                                       testing::Message()
                                           << "caller " << parts.caller << " there " << parts.there
                                           << " owner " << parts.owner << " back " << parts.back);
      Site site(setup());
      site.know(0, 1, parts.there);
      site.know(1, 0, parts.back);
      body(site, parts);
      site.expect_conserved();
    }
  }
  static PutSpec put_to(const Site& site, bool ack = true) {
    return {.target = {site.nid(1)},
            .portal = kPortal,
            .match_bits = kBits,
            .header_data = 77,
            .ack = ack};
  }
  static GetSpec get_from(const Site& site) {
    return {.target = {site.nid(1)}, .portal = kPortal, .match_bits = kBits};
  }
  // An event of `md` that a message of the other node caused.
  static void expect_from(const Site& site, const Event& event, MessageType type, unsigned other,
                          const MdHandle& md) {
    SCOPED_TRACE(testing::Message() << "message type " << static_cast<int>(type));
    EXPECT_TRUE(event.status.has_value());
    EXPECT_EQ(event.message_type, type);
    EXPECT_EQ(event.target.nid, site.nid(1 - other));
    EXPECT_EQ(event.initiator.nid, site.nid(other));
    EXPECT_EQ(event.source.nid, site.nid(other));
    EXPECT_EQ(event.sender, site.nid(other));
    EXPECT_EQ(event.offset, 0U);
    EXPECT_EQ(event.md, md);
  }
  static MeSpec anyone() { return {.portal = kPortal, .match_bits = kBits}; }
};

TEST_P(Operations, APutArrivesWholeAndIsAcknowledged) {
  for (const std::uint32_t length : {0U, 1U, 100U, 70'000U}) {
    for_each_share([&](Site& site, const Parts& parts) {
      Recorder sender, target;
      const Buffer& from = site.buffer(length);
      const Buffer& into = site.buffer(length + 10);
      site.fill(from, 3);
      const Attached attached = site.attach(1, parts.owner, anyone(), into, target, kMdPut);
      const MdHandle md = site.bind(0, parts.caller, from, sender);
      ASSERT_TRUE(site.shard(0, parts.caller).put(md, put_to(site)));
      site.settle();

      ASSERT_EQ(sender.events.size(), 2U);
      const Event sent = sender.only(EventKind::kSend);
      EXPECT_TRUE(sent.status.has_value());
      EXPECT_EQ(sent.message_type, MessageType::kPut);
      EXPECT_EQ(sent.target.nid, site.nid(1));
      EXPECT_EQ(sent.portal, kPortal);
      EXPECT_EQ(sent.match_bits, kBits);
      EXPECT_EQ(sent.header_data, 77U);
      EXPECT_EQ(sent.requested_length, length);
      EXPECT_EQ(sent.accepted_length, length);
      EXPECT_EQ(sent.md, md);
      EXPECT_EQ(sent.user, &sender);
      EXPECT_FALSE(sent.unlinked);
      const Event ack = sender.only(EventKind::kAck);
      expect_from(site, ack, MessageType::kAck, 1, md);
      EXPECT_EQ(ack.match_bits, kBits);
      EXPECT_EQ(ack.accepted_length, length);

      ASSERT_EQ(target.events.size(), 1U);
      const Event put = target.only(EventKind::kPut);
      expect_from(site, put, MessageType::kPut, 0, attached.md);
      EXPECT_EQ(put.target.pid, kLustrePid);
      EXPECT_EQ(put.source.pid, kLustrePid);
      EXPECT_EQ(put.portal, kPortal);
      EXPECT_EQ(put.match_bits, kBits);
      EXPECT_EQ(put.header_data, 77U);
      EXPECT_EQ(put.requested_length, length);
      EXPECT_EQ(put.accepted_length, length);
      EXPECT_EQ(put.user, &target);
      EXPECT_EQ(put.md_options, kMdPut);
      EXPECT_TRUE(site.holds(into, 0, length, 3));

      EXPECT_EQ(site.sum(0, Statistic::kSendCount), 1U);
      EXPECT_EQ(site.sum(0, Statistic::kSendLength), length);
      EXPECT_EQ(site.sum(0, Statistic::kReceiveCount), 1U) << "the ACK";
      EXPECT_EQ(site.sum(0, Statistic::kReceiveLength), 0U);
      EXPECT_EQ(site.sum(1, Statistic::kReceiveCount), 1U);
      EXPECT_EQ(site.sum(1, Statistic::kReceiveLength), length);
      EXPECT_EQ(site.sum(1, Statistic::kSendCount), 1U) << "the ACK";
      EXPECT_EQ(site.sum(1, Statistic::kSendLength), 0U);
      EXPECT_EQ(site.traffic(0, LnetTraffic::Id::kSentPut), 1U);
      EXPECT_EQ(site.traffic(0, LnetTraffic::Id::kReceivedAck), 1U);
      EXPECT_EQ(site.traffic(1, LnetTraffic::Id::kReceivedPut), 1U);
      EXPECT_EQ(site.traffic(1, LnetTraffic::Id::kSentAck), 1U);
      EXPECT_EQ(site.port(0, 1, parts.there)->traffic.get(LnetTraffic::Id::kSentPut), 1U);
      EXPECT_EQ(site.port(1, 0, parts.back)->traffic.get(LnetTraffic::Id::kSentAck), 1U);
      EXPECT_EQ(site.sum(0, Statistic::kDropCount) + site.sum(1, Statistic::kDropCount), 0U);
    });
  }
}

TEST_P(Operations, AGetFetchesTheBytesOfTheTarget) {
  for (const std::uint32_t length : {0U, 1U, 100U, 70'000U}) {
    for_each_share([&](Site& site, const Parts& parts) {
      Recorder asker, target;
      const Buffer& sink = site.buffer(length);
      const Buffer& source = site.buffer(length + 10);
      site.fill(source, 5);
      const Attached attached = site.attach(1, parts.owner, anyone(), source, target, kMdGet);
      const MdHandle md = site.bind(0, parts.caller, sink, asker);
      ASSERT_TRUE(site.shard(0, parts.caller).get(md, get_from(site)));
      site.settle();

      ASSERT_EQ(asker.events.size(), 2U);
      const Event sent = asker.only(EventKind::kSend);
      EXPECT_TRUE(sent.status.has_value());
      EXPECT_EQ(sent.message_type, MessageType::kGet);
      EXPECT_EQ(sent.target.nid, site.nid(1));
      EXPECT_EQ(sent.requested_length, length);
      const Event reply = asker.only(EventKind::kReply);
      expect_from(site, reply, MessageType::kReply, 1, md);
      EXPECT_EQ(reply.requested_length, length);
      EXPECT_EQ(reply.accepted_length, length);
      ASSERT_EQ(target.events.size(), 1U);
      const Event got = target.only(EventKind::kGet);
      expect_from(site, got, MessageType::kGet, 0, attached.md);
      EXPECT_EQ(got.accepted_length, length);
      EXPECT_EQ(got.portal, kPortal);
      EXPECT_EQ(got.match_bits, kBits);
      EXPECT_TRUE(site.holds(sink, 0, length, 5));

      EXPECT_EQ(site.sum(0, Statistic::kSendCount), 1U);
      EXPECT_EQ(site.sum(0, Statistic::kSendLength), 0U);
      EXPECT_EQ(site.sum(0, Statistic::kReceiveCount), 1U);
      EXPECT_EQ(site.sum(0, Statistic::kReceiveLength), length);
      EXPECT_EQ(site.sum(1, Statistic::kReceiveCount), 1U);
      EXPECT_EQ(site.sum(1, Statistic::kReceiveLength), 0U);
      EXPECT_EQ(site.sum(1, Statistic::kSendLength), length);
      const bool open = rdma() && length > 0;
      EXPECT_EQ(site.sum(1, Statistic::kSendCount), open ? 0U : 1U) << "the REPLY";
      EXPECT_EQ(site.traffic(1, LnetTraffic::Id::kReceivedGet), 1U);
      EXPECT_EQ(site.traffic(1, LnetTraffic::Id::kSentReply), open ? 0U : 1U);
      EXPECT_EQ(site.traffic(0, LnetTraffic::Id::kReceivedReply), 1U) << "placed or not";
      std::uint64_t from_peer = 0;
      for (unsigned i = 0; i < GetParam().shards; ++i) {
        const PeerPort* const port = site.port(0, 1, static_cast<ShardId>(i));
        from_peer += port == nullptr ? 0 : port->traffic.get(LnetTraffic::Id::kReceivedReply);
      }
      EXPECT_EQ(from_peer, 1U);
    });
  }
}

// With and without placement by the network: the requested length is the descriptor's, and the
// answer comes from this node.
TEST_P(Operations, AGetOfAShorterSourceReportsTheRequestedLength) {
  for_each_share([&](Site& site, const Parts& parts) {
    Recorder asker, target;
    const Buffer& sink = site.buffer(100);
    const Buffer& source = site.buffer(60);
    site.attach(1, parts.owner, anyone(), source, target, kMdGet | kMdTruncate);
    const MdHandle md = site.bind(0, parts.caller, sink, asker);
    ASSERT_TRUE(site.shard(0, parts.caller).get(md, get_from(site)));
    site.settle();
    const Event reply = asker.only(EventKind::kReply);
    EXPECT_EQ(reply.requested_length, rdma() ? 100U : 60U);
    EXPECT_EQ(reply.accepted_length, 60U);
    EXPECT_EQ(site.sum(0, Statistic::kReceiveLength), 60U);
  });
}

TEST_P(Operations, AMebibyteGoesBothWays) {
  constexpr std::uint32_t kLength = 1U << 20;
  SiteSetup large = setup();
  large.memory_bytes = 3U * kLength;
  Site site(large);
  Recorder user, target;
  const Buffer& from = site.buffer(kLength);
  const Buffer& into = site.buffer(kLength);
  const Buffer& back = site.buffer(kLength);
  site.fill(from, 9);
  const unsigned last = shards() - 1;
  site.attach(1, last, anyone(), into, target, kMdPut | kMdGet | kMdManageRemote);
  const MdHandle put_md = site.bind(0, 0, from, user);
  ASSERT_TRUE(site.shard(0, 0).put(put_md, put_to(site)));
  site.settle();
  EXPECT_TRUE(site.holds(into, 0, kLength, 9));
  const MdHandle get_md = site.bind(0, last, back, user);
  ASSERT_TRUE(site.shard(0, last).get(get_md, get_from(site)));
  site.settle();
  EXPECT_TRUE(site.holds(back, 0, kLength, 9));
  EXPECT_EQ(user.count(EventKind::kAck), 1U);
  EXPECT_EQ(user.count(EventKind::kReply), 1U);
  site.expect_conserved();
}

TEST_P(Operations, NoAckIsSentThatIsNotWanted) {
  for_each_share([&](Site& site, const Parts& parts) {
    Recorder sender, target;
    const Buffer& from = site.buffer(300);
    const Buffer& into = site.buffer(1000);
    site.attach(1, parts.owner, anyone(), into, target, kMdPut);
    const MdHandle md = site.bind(0, parts.caller, from, sender);
    ASSERT_TRUE(site.shard(0, parts.caller).put(md, put_to(site, false)));
    site.settle();
    EXPECT_EQ(sender.events.size(), 1U);
    EXPECT_EQ(target.count(EventKind::kPut), 1U);
    EXPECT_EQ(site.sum(1, Statistic::kSendCount), 0U);
  });
}

TEST_P(Operations, ATargetMayDisableAcks) {
  for_each_share([&](Site& site, const Parts& parts) {
    Recorder sender, target;
    const Buffer& from = site.buffer(300);
    const Buffer& into = site.buffer(1000);
    site.attach(1, parts.owner, anyone(), into, target, kMdPut | kMdAckDisable);
    const MdHandle md = site.bind(0, parts.caller, from, sender);
    ASSERT_TRUE(site.shard(0, parts.caller).put(md, put_to(site)));
    site.settle();
    EXPECT_EQ(sender.events.size(), 1U);
    EXPECT_EQ(target.count(EventKind::kPut), 1U);
    ASSERT_TRUE(site.shard(0, parts.caller).unlink(md));
  });
}

TEST_P(Operations, LongMessagesAreTruncatedIfTheTargetAllowsIt) {
  for_each_share([&](Site& site, const Parts& parts) {
    Recorder sender, target;
    const Buffer& from = site.buffer(3000);
    const Buffer& into = site.buffer(1000);
    site.fill(from, 4);
    site.attach(1, parts.owner, anyone(), into, target, kMdPut | kMdTruncate);
    const MdHandle md = site.bind(0, parts.caller, from, sender);
    ASSERT_TRUE(site.shard(0, parts.caller).put(md, put_to(site)));
    site.settle();
    EXPECT_EQ(target.only(EventKind::kPut).requested_length, 3000U);
    EXPECT_EQ(target.only(EventKind::kPut).accepted_length, 1000U);
    EXPECT_EQ(sender.only(EventKind::kAck).accepted_length, 1000U);
    EXPECT_TRUE(site.holds(into, 0, 1000, 4));
    EXPECT_EQ(site.sum(1, Statistic::kReceiveLength), 1000U);
  });
}

TEST_P(Operations, AShorterGetReportsItsLength) {
  for_each_share([&](Site& site, const Parts& parts) {
    Recorder asker, target;
    const Buffer& sink = site.buffer(3000);
    const Buffer& source = site.buffer(1000);
    site.fill(source, 4);
    site.attach(1, parts.owner, anyone(), source, target, kMdGet | kMdTruncate);
    const MdHandle md = site.bind(0, parts.caller, sink, asker);
    ASSERT_TRUE(site.shard(0, parts.caller).get(md, get_from(site)));
    site.settle();
    EXPECT_EQ(asker.only(EventKind::kReply).accepted_length, 1000U);
    EXPECT_EQ(target.only(EventKind::kGet).accepted_length, 1000U);
    EXPECT_TRUE(site.holds(sink, 0, 1000, 4));
  });
}

TEST_P(Operations, TheSenderGivesTheOffsetOfAManagedRemoteDescriptor) {
  Site site(setup());
  Recorder sender, target;
  const Buffer& from = site.buffer(300);
  const Buffer& into = site.buffer(1000);
  site.fill(from, 4);
  site.attach(1, shards() - 1, anyone(), into, target, kMdPut | kMdManageRemote);
  const MdHandle md = site.bind(0, 0, from, sender);
  PutSpec put = put_to(site);
  put.offset = 600;
  ASSERT_TRUE(site.shard(0, 0).put(md, put));
  site.settle();
  EXPECT_EQ(target.only(EventKind::kPut).offset, 600U);
  EXPECT_EQ(sender.only(EventKind::kSend).offset, 600U);
  EXPECT_TRUE(site.holds(into, 600, 300, 4));
  site.expect_conserved();
}

TEST_P(Operations, ManyGoAtATimeAndEachEndsOnce) {
  Site site(setup());
  Recorder sender, target;
  const Buffer& from = site.buffer(200);
  const Buffer& into = site.buffer(200);
  site.attach(1, shards() / 2, anyone(), into, target, kMdPut | kMdManageRemote);
  std::vector<MdHandle> mds;
  for (unsigned i = 0; i < shards(); ++i)
    mds.push_back(site.bind(0, i, from, sender));
  for (unsigned round = 0; round < 40; ++round) {
    for (unsigned i = 0; i < shards(); ++i)
      ASSERT_TRUE(site.shard(0, i).put(mds[i], put_to(site)));
  }
  site.settle();
  EXPECT_EQ(target.count(EventKind::kPut), 40U * shards());
  EXPECT_EQ(sender.count(EventKind::kSend), 40U * shards());
  EXPECT_EQ(sender.count(EventKind::kAck), 40U * shards());
  for (unsigned i = 0; i < shards(); ++i)
    EXPECT_GE(site.core(0, i).statistics.get(Statistic::kMessagesMax), 40U);
  site.expect_conserved();
}

TEST_P(Operations, ToOneselfBy0AtLo) {
  for (unsigned owner = 0; owner < shards(); ++owner) {
    Site site(setup());
    Recorder user, target;
    const Buffer& from = site.buffer(5000);
    const Buffer& into = site.buffer(5000);
    const Buffer& back = site.buffer(5000);
    site.fill(from, 6);
    site.attach(0, owner, anyone(), into, target, kMdPut | kMdGet | kMdManageRemote);
    const MdHandle put_md = site.bind(0, 0, from, user);
    PutSpec put = put_to(site);
    put.target.nid = ShardCore::kLoopbackNid;
    ASSERT_TRUE(site.shard(0, 0).put(put_md, put));
    site.settle();
    EXPECT_EQ(user.only(EventKind::kAck).accepted_length, 5000U);
    EXPECT_EQ(target.only(EventKind::kPut).initiator.nid, ShardCore::kLoopbackNid);
    const MdHandle get_md = site.bind(0, 0, back, user);
    GetSpec get = get_from(site);
    get.target.nid = ShardCore::kLoopbackNid;
    ASSERT_TRUE(site.shard(0, 0).get(get_md, get));
    site.settle();
    EXPECT_EQ(user.only(EventKind::kReply).accepted_length, 5000U);
    EXPECT_TRUE(site.holds(back, 0, 5000, 6));
    site.expect_conserved();
  }
}

TEST_P(Operations, AnUnknownPeerIsMadeOnBothSides) {
  Site site(setup());
  Recorder user, target;
  const Buffer& from = site.buffer(500);
  const Buffer& into = site.buffer(500);
  site.attach(1, 0, anyone(), into, target, kMdPut);
  const unsigned last = shards() - 1;
  const MdHandle md = site.bind(0, last, from, user);
  ASSERT_TRUE(site.shard(0, last).put(md, put_to(site)));
  site.settle();
  EXPECT_TRUE(user.only(EventKind::kSend).status.has_value());
  EXPECT_EQ(user.count(EventKind::kAck), 1U);
  EXPECT_NE(site.node(0).directory().find(site.nid(1)), nullptr);
  EXPECT_NE(site.node(1).directory().find(site.nid(0)), nullptr);
  site.expect_conserved();
}

TEST_P(Operations, WithoutAPathTheSendEventHasTheCause) {
  Site site(setup());
  Recorder user;
  const Buffer& from = site.buffer(500);
  const MdHandle md = site.bind(0, 0, from, user);
  PutSpec put = put_to(site);
  put.target.nid = Nid::of(NetType::kTcp, 99, 1);
  ASSERT_TRUE(site.shard(0, 0).put(md, put));
  site.settle();
  ASSERT_EQ(user.events.size(), 1U);
  EXPECT_EQ(user.only(EventKind::kSend).status.error(), Errc::kNoRoute);
  EXPECT_EQ(site.sum(0, Cause::kTxNoPath), 1U);
  EXPECT_EQ(site.sum(0, Statistic::kRemoteError), 0U) << "it had come to use no interface";
  EXPECT_EQ(site.sum(0, Statistic::kSendCount), 0U);
  put.target.nid = Nid::any();
  ASSERT_TRUE(site.shard(0, 0).put(md, put));
  site.settle();
  EXPECT_EQ(site.sum(0, Cause::kTxNoPeer), 1U);
  EXPECT_EQ(user.count(EventKind::kSend), 2U);
  site.expect_conserved();
}

INSTANTIATE_TEST_SUITE_P(Wires, Operations, testing::ValuesIn(kEveryWire),
                         testing::PrintToStringParamName());

}  // namespace
}  // namespace plnet::lnet::operations_test
