// SPDX-License-Identifier: BSD-3-Clause
// The lifetime of a connection, wires that change, and faults between a port and its wire.
#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "drivers/net/cassini/soft/backend_soft.hpp"
#include "drivers/net/cassini/soft/fault_wire.hpp"
#include "drivers/net/cassini/soft/key_table.hpp"
#include "tests/unit/drivers/cassini/soft/packet_rig.hpp"

namespace plnet::cassini::soft::packet_life_test {
namespace {

using rigs::Host;
using rigs::quick;
using rigs::Rig;
using LifeLe = layout::Target;
using LifeAck = layout::InitiatorShort;

PortOptions short_lived() {
  PortOptions options = quick();
  options.retry.idle_ns = 1'000'000 * options.retry.time_divisor;  // 1 ms
  return options;
}

// Appends a persistent entry.
void append_lasting(Host& host, unsigned length) {
  host.append(host.arena.data(), length, 5, 1, [](std::byte* at) { LifeLe::UseOnce::set(at, 0); });
}

TEST(SoftPacketLife, AnIdleConnectionIsClosedInThreeSteps) {
  Rig rig({}, short_lived());
  append_lasting(*rig.b, 100);
  for (std::uint64_t round = 1; round <= 3; ++round) {
    rig.a->put(*rig.b, rig.a->arena.data(), 100, 1, 1);
    EXPECT_EQ(rig.a->expect(EventType::kAck).code, ReturnCode::kOk);
    EXPECT_EQ(rig.one.port.connections(), 1U);
    EXPECT_EQ(rig.two.port.targets(), 1U);
    Host::now_ns += 2'000'000;
    rig.run(10);
    EXPECT_EQ(rig.one.port.connections(), 0U);
    EXPECT_EQ(rig.two.port.targets(), 0U);
    EXPECT_EQ(rig.one.port.count(PortCounters::Id::kClosed), round);
  }
  EXPECT_EQ(rig.one.port.count(PortCounters::Id::kForced), 0U);
  EXPECT_EQ(rig.one.port.retry_handler().count(RetryCounters::Id::kNacks), 0U);
}

// The first packet of a connection is repeated after its end: it must not open another connection.
TEST(SoftPacketLife, PacketsOfAClosedConnectionAreNotExecutedAgain) {
  Rig rig({}, short_lived());
  append_lasting(*rig.b, 100);
  class Tap final : public WireEvents {
   public:
    void on_packet(NicAddress, std::span<const std::byte> packet) override {
      first.assign(packet.begin(), packet.end());
    }
    void on_link(bool, NicAddress) override {}
    std::vector<std::byte> first;
  } tap;
  rig.a->put(*rig.b, rig.a->arena.data(), 100, 1, 1);
  for (unsigned i = 0; i < 5 && tap.first.empty(); ++i) {
    rig.one.port.step(Host::now_ns += 2000);
    (void)rig.two.wire.poll(Host::now_ns, tap);
  }
  ASSERT_FALSE(tap.first.empty());
  ASSERT_TRUE(rig.one.wire.send(2, tap.first, {}));
  EXPECT_EQ(rig.a->expect(EventType::kAck).code, ReturnCode::kOk);
  Host::now_ns += 2'000'000;
  rig.run(10);
  ASSERT_EQ(rig.two.port.targets(), 0U);
  ASSERT_TRUE(rig.one.wire.send(2, tap.first, {}));
  rig.run(10);
  EXPECT_EQ(rig.two.port.targets(), 0U);
  EXPECT_EQ(rig.two.port.count(PortCounters::Id::kReceived), 1U);
  EXPECT_EQ(rig.two.port.count(PortCounters::Id::kDuplicates), 1U);
  // The next connection of that number is a new one.
  rig.a->put(*rig.b, rig.a->arena.data(), 100, 1, 2);
  EXPECT_EQ(rig.a->expect(EventType::kAck).code, ReturnCode::kOk);
  EXPECT_EQ(rig.two.port.count(PortCounters::Id::kReceived), 2U);
  // Packets of the former connection, and answers to them, are ignored.
  ASSERT_TRUE(rig.one.wire.send(2, tap.first, {}));
  std::optional<Packet> answer = decode(tap.first);
  ASSERT_TRUE(answer.has_value());
  answer->type = PacketType::kAck;
  ASSERT_TRUE(rig.two.wire.send(1, encode(*answer), {}));
  answer->type = PacketType::kNack;
  ASSERT_TRUE(rig.two.wire.send(1, encode(*answer), {}));
  answer->type = PacketType::kClosed;
  ASSERT_TRUE(rig.two.wire.send(1, encode(*answer), {}));
  rig.run(10);
  EXPECT_EQ(rig.two.port.count(PortCounters::Id::kReceived), 2U);
  EXPECT_EQ(rig.two.port.count(PortCounters::Id::kLate), 1U);
  EXPECT_EQ(rig.one.port.count(PortCounters::Id::kLate), 3U);
}

TEST(SoftPacketLife, ASilentTargetIsAskedFourTimesThenForced) {
  Rig rig({}, short_lived());
  append_lasting(*rig.b, 100);
  rig.a->put(*rig.b, rig.a->arena.data(), 100, 1, 1);
  rig.a->expect(EventType::kAck);
  rig.two.wire.set_link(false);
  Host::now_ns += 2'000'000;
  for (int i = 0; i < 4; ++i) {
    rig.run(3);
    EXPECT_EQ(rig.one.port.connections(), 1U) << i;
    Host::now_ns += 200'000;
  }
  rig.run(3);
  EXPECT_EQ(rig.one.port.connections(), 0U);
  EXPECT_EQ(rig.one.port.count(PortCounters::Id::kForced), 1U);
  // The former peer still remembers it; the next connection replaces it.
  rig.two.wire.set_link(true);
  rig.run(3);
  EXPECT_EQ(rig.two.port.targets(), 1U);
  rig.a->put(*rig.b, rig.a->arena.data(), 100, 1, 2);
  rig.a->expect(EventType::kAck);
  EXPECT_EQ(rig.two.port.targets(), 1U);
}

// As under a sleeping poller: a port is stepped only when it is due or when a packet has arrived.
TEST(SoftPacketLife, SteppingOnlyWhenDueMissesNothing) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(seed);
    Rig rig({.seed = seed, .drop = 0.1}, short_lived());
    append_lasting(*rig.b, 50'000);
    rig.a->put(*rig.b, rig.a->arena.data(), 50'000, 1, 1);
    rig.run(1);  // the command
    unsigned steps = 0;
    for (bool any = true; any && steps < 10'000; ++steps) {
      const std::uint64_t due = std::min(rig.one.port.next_due(), rig.two.port.next_due());
      const bool came = !rig.one.wire.empty() || !rig.two.wire.empty();
      any = came || due != UINT64_MAX;
      if (!came && any) Host::now_ns = std::max(Host::now_ns + 1, due);
      if (any) rig.step(Host::now_ns);
    }
    EXPECT_LT(steps, 2'000U) << "and is not stepped for nothing";
    EXPECT_EQ(rig.a->expect(EventType::kAck).code, ReturnCode::kOk);
    EXPECT_EQ(rig.one.port.connections() + rig.two.port.targets(), 0U) << "closed, and at rest";
  }
}

TEST(SoftPacketLife, ATargetWithoutRoomForAnswersTurnsAway) {
  Rig rig({}, quick());
  append_lasting(*rig.b, 100);
  rig.two.port.set_responses_max(0);
  rig.a->put(*rig.b, rig.a->arena.data(), 100, 1, 1);
  rig.run(20);
  const RetryHandler& retry = rig.one.port.retry_handler();
  EXPECT_GT(retry.count(RetryCounters::Id::kNoTarget), 3U);
  EXPECT_EQ(rig.two.port.count(PortCounters::Id::kReceived), 0U);
  rig.two.port.set_responses_max(8);
  EXPECT_EQ(rig.a->expect(EventType::kAck).code, ReturnCode::kOk);
  EXPECT_EQ(rig.two.port.count(PortCounters::Id::kReceived), 1U);
}

// The answers are lost, so the target keeps their state and has no room for the next request. While
// that request is refused repeatedly, the timeouts of the earlier ones continue.
TEST(SoftPacketLife, LostAnswersAreAskedForThoughALaterRequestIsTurnedAway) {
  PortOptions options = quick();
  options.remembered_responses = 2;
  Rig rig({}, options);
  append_lasting(*rig.b, 100);
  for (unsigned i = 1; i <= 2; ++i)
    rig.a->put(*rig.b, rig.a->arena.data(), 100, 1, i);
  rig.one.port.step(Host::now_ns += 2000);
  rig.cable.faults.drop = 1;
  rig.two.port.step(Host::now_ns += 2000);
  rig.cable.faults.drop = 0;
  EXPECT_EQ(rig.two.port.count(PortCounters::Id::kReceived), 2U);
  rig.a->put(*rig.b, rig.a->arena.data(), 100, 1, 3);
  rig.run(5000);
  EXPECT_EQ(rig.two.port.count(PortCounters::Id::kReceived), 3U);
  EXPECT_GT(rig.one.port.retry_handler().count(RetryCounters::Id::kNoTarget), 0U);
  EXPECT_GT(rig.one.port.retry_handler().count(RetryCounters::Id::kTimeouts), 0U);
  for (unsigned i = 1; i <= 3; ++i)
    EXPECT_EQ(rig.a->expect(EventType::kAck).code, ReturnCode::kOk);
}

// A packet waits for its third attempt as the response to an earlier one arrives.
TEST(SoftPacketLife, ALateResponseEndsTheWaitForTheNextAttempt) {
  Rig rig;
  append_lasting(*rig.b, 100);
  rig.a->put(*rig.b, rig.a->arena.data(), 100, 1, 1);
  while (rig.one.port.retry_handler().count(RetryCounters::Id::kTimeouts) < 2)
    rig.one.port.step(Host::now_ns += 2000);
  rig.a->put(*rig.b, rig.a->arena.data(), 100, 1, 2);
  rig.run(10);
  EXPECT_EQ(rig.two.port.count(PortCounters::Id::kReceived), 2U);
  for (unsigned i = 1; i <= 2; ++i)
    EXPECT_EQ(rig.a->expect(EventType::kAck).code, ReturnCode::kOk);
}

// Under another address the target would treat it as a message of another sender.
TEST(SoftPacketLife, NothingIsRepeatedAfterAnAddressChange) {
  Rig rig({}, quick());
  append_lasting(*rig.b, 100);
  rig.a->put(*rig.b, rig.a->arena.data(), 100, 1, 1);
  rig.one.port.step(Host::now_ns += 2000);
  rig.cable.faults.drop = 1;
  rig.two.port.step(Host::now_ns += 2000);
  rig.cable.faults.drop = 0;
  rig.one.wire.change_address(3);
  rig.run(1000);
  EXPECT_EQ(rig.two.port.count(PortCounters::Id::kReceived), 1U);
  rig.a->expect(EventType::kAck, ReturnCode::kUndeliverable);
  rig.a->put(*rig.b, rig.a->arena.data(), 100, 1, 2);
  rig.a->expect(EventType::kAck);
  EXPECT_EQ(rig.two.port.count(PortCounters::Id::kReceived), 2U);
}

TEST(SoftPacketLife, AMessageMayComeAtEveryStepOfTheClose) {
  for (unsigned steps = 0; steps < 12; ++steps) {
    SCOPED_TRACE(steps);
    Rig rig({.delay_ns = 3000}, short_lived());
    append_lasting(*rig.b, 100);
    rig.a->put(*rig.b, rig.a->arena.data(), 100, 1, 1);
    rig.a->expect(EventType::kAck);
    rig.b->expect(EventType::kPut);
    Host::now_ns += 2'000'000;
    rig.run(steps);
    rig.a->put(*rig.b, rig.a->arena.data(), 100, 1, 2);
    EXPECT_EQ(rig.a->expect(EventType::kAck).get<LifeAck::UserPtr>(), 2U);
    rig.b->expect(EventType::kPut);
    rig.b->expect_silence();
  }
}

// Connections are opened and closed a hundred times as often as fit at a time.
TEST(SoftPacketLife, NumbersAreUsedAgain) {
  PortOptions options = short_lived();
  options.source_connections = options.target_connections = 1;
  Rig rig({}, options);
  append_lasting(*rig.b, 100);
  for (std::uint64_t i = 0; i < 100; ++i) {
    rig.a->put(*rig.b, rig.a->arena.data(), 100, 1, i);
    EXPECT_EQ(rig.a->expect(EventType::kAck).code, ReturnCode::kOk);
    Host::now_ns += 2'000'000;
    rig.run(10);
  }
  EXPECT_EQ(rig.one.port.count(PortCounters::Id::kClosed), 100U);
}

TEST(SoftPacketLife, AnotherMtuIsFollowed) {
  Rig rig;
  for (const std::size_t bytes : {2300U, 600U, 1500U, 9000U}) {
    SCOPED_TRACE(bytes);
    rig.cable.faults.packet_bytes_max = bytes;
    rig.b->append(rig.b->arena.data(), 1U << 20, 5, 1);
    rig.a->put(*rig.b, rig.a->arena.data(), 20'000, 1, 1);
    EXPECT_EQ(rig.a->expect(EventType::kAck).code, ReturnCode::kOk);
    EXPECT_EQ(std::memcmp(rig.b->arena.data(), rig.a->arena.data(), 20'000), 0);
    rig.b->append(rig.a->arena.data(), 20'000, 6, 2);
  }
  EXPECT_EQ(rig.cable.longest, 2048U + kPacketHeaderBytes) << "buffers are as long as at the start";
}

TEST(SoftPacketLife, PacketsFitBothEnds) {
  for (const bool near : {true, false}) {
    SCOPED_TRACE(near);
    Rig rig({.packet_bytes_max = 9000});
    (near ? rig.one : rig.two).wire.set_packet_bytes_max(700);
    rig.b->append(rig.b->arena.data(), 1U << 20, 5, 1);
    rig.a->put(*rig.b, rig.a->arena.data(), 20'000, 1, 1);
    EXPECT_EQ(rig.a->expect(EventType::kAck).code, ReturnCode::kOk);
    rig.b->expect(EventType::kPut);
    EXPECT_EQ(std::memcmp(rig.b->arena.data(), rig.a->arena.data(), 20'000), 0);
    rig.b->append(rig.b->arena.data(), 20'000, 6, 2);
    std::byte* const to = rig.a->arena.data() + (2U << 20);
    rig.a->get(*rig.b, to, 20'000, 2);
    EXPECT_EQ(rig.a->expect(EventType::kReply).code, ReturnCode::kOk);
    EXPECT_EQ(std::memcmp(to, rig.b->arena.data(), 20'000), 0);
    EXPECT_EQ(rig.cable.longest, 700U);
    EXPECT_EQ(rig.one.port.retry_handler().count(RetryCounters::Id::kTimeouts), 0U);
  }
}

// Packets in flight that are too long now are lost; the next message fits.
TEST(SoftPacketLife, AReceiverThatGetsLessRoomUnderWay) {
  Rig rig;
  append_lasting(*rig.b, 1U << 20);
  rig.two.wire.set_link(false);
  rig.a->put(*rig.b, rig.a->arena.data(), 20'000, 1, 1);
  while (rig.one.port.count(PortCounters::Id::kSent) == 0)
    rig.run(1);
  rig.two.wire.set_packet_bytes_max(700);
  rig.two.wire.set_link(true);
  std::optional<rigs::Event> ack;
  for (int tries = 0; tries < 50 && !ack; ++tries)
    ack = rig.a->wait();
  ASSERT_TRUE(ack);
  EXPECT_EQ(ack->code, ReturnCode::kUndeliverable);
  rig.a->put(*rig.b, rig.a->arena.data(), 20'000, 1, 2);
  EXPECT_EQ(rig.a->expect(EventType::kAck).code, ReturnCode::kOk);
}

// Either end moves at any moment: the operation ends once and is executed at most once. Later
// operations succeed.
TEST(SoftPacketLife, AnAddressThatChangesUnderWay) {
  unsigned undeliverable = 0;
  for (const bool is_initiator : {true, false}) {
    for (unsigned steps = 0; steps < 40; ++steps) {
      SCOPED_TRACE(std::to_string(steps) + (is_initiator ? " initiator" : " target"));
      Rig rig({.delay_ns = 3000});
      append_lasting(*rig.b, 1U << 20);
      rig.a->put(*rig.b, rig.a->arena.data(), 200'000, 1, 1);
      rig.a->put(*rig.b, rig.a->arena.data(), 100, 1, 2);
      rig.run(steps);
      (is_initiator ? rig.one : rig.two).wire.change_address(5);
      for (std::uint64_t user = 1; user <= 2; ++user) {
        std::optional<rigs::Event> ack;
        for (int tries = 0; tries < 200 && !ack; ++tries)
          ack = rig.a->wait();
        ASSERT_TRUE(ack);
        EXPECT_EQ(ack->get<LifeAck::UserPtr>(), user);
        if (ack->code != ReturnCode::kOk) {
          EXPECT_EQ(ack->code, ReturnCode::kUndeliverable);
          ++undeliverable;
        }
      }
      rig.a->expect_silence();
      // The NID may be parked, and the target discards partial messages.
      Host::now_ns += 96'000'000'000 / 10000;
      rig.run(10);
      while (rig.b->events.next()) {
      }
      rig.a->put(*rig.b, rig.a->arena.data(), 100, 1, 3);
      EXPECT_EQ(rig.a->expect(EventType::kAck).get<LifeAck::UserPtr>(), 3U);
      rig.b->expect(EventType::kPut);
      rig.b->expect_silence();
    }
  }
  EXPECT_GT(undeliverable, 20U);
}

TEST(SoftPacketLife, WithoutARetryHandlerNothingIsSentAgain) {
  PortOptions options = quick();
  options.retry.running = false;
  Rig rig({}, options);
  SoftBackend backend(rig.one.port.gate(), {&rig.one.nic});
  EXPECT_FALSE(backend.devices().value()[0].retry_handler);
  append_lasting(*rig.b, 100);
  rig.two.wire.set_link(false);
  rig.a->put(*rig.b, rig.a->arena.data(), 100, 1, 1);
  rig.a->expect(EventType::kAck, ReturnCode::kUndeliverable);
  EXPECT_EQ(rig.one.port.retry_handler().count(RetryCounters::Id::kTimeouts), 1U);
  rig.two.wire.set_link(true);
  for (std::uint64_t i = 0; i < 3; ++i) {
    rig.a->put(*rig.b, rig.a->arena.data(), 100, 1, i);
    rig.a->expect(EventType::kAck);
  }
  EXPECT_EQ(rig.one.port.retry_handler().count(RetryCounters::Id::kNidsParked), 0U);
  EXPECT_EQ(rig.one.port.count(PortCounters::Id::kResent), 0U);
}

// An initiator that is refused for want of room at the target is notified, too.
TEST(SoftPacketLife, WithoutARetryHandlerARefusalIsTheEnd) {
  PortOptions options = quick();
  options.retry.running = false;
  options.remembered_responses = 0;
  Rig rig({}, options);
  append_lasting(*rig.b, 100);
  rig.a->put(*rig.b, rig.a->arena.data(), 100, 1, 1);
  rig.a->expect(EventType::kAck, ReturnCode::kCanceled);
  EXPECT_EQ(rig.one.port.count(PortCounters::Id::kResent), 0U);
}

// Restricted operations belong to no connection for software: each ends once, in any order.
TEST(SoftPacketLife, RestrictedOperationsOvertakeOneAnother) {
  constexpr std::uint64_t kPuts = 40;
  Rig rig({.seed = 5, .drop = 0.1, .reorder = 0.3, .delay_ns = 3000});
  Host plain(rig.two.nic, [&](std::uint64_t now) { rig.step(now); },
             {.address = 2, .pid = 10, .portal = {.matching = false}});
  append_lasting(plain, 1U << 20);
  for (std::uint64_t i = 0; i < kPuts; ++i) {
    rig.a->dma(DmaOpcode::kPut, plain, rig.a->arena.data() + i * 100, 100, 0, i,
               [&](std::byte* at) {
                 layout::FullDma::Restricted::set(at, 1);
                 layout::FullDma::RemoteOffset::set(at, i * 100);
               });
  }
  std::vector<std::uint64_t> ended;
  for (int tries = 0; tries < 200 && ended.size() < kPuts; ++tries) {
    const auto ack = rig.a->wait();
    if (!ack) continue;
    EXPECT_EQ(ack->code, ReturnCode::kOk);
    ended.push_back(ack->get<LifeAck::UserPtr>());
  }
  EXPECT_FALSE(std::ranges::is_sorted(ended));
  std::ranges::sort(ended);
  ASSERT_EQ(ended.size(), kPuts);
  for (std::uint64_t i = 0; i < kPuts; ++i)
    EXPECT_EQ(ended[i], i);
  EXPECT_EQ(std::memcmp(plain.arena.data(), rig.a->arena.data(), kPuts * 100), 0);
  EXPECT_LE(rig.one.port.connections(), 4U);
}

TEST(SoftPacketLife, AnswersOfManyRequestsAreOne) {
  Rig rig({.delay_ns = 10'000});
  append_lasting(*rig.b, 1U << 20);
  for (std::uint64_t i = 0; i < 50; ++i)
    rig.a->put(*rig.b, rig.a->arena.data(), 100, 1, i);
  for (std::uint64_t i = 0; i < 50; ++i)
    EXPECT_EQ(rig.a->expect(EventType::kAck).get<LifeAck::UserPtr>(), i);
  EXPECT_LT(rig.two.port.count(PortCounters::Id::kAnswers), 25U);
}

TEST(SoftFaultWire, AppliesItsFaults) {
  InprocCable cable({.packet_bytes_max = 2300});
  InprocWire near(cable, 1);
  InprocWire far(cable, 2);
  FaultWire wire(near, {.seed = 7, .drop = 0.1, .duplicate = 0.1, .late = 0.1});
  class Count final : public WireEvents {
   public:
    void on_packet(NicAddress, std::span<const std::byte> packet) override {
      ++packets;
      late += packet[0] < last ? 1U : 0U;
      last = packet[0];
    }
    void on_link(bool, NicAddress) override {}
    std::uint64_t packets = 0, late = 0;
    std::byte last{};
  } count, nobody;
  std::array<std::byte, 8> header{};
  for (unsigned i = 0; i < 200; ++i) {
    header[0] = static_cast<std::byte>(i);
    EXPECT_TRUE(wire.send(2, header, {}));
    if (i % 4 == 0) (void)wire.poll(i, nobody);
    (void)far.poll(i, count);
  }
  for (unsigned i = 0; i < 20; ++i) {
    (void)wire.poll(300 + i, nobody);
    (void)far.poll(300 + i, count);
  }
  using Id = FaultWireCounters::Id;
  EXPECT_GT(wire.count(Id::kDropped), 5U);
  EXPECT_GT(wire.count(Id::kDuplicated), 5U);
  EXPECT_GT(wire.count(Id::kLate), 5U);
  EXPECT_GT(count.late, 0U);
  EXPECT_EQ(count.packets, 200 - wire.count(Id::kDropped) + wire.count(Id::kDuplicated));
  wire.cut = true;
  EXPECT_TRUE(wire.send(2, header, {}));
  (void)far.poll(400, count);
  EXPECT_EQ(count.packets, 200 - wire.count(Id::kDropped) + 1 + wire.count(Id::kDuplicated));
}

TEST(SoftKeyTable, AgainstAMap) {
  KeyTable table(64);
  Random random(5);
  std::map<std::uint64_t, std::uint16_t> same;
  for (unsigned i = 0; i < 20'000; ++i) {
    const std::uint64_t key = random.below(200);
    const auto found = same.find(key);
    EXPECT_EQ(table.find(key), found == same.end() ? KeyTable::kNone : found->second);
    if (found != same.end()) {
      table.remove(key);
      same.erase(found);
    } else if (same.size() < 64) {
      table.add(key, static_cast<std::uint16_t>(i));
      same[key] = static_cast<std::uint16_t>(i);
    }
    ASSERT_EQ(table.count(), same.size());
  }
}

}  // namespace
}  // namespace plnet::cassini::soft::packet_life_test
