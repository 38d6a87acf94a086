// SPDX-License-Identifier: BSD-3-Clause
// Senders that a port accepts and senders that it refuses: NICs that restart or take over an
// address, and forged packets.
#include <cstdint>
#include <memory>
#include <vector>

#include "drivers/net/cassini/soft/atomic.hpp"
#include "tests/unit/drivers/cassini/soft/packet_rig.hpp"

namespace plnet::cassini::soft::packet_strangers_test {
namespace {

using rigs::Host;
using rigs::quick;
using rigs::Rig;
using StrangerLe = layout::Target;

// Appends a persistent entry.
void append_lasting(Host& host) {
  host.append(host.arena.data(), 100, 5, 1, [](std::byte* at) { StrangerLe::UseOnce::set(at, 0); });
}

// After a reboot the clock from which incarnations are made begins at 0, and another machine that
// takes over the address has arbitrary values. For the peer the connection was closed, or still
// open and then forgotten.
TEST(SoftPacketStrangers, APeerWithALowerIncarnationIsAcceptedAgain) {
  for (const bool closed : {true, false}) {
    SCOPED_TRACE(closed);
    PortOptions options = quick();
    if (closed) options.retry.idle_ns = 1'000'000 * options.retry.time_divisor;  // 1 ms
    options.incarnation = 40000;
    Rig rig({}, options);
    append_lasting(*rig.b);
    rig.a->put(*rig.b, rig.a->arena.data(), 100, 1, 1);
    rig.a->expect(EventType::kAck);
    Host::now_ns += 2'000'000;
    rig.run(10);
    EXPECT_EQ(rig.two.port.targets(), closed ? 0U : 1U);
    Host::now_ns += std::uint64_t{1} << 36;
    std::destroy_at(&rig.one.port);
    options.incarnation = 20000;
    std::construct_at(&rig.one.port, rig.one.nic, rig.one.wire, options);
    rig.a->put(*rig.b, rig.a->arena.data(), 100, 1, 2);
    rig.a->expect(EventType::kAck);
    EXPECT_EQ(rig.two.port.count(PortCounters::Id::kReceived), 2U);
  }
}

constexpr unsigned kEpochs = 8;  // a forger need not know the right epoch

// Delivers it as an answer from that wire to the first NIC of a rig.
void answer(InprocWire& wire, NicAddress from, const Packet& packet) {
  Packet lie = packet;
  lie.message.source = 1;
  lie.message.destination = from;
  ASSERT_TRUE(wire.send(1, encode(lie), {}));
}

TEST(SoftPacketStrangers, AConnectionThatWasNeverOpenedIsNotClosed) {
  PortOptions options = quick();
  options.source_connections = 4096;
  Rig rig({}, options);
  InprocWire none(rig.cable, 0);  // an unused record names destination 0
  for (const PacketType type : {PacketType::kCleared, PacketType::kClosed}) {
    for (const unsigned number : {0U, 9U, 4000U}) {
      const Packet lie{.type = type, .connection = static_cast<std::uint16_t>(number)};
      answer(rig.two.wire, 2, lie);
      answer(none, 0, lie);
    }
  }
  rig.run(10);
  EXPECT_EQ(rig.one.port.count(PortCounters::Id::kClosed), 0U);
}

TEST(SoftPacketStrangers, OnlyTheAskedPeerConfirmsAClose) {
  PortOptions options = quick();
  options.retry.idle_ns = 1'000'000 * options.retry.time_divisor;  // 1 ms
  Rig rig({}, options);
  InprocWire third(rig.cable, 3);
  append_lasting(*rig.b);
  rig.a->put(*rig.b, rig.a->arena.data(), 100, 1, 1);
  rig.a->expect(EventType::kAck);
  rig.two.wire.set_link(false);
  Host::now_ns += 2'000'000;
  rig.run(3);
  for (std::uint32_t epoch = 0; epoch < kEpochs; ++epoch)
    answer(third, 3, {.type = PacketType::kClosed, .epoch = epoch});
  rig.run(3);
  EXPECT_EQ(rig.one.port.connections(), 1U);
  EXPECT_EQ(rig.one.port.count(PortCounters::Id::kClosed), 0U);
}

TEST(SoftPacketStrangers, OnlyThePeerCanRefuseItsPackets) {
  Rig rig;
  InprocWire third(rig.cable, 3);
  append_lasting(*rig.b);
  rig.two.wire.set_link(false);
  rig.a->put(*rig.b, rig.a->arena.data(), 100, 1, 1);
  rig.run(3);
  for (std::uint32_t epoch = 0; epoch < kEpochs; ++epoch) {
    answer(third, 3,
           {.type = PacketType::kNack, .sequence = 1, .epoch = epoch, .code = ReturnCode::kUncor});
  }
  rig.run(3);
  EXPECT_FALSE(rig.a->events.next());
  EXPECT_EQ(rig.one.port.retry_handler().count(RetryCounters::Id::kNacks), 0U);
  rig.two.wire.set_link(true);
  rig.a->expect(EventType::kAck);
}

// The low six bits of these codes are 0: an event with them and the events behind it would be
// unreadable.
TEST(SoftPacketStrangers, ACodeThatDoesNotFitIntoAnEventIsRefused) {
  Rig rig;
  InprocWire third(rig.cable, 3);
  append_lasting(*rig.b);
  for (const unsigned code : {0x40U, 0x80U, 0xc0U}) {
    PacketHeader lie = encode({.syn = true,
                               .eom = true,
                               .sequence = 1,
                               .epoch = code,
                               .length = 100,
                               .message = {.vni = rigs::kVni,
                                           .pid = 9,
                                           .source = 3,
                                           .destination = 2,
                                           .length = 100,
                                           .match_bits = 1}});
    layout::WirePacket::Code::set(lie.data(), code);
    ASSERT_TRUE(third.send(2, lie, std::vector<std::byte>(100)));
  }
  rig.run(3);
  EXPECT_EQ(rig.two.port.count(PortCounters::Id::kBad), 3U);
  rig.a->put(*rig.b, rig.a->arena.data(), 100, 1, 1);
  rig.a->expect(EventType::kAck);
  rig.b->expect(EventType::kPut);
}

// Requests that no NIC sends: of other lengths than their type has, cut, or in several parts.
TEST(SoftPacketStrangers, AForgedAtomicLeavesTheMemory) {
  Rig rig;
  InprocWire third(rig.cable, 3);
  append_lasting(*rig.b);
  rig.b->arena.data()[0] = std::byte{40};
  std::uint32_t epoch = 0;
  const auto lie = [&](AtomicRequest request, std::uint32_t length, std::size_t bytes, bool eom) {
    request.first.fill(std::byte{2});
    const auto payload = std::as_bytes(std::span(&request, 1));
    const PacketHeader header = encode({.syn = true,
                                        .eom = eom,
                                        .sequence = 1,
                                        .epoch = ++epoch,
                                        .length = length,
                                        .message = {.operation = Operation::kFetchingAtomic,
                                                    .vni = rigs::kVni,
                                                    .pid = 9,
                                                    .source = 3,
                                                    .destination = 2,
                                                    .length = length,
                                                    .match_bits = 1}});
    ASSERT_TRUE(third.send(2, header, payload.first(bytes)));
    rig.run(3);
  };
  constexpr std::size_t kWhole = sizeof(AtomicRequest);
  const AtomicRequest good{};
  lie(good, 8, 0, true);
  lie(good, 8, kWhole - 1, true);
  lie(good, 4, kWhole, true);
  lie(good, 100, kWhole, true);
  lie(good, 1U << 30U, kWhole, true);
  lie(good, 8, kWhole, false);
  lie({.operation = static_cast<AtomicOperation>(3)}, 8, kWhole, true);
  lie({.type = static_cast<AtomicType>(200)}, 8, kWhole, true);
  lie({.type = static_cast<AtomicType>(200)}, 0, kWhole, true);
  EXPECT_EQ(rig.b->arena.data()[0], std::byte{40});
  lie(good, 8, kWhole, true);
  EXPECT_EQ(rig.b->arena.data()[0], std::byte{42});
}

// One sender holds all that it can: connections, unfinished messages, answers that it never clears.
// Another one's messages still arrive.
struct GreedySender {
  explicit GreedySender(const PortOptions& options) : rig({}, options), third(rig.cable, 3) {
    append_lasting(*rig.b);
  }
  void send(unsigned connection, unsigned sequence, bool whole) {
    const PacketHeader header = encode({.syn = true,
                                        .eom = whole,
                                        .connection = static_cast<std::uint16_t>(connection),
                                        .sequence = static_cast<std::uint16_t>(sequence),
                                        .epoch = 1,
                                        .message = {.vni = rigs::kVni,
                                                    .pid = 9,
                                                    .source = 3,
                                                    .destination = 2,
                                                    .length = whole ? 0U : 50U,
                                                    .match_bits = 1}});
    ASSERT_TRUE(third.send(2, header, {}));
    rig.run(1);
  }
  void expect_others_arrive() {
    rig.a->put(*rig.b, rig.a->arena.data(), 100, 1, 1);
    rig.a->expect(EventType::kAck);
    rig.a->put(*rig.b, rig.a->arena.data(), 100, 1, 1);
    rig.a->expect(EventType::kAck);
  }
  Rig rig;
  InprocWire third;
};

TEST(SoftPacketStrangers, ASenderLeavesConnectionsToOthers) {
  GreedySender greedy(quick());
  for (unsigned i = 0; i < 40; ++i)
    greedy.send(i, 1, true);
  EXPECT_EQ(greedy.rig.two.port.targets(), 9U) << "of 16";
  greedy.expect_others_arrive();
}

TEST(SoftPacketStrangers, ASenderLeavesUnfinishedMessagesToOthers) {
  PortOptions options = quick();
  options.message_states = 6;
  options.payload_max = 64;
  GreedySender greedy(options);
  for (unsigned i = 0; i < 8; ++i)
    greedy.send(i, 1, false);
  greedy.expect_others_arrive();
}

TEST(SoftPacketStrangers, ASenderLeavesAnswersToOthers) {
  PortOptions options = quick();
  options.remembered_responses = 32;
  GreedySender greedy(options);
  for (unsigned i = 0; i < 64; ++i)
    greedy.send(0, 1 + i, true);
  EXPECT_EQ(greedy.rig.two.port.count(PortCounters::Id::kReceived), 17U) << "of 32";
  greedy.expect_others_arrive();
}

TEST(SoftPacketStrangers, AnAnswerOfMoreBytesThanWereSent) {
  Rig rig;
  append_lasting(*rig.b);
  rig.two.wire.set_link(false);
  rig.a->put(*rig.b, rig.a->arena.data(), 100, 1, 1);
  rig.run(3);
  for (std::uint32_t epoch = 0; epoch < kEpochs; ++epoch)
    answer(rig.two.wire, 2,
           {.type = PacketType::kAck, .sequence = 1, .epoch = epoch, .mlength = 1U << 31U});
  rig.two.wire.set_link(true);
  rig.run(3);
  EXPECT_EQ(rig.a->expect(EventType::kAck).get<layout::InitiatorShort::MLength>(), 100U);
}

}  // namespace
}  // namespace plnet::cassini::soft::packet_strangers_test
