// SPDX-License-Identifier: BSD-3-Clause
// The life of a connection, wires that change, and what stands between a port and its wire.
#include <array>
#include <cstring>
#include <map>
#include <optional>

#include "drivers/net/cassini/soft/fault_wire.hpp"
#include "drivers/net/cassini/soft/key_table.hpp"
#include "tests/unit/drivers/cassini/soft/packet_rig.hpp"

namespace plnet::cassini::soft {
namespace {

using testing::Host;
using testing::quick;
using testing::Rig;
using LifeLe = layout::Target;
using LifeAck = layout::InitiatorShort;

PortOptions short_lived() {
  PortOptions options = quick();
  options.retry.idle_ns = 1'000'000 * options.retry.time_divisor;  // 1 ms
  return options;
}

// What can be appended again and again.
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
  // Who it was still remembers: the next connection takes its place.
  rig.two.wire.set_link(true);
  rig.run(3);
  EXPECT_EQ(rig.two.port.targets(), 1U);
  rig.a->put(*rig.b, rig.a->arena.data(), 100, 1, 2);
  rig.a->expect(EventType::kAck);
  EXPECT_EQ(rig.two.port.targets(), 1U);
}

// As a poller that sleeps does it: nobody is stepped but when he says, or a packet has come.
TEST(SoftPacketLife, WhoIsSteppedWhenSomethingIsDueMissesNothing) {
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

// The answers are lost, so the target goes on remembering them and has no room for the next
// request. While that is turned away again and again, the time of those before it runs on.
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

// Under another address the target would take it for a message of somebody else.
TEST(SoftPacketLife, WhoseAddressChangesSendsNothingAgain) {
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

// Connections come and go a hundred times as often as there is room for at a time.
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

TEST(SoftPacketLife, AnswersOfManyRequestsAreOne) {
  Rig rig({.delay_ns = 10'000});
  append_lasting(*rig.b, 1U << 20);
  for (std::uint64_t i = 0; i < 50; ++i)
    rig.a->put(*rig.b, rig.a->arena.data(), 100, 1, i);
  for (std::uint64_t i = 0; i < 50; ++i)
    EXPECT_EQ(rig.a->expect(EventType::kAck).get<LifeAck::UserPtr>(), i);
  EXPECT_LT(rig.two.port.count(PortCounters::Id::kAnswers), 25U);
}

TEST(SoftFaultWire, DoesWhatItIsTold) {
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
}  // namespace plnet::cassini::soft
