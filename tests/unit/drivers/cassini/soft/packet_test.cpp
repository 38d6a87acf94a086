// SPDX-License-Identifier: BSD-3-Clause
// NICs on a wire that loses, repeats and delays packets: each operation is executed once, and each
// command ends once and with the specified return code.
#include <algorithm>
#include <cstring>
#include <memory>
#include <string>

#include "tests/mocks/seeds.hpp"
#include "tests/unit/drivers/cassini/soft/packet_rig.hpp"

namespace plnet::cassini::soft::packet_test {
namespace {

using rigs::Event;
using rigs::Host;
using rigs::Lines;
using rigs::quick;
using rigs::Rig;
using Le = layout::Target;
using Ack = layout::InitiatorShort;

TEST(SoftPacket, HeadersSurviveTheWire) {
  for (const FieldAccess& field : layout::WirePacket::fields()) {
    PacketHeader header = encode({.sequence = 5});
    const std::uint64_t max = ~std::uint64_t{0} >> (64 - field.info.width);
    field.set(header.data(), max);
    EXPECT_EQ(field.get(header.data()), max) << field.info.name;
  }
  Packet packet{.type = PacketType::kContinuation,
                .syn = true,
                .eom = true,
                .attempt = 3,
                .connection = 4000,
                .sequence = 4095,
                .cleared = 77,
                .expected = 78,
                .epoch = 0x12345678,
                .message_id = 99,
                .length = 2048,
                .offset = 0x1122334455,
                .code = ReturnCode::kResourceBusy,
                .mlength = 0xfffffff0,
                .list = ListKind::kOverflow,
                .message = {.operation = Operation::kGet,
                            .restricted = true,
                            .traffic_class = 2,
                            .index = 171,
                            .vni = 255,
                            .pid = 510,
                            .source = 0xabcde,
                            .destination = 0xfedcb,
                            .initiator = 0xcafe,
                            .length = 0xffffffff,
                            .remote_offset = 0xffeeddccbbaa99,
                            .match_bits = 1,
                            .header_data = 2}};
  const auto back = decode(encode(packet));
  ASSERT_TRUE(back);
  EXPECT_EQ(encode(*back), encode(packet));
  EXPECT_EQ(back->message.index, 171);
  EXPECT_EQ(back->message.pid, 510);
  EXPECT_EQ(back->code, ReturnCode::kResourceBusy);
  PacketHeader bad = encode(packet);
  bad[0] ^= std::byte{1};
  EXPECT_FALSE(decode(bad));
  bad = encode(packet);
  bad[4] = std::byte{1};
  EXPECT_FALSE(decode(bad)) << "another version";
  for (unsigned code = 0; code < 256; ++code) {
    bad = encode(packet);
    layout::WirePacket::Code::set(bad.data(), code);
    EXPECT_EQ(decode(bad).has_value(), code != 0 && code < 64) << "events have six bits for it";
  }
  const PacketHeader whole = encode(packet);
  EXPECT_FALSE(decode(std::span(whole).first(87)));
}

TEST(SoftPacket, HeaderOfARendezvous) {
  Packet packet{
      .type = PacketType::kFirst,
      .sequence = 1,
      .message = {.length = 100'000, .rendezvous = true, .rendezvous_id = 9, .eager_length = 4096}};
  const auto back = decode(encode(packet));
  ASSERT_TRUE(back);
  EXPECT_TRUE(back->message.rendezvous);
  EXPECT_EQ(back->message.rendezvous_id, 9);
  EXPECT_EQ(eager_bytes(back->message), 4096U);
  packet.message.restricted = true;
  EXPECT_FALSE(decode(encode(packet)));
  packet.message.restricted = false;
  packet.message.operation = Operation::kFetchingAtomic;
  EXPECT_FALSE(decode(encode(packet)));
  packet.message.rendezvous = false;
  EXPECT_EQ(decode(encode(packet))->message.operation, Operation::kFetchingAtomic);
  PacketHeader bad = encode(packet);
  layout::WirePacket::Opcode::set(bad.data(), 5);
  EXPECT_FALSE(decode(bad));
}

TEST(SoftPacket, SequenceNumbersGoRound) {
  EXPECT_EQ(sequence_after(4095), 1U);
  EXPECT_EQ(sequence_after(1), 2U);
  EXPECT_EQ(sequence_distance(4095, 1), 1);
  EXPECT_EQ(sequence_distance(1, 4095), -1);
  EXPECT_EQ(sequence_distance(7, 7), 0);
}

void move_every_length(const WireFaults& faults) {
  Rig rig(faults);
  for (const std::uint32_t length : {0U, 1U, 2047U, 2048U, 2049U, 65536U, 1048576U}) {
    rig.b->append(rig.b->arena.data(), 1U << 21, 5, 1);
    rig.a->put(*rig.b, rig.a->arena.data() + 3, length, 1, length);
    const Event put = rig.b->expect(EventType::kPut);
    EXPECT_EQ(put.code, ReturnCode::kOk);
    const Event ack = rig.a->expect(EventType::kAck);
    EXPECT_EQ(ack.get<Ack::MLength>(), length);
    EXPECT_EQ(ack.get<Ack::UserPtr>(), length);
    EXPECT_EQ(std::memcmp(rig.b->arena.data(), rig.a->arena.data() + 3, length), 0);
    rig.b->append(rig.b->arena.data(), 1U << 21, 6, 2);
    std::byte* const to = rig.a->arena.data() + (2U << 20);
    std::memset(to, 0, length + 1);
    rig.a->get(*rig.b, to, length, 2);
    rig.a->expect(EventType::kReply);
    rig.b->expect(EventType::kGet);
    EXPECT_EQ(std::memcmp(to, rig.b->arena.data(), length), 0);
    EXPECT_EQ(to[length], std::byte{0});
  }
}

TEST(SoftPacket, EveryLengthBothWays) {
  move_every_length({});
}

// Responses to GETs then leave the target at once, or wait for the wire.
TEST(SoftPacket, EveryLengthOnAWireThatKeepsAll) {
  move_every_length({.keeps_all = true});
  move_every_length({.packets_max = 2, .keeps_all = true});
}

TEST(SoftPacket, AnswersOfTheTarget) {
  Rig rig;
  rig.a->put(*rig.b, rig.a->arena.data(), 5000, 1);
  EXPECT_EQ(rig.a->expect(EventType::kAck, ReturnCode::kEntryNotFound).get<Ack::TgtError>(), 1U);
  rig.b->append(rig.b->arena.data(), 3000, 5, 1);
  rig.a->put(*rig.b, rig.a->arena.data(), 5000, 1);
  EXPECT_EQ(rig.a->expect(EventType::kAck).get<Ack::MLength>(), 3000U);
  const Event put = rig.b->expect(EventType::kPut);
  EXPECT_EQ(put.get<layout::TargetLong::RLength>(), 5000U);
  EXPECT_EQ(rig.b->arena.data()[3000], std::byte{0});
  rig.b->append(rig.b->arena.data(), 3000, 5, 1, [](std::byte* at) { Le::OpPut::set(at, 0); });
  rig.a->put(*rig.b, rig.a->arena.data(), 5000, 1);
  rig.a->expect(EventType::kAck, ReturnCode::kOpViolation);
}

// On any wire each message is executed once and each command ends once.
TEST(SoftPacket, OnceUnderAllFaultsOfTheWire) {
  const std::uint64_t kSeeds = mocks::seeds_of(150);
  std::uint64_t duplicates = 0, gaps = 0, resent = 0;
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Rig rig({.seed = seed, .drop = 0.05, .duplicate = 0.1, .reorder = 0.2, .delay_ns = 3000},
            quick(seed));
    Random random(seed);
    rig.b->append(rig.b->arena.data(), 1U << 20, 5, 1, [](std::byte* at) {
      Le::UseOnce::set(at, 0);
      Le::ManageLocal::set(at, 1);
    });
    std::vector<std::uint32_t> lengths;
    for (std::uint64_t i = 0; i < 20; ++i) {
      lengths.push_back(static_cast<std::uint32_t>(1 + random.below(9000)));
      rig.a->put(*rig.b, rig.a->arena.data() + i, lengths.back(), 1, i);
    }
    for (std::uint64_t i = 0; i < 20; ++i) {
      std::optional<Event> ack;
      for (int tries = 0; tries < 50 && !ack; ++tries)
        ack = rig.a->wait();
      ASSERT_TRUE(ack);
      EXPECT_EQ(ack->code, ReturnCode::kOk);
      EXPECT_EQ(ack->get<Ack::UserPtr>(), i) << "one connection, one order";
    }
    std::uint64_t offset = 0;
    for (std::uint64_t i = 0; i < 20; ++i) {
      const Event put = rig.b->expect(EventType::kPut);
      EXPECT_EQ(put.get<layout::TargetLong::MLength>(), lengths[i]);
      EXPECT_EQ(std::memcmp(rig.b->arena.data() + offset, rig.a->arena.data() + i, lengths[i]), 0);
      offset += lengths[i];
    }
    rig.b->expect_silence();
    rig.a->expect_silence();
    duplicates += rig.two.port.count(PortCounters::Id::kDuplicates) > 0 ? 1 : 0;
    gaps += rig.two.port.count(PortCounters::Id::kGaps) > 0 ? 1 : 0;
    resent += rig.one.port.count(PortCounters::Id::kResent) > 0 ? 1 : 0;
  }
  EXPECT_GT(duplicates, kSeeds * 2 / 3);
  EXPECT_GT(gaps, kSeeds * 2 / 3);
  EXPECT_GT(resent, kSeeds * 2 / 3);
}

TEST(SoftPacket, GetsOnAWireThatLoses) {
  for (std::uint64_t seed = 0; seed < mocks::seeds_of(50); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Rig rig({.seed = seed, .drop = 0.03, .duplicate = 0.1, .reorder = 0.1, .delay_ns = 3000},
            quick(seed));
    std::memcpy(rig.b->arena.data(), rig.a->arena.data(), 30000);
    rig.b->append(rig.b->arena.data(), 30000, 5, 1);
    std::byte* const to = rig.a->arena.data() + (2U << 20);
    std::memset(to, 0, 30000);
    rig.a->get(*rig.b, to, 30000, 1);
    std::optional<Event> reply;
    for (int tries = 0; tries < 50 && !reply; ++tries)
      reply = rig.a->wait();
    ASSERT_TRUE(reply);
    EXPECT_EQ(reply->code, ReturnCode::kOk);
    EXPECT_EQ(std::memcmp(to, rig.a->arena.data(), 30000), 0);
    rig.b->expect(EventType::kGet);
    rig.b->expect_silence();
  }
}

TEST(SoftPacket, TablesOfTheTargetRunOut) {
  PortOptions options = quick();
  options.message_states = 0;
  options.remembered_responses = 4;
  Rig rig({}, options);
  rig.b->append(rig.b->arena.data(), 1U << 20, 5, 1,
                [](std::byte* at) { Le::UseOnce::set(at, 0); });
  for (std::uint64_t i = 0; i < 50; ++i)
    rig.a->put(*rig.b, rig.a->arena.data(), 100, 1, i);
  for (std::uint64_t i = 0; i < 50; ++i)
    EXPECT_EQ(rig.a->expect(EventType::kAck).get<Ack::UserPtr>(), i);
  EXPECT_GT(rig.one.port.retry_handler().count(RetryCounters::Id::kNoTarget), 0U);
}

TEST(SoftPacket, CableThatStaysPulled) {
  Rig rig;
  rig.two.wire.set_link(false);
  rig.a->put(*rig.b, rig.a->arena.data(), 100, 1, 1);
  const std::uint64_t begin = Host::now_ns;
  std::optional<Event> ack;
  for (int tries = 0; tries < 50 && !ack; ++tries)
    ack = rig.a->wait();
  ASSERT_TRUE(ack);
  EXPECT_EQ(ack->code, ReturnCode::kUndeliverable);
  EXPECT_EQ(ack->get<Ack::TgtError>(), 0U);
  // Five time-outs and the intervals between them: 0, 4, 8, 12 s.
  const std::uint64_t took = (Host::now_ns - begin) * 10000;
  EXPECT_GT(took, 29'000'000'000U);
  EXPECT_LT(took, 31'000'000'000U);
  EXPECT_EQ(rig.one.port.retry_handler().count(RetryCounters::Id::kTimeouts), 5U);
  EXPECT_EQ(rig.one.port.retry_handler().count(RetryCounters::Id::kRetries), 4U);
  ASSERT_FALSE(rig.lines.all.empty());
  EXPECT_EQ(rig.lines.all[0], "packet undeliverable sct=0 spt=1 nid=2 rc=UNDELIVERABLE");
  // A second failure parks the NID; afterwards commands fail at once.
  rig.a->put(*rig.b, rig.a->arena.data(), 100, 1, 2);
  for (int tries = 0; tries < 50 && !(ack = rig.a->wait());)
    ++tries;
  EXPECT_EQ(rig.one.port.retry_handler().count(RetryCounters::Id::kNidsParked), 1U);
  rig.a->put(*rig.b, rig.a->arena.data(), 100, 1, 3);
  rig.run(1);
  ASSERT_TRUE((ack = rig.a->events.next()));
  EXPECT_EQ(ack->code, ReturnCode::kUndeliverable);
  // 96 s later the cable is connected again and commands succeed.
  rig.two.wire.set_link(true);
  Host::now_ns += 96'000'000'000 / 10000;
  rig.b->append(rig.b->arena.data(), 100, 5, 1);
  rig.a->put(*rig.b, rig.a->arena.data(), 100, 1, 4);
  rig.a->expect(EventType::kAck);
}

// Each packet in flight counts, so that commands queued behind them do not wait for timeouts of
// their own.
TEST(SoftPacket, SeveralThatAreGivenUpTogetherParkTheNid) {
  Rig rig;
  rig.two.wire.set_link(false);
  constexpr std::uint64_t kMessages = 200;  // more than a window
  for (std::uint64_t i = 0; i < kMessages; ++i)
    rig.a->put(*rig.b, rig.a->arena.data(), 100, 1, i);
  const std::uint64_t begin = Host::now_ns;
  for (std::uint64_t i = 0; i < kMessages; ++i) {
    std::optional<Event> ack;
    for (int tries = 0; tries < 50 && !ack; ++tries)
      ack = rig.a->wait();
    ASSERT_TRUE(ack) << i;
    EXPECT_EQ(ack->code, ReturnCode::kUndeliverable);
  }
  EXPECT_LT((Host::now_ns - begin) * 10000, 31'000'000'000U);
  const RetryHandler& handler = rig.one.port.retry_handler();
  EXPECT_EQ(handler.count(RetryCounters::Id::kNidsParked), 1U);
  EXPECT_GT(handler.count(RetryCounters::Id::kUndeliverable), 1U);
  EXPECT_LT(handler.count(RetryCounters::Id::kUndeliverable), kMessages) << "that were out";
}

TEST(SoftPacket, PeerThatStartedAgain) {
  Rig rig;
  rig.b->append(rig.b->arena.data(), 100, 5, 1);
  rig.a->put(*rig.b, rig.a->arena.data(), 100, 1, 1);
  rig.a->expect(EventType::kAck);
  std::destroy_at(&rig.two.port);
  PortOptions options = quick();
  options.incarnation = 1;
  std::construct_at(&rig.two.port, rig.two.nic, rig.two.wire, options);
  rig.b->append(rig.b->arena.data(), 100, 5, 1);
  rig.a->put(*rig.b, rig.a->arena.data(), 100, 1, 2);
  rig.a->expect(EventType::kAck, ReturnCode::kCanceled);
  EXPECT_EQ(rig.one.port.retry_handler().count(RetryCounters::Id::kNoMatchingConn), 1U);
  rig.a->put(*rig.b, rig.a->arena.data(), 100, 1, 3);
  rig.a->expect(EventType::kAck);
}

TEST(SoftPacket, IdleConnectionsBeginAnew) {
  Rig rig;
  for (std::uint64_t i = 0; i < 3; ++i) {
    rig.b->append(rig.b->arena.data(), 100, 5, 1);
    rig.a->put(*rig.b, rig.a->arena.data(), 100, 1, i);
    rig.a->expect(EventType::kAck);
    // Longer than the target keeps a connection.
    Host::now_ns += std::uint64_t{1} << 36;
    rig.run(3);
  }
  EXPECT_EQ(rig.one.port.retry_handler().count(RetryCounters::Id::kNacks), 0U);
}

TEST(SoftPacket, AddressThatChanged) {
  Rig rig;
  rig.two.wire.change_address(5);
  rig.run(2);
  EXPECT_EQ(rig.two.nic.address(), 5U);
  rig.b->append(rig.b->arena.data(), 100, 5, 1);
  rig.a->put(*rig.b, rig.a->arena.data(), 100, 1, 1);  // to its present address
  rig.a->expect(EventType::kAck);
}

TEST(SoftPacket, HalfReceivedMessageIsCut) {
  Rig rig({.delay_ns = 100000});
  rig.b->append(rig.b->arena.data(), 1U << 20, 5, 1);
  rig.a->put(*rig.b, rig.a->arena.data(), 1U << 20, 1, 1);
  while (rig.two.port.count(PortCounters::Id::kReceived) == 0)
    rig.run(1);
  ASSERT_TRUE(rig.two.nic.invalidate(rig.b->portal, 5, 0));
  std::vector<std::byte> before(rig.b->arena.data(), rig.b->arena.data() + (1U << 20));
  rig.a->expect(EventType::kAck, ReturnCode::kMstCancelled);
  rig.b->expect(EventType::kPut, ReturnCode::kMstCancelled);
  EXPECT_TRUE(std::equal(before.begin(), before.end(), rig.b->arena.data()));
}

TEST(SoftRetry, RefusalsAreAnsweredAsThePolicySays) {
  RetryHandler handler({}, Random(1));
  const PacketName name{.sct = 1, .spt = 2, .nid = 3};
  PacketHistory busy;
  for (int i = 1; i < 10; ++i) {
    const auto decision = handler.refused(name, busy, ReturnCode::kResourceBusy, true);
    EXPECT_TRUE(decision.again);
    if (i <= 3) {
      EXPECT_EQ(decision.after_ns, 0U);
    } else {
      EXPECT_GE(decision.after_ns,
                std::min((std::uint64_t{1} << 35) / 2000 * 2 << (i - 3), std::uint64_t{1} << 34));
      EXPECT_LE(decision.after_ns, std::uint64_t{1} << 34);
    }
  }
  auto last = handler.refused(name, busy, ReturnCode::kResourceBusy, true);
  EXPECT_FALSE(last.again);
  EXPECT_EQ(last.code, ReturnCode::kCanceled);
  PacketHistory forgotten;
  EXPECT_TRUE(handler.refused(name, forgotten, ReturnCode::kNoMatchingConn, false).again);
  EXPECT_EQ(handler.refused(name, forgotten, ReturnCode::kNoMatchingConn, false).code,
            ReturnCode::kCanceled);
  PacketHistory established;
  EXPECT_EQ(handler.refused(name, established, ReturnCode::kNoMatchingConn, true).code,
            ReturnCode::kCanceled);
  PacketHistory small;
  EXPECT_TRUE(handler.refused(name, small, ReturnCode::kNoTargetTrs, true).small_batch);
  PacketHistory pending;
  for (int i = 1; i < 10; ++i)
    EXPECT_TRUE(handler.refused(name, pending, ReturnCode::kTrsPendRsp, true).again);
  EXPECT_EQ(handler.refused(name, pending, ReturnCode::kTrsPendRsp, true).code,
            ReturnCode::kCanceled);
  PacketHistory odd;
  EXPECT_EQ(handler.refused(name, odd, ReturnCode::kOk, true).code, ReturnCode::kUncor);
}

TEST(SoftRetry, ThreeParkedNidsParkTheirSwitch) {
  Lines lines;
  RetryHandler handler({}, Random(1), &lines);
  for (NicAddress nid = 0x40; nid < 0x43; ++nid) {
    EXPECT_FALSE(handler.parked(0x44, 1000));
    for (int packet = 0; packet < 2; ++packet) {
      PacketHistory history;
      for (std::uint64_t seconds = 0; seconds <= 12; seconds += 4) {
        const auto decision = handler.timed_out({.nid = nid}, history, 1000);
        EXPECT_TRUE(decision.again);
        EXPECT_EQ(decision.after_ns, seconds * 1'000'000'000);
      }
      EXPECT_EQ(handler.timed_out({.nid = nid}, history, 1000).code, ReturnCode::kUndeliverable);
    }
    EXPECT_TRUE(handler.parked(nid, 1000));
  }
  EXPECT_TRUE(handler.parked(0x44, 1000)) << "behind the same switch";
  EXPECT_FALSE(handler.parked(0x80, 1000));
  EXPECT_FALSE(handler.parked(0x40, 1000 + 96'000'000'000));
  EXPECT_EQ(handler.count(RetryCounters::Id::kSwitchesParked), 1U);
  EXPECT_EQ(std::ranges::count(lines.all, "switch parked sct=0 spt=0 nid=64 rc=UNDELIVERABLE"), 1);
}

}  // namespace
}  // namespace plnet::cassini::soft::packet_test
