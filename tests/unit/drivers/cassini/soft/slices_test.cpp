// SPDX-License-Identifier: BSD-3-Clause
// A step of the fabric is bounded in bytes: long messages move slice by slice, with failures
// between two slices.
#include <algorithm>

#include "tests/unit/drivers/cassini/soft/host.hpp"

namespace plnet::cassini::soft::slices_test {
namespace {

using rigs::Host;
using Ack = layout::InitiatorShort;
using Long = layout::TargetLong;

constexpr std::uint32_t kLongBytes = 1U << 20U;
constexpr std::size_t kStepMax = Fabric::kBytesPerStep + Fabric::kSliceBytes;

struct Two {
  explicit Two(const Freedom& freedom = {})
      : fabric(freedom), a(fabric, host(1, 7)), b(fabric, host(2, 9)) {
    std::fill_n(a.arena.data(), kLongBytes, std::byte{7});
  }
  static rigs::HostOptions host(NicAddress address, unsigned pid) {
    return {.address = address, .pid = pid};
  }
  [[nodiscard]] std::size_t arrived() {
    return static_cast<std::size_t>(
        std::count(b.arena.data(), b.arena.data() + b.arena.size(), std::byte{7}));
  }
  void step() { (void)fabric.step(Host::now_ns += 1000); }
  Fabric fabric;
  Host a, b;
};

TEST(Slices, ALongMessageTakesSeveralSteps) {
  Two two;
  two.b.append(two.b.arena.data(), kLongBytes, 5, 0x77);
  two.a.put(two.b, two.a.arena.data(), kLongBytes, 0x77, 42);
  unsigned steps = 0;
  for (std::size_t before = 0; before < kLongBytes && steps < 100; ++steps) {
    two.step();
    const std::size_t now = two.arrived();
    EXPECT_LE(now - before, kStepMax);
    EXPECT_GT(now, before);
    before = now;
  }
  EXPECT_EQ(steps, kLongBytes / Fabric::kBytesPerStep);
  EXPECT_EQ(two.b.expect(EventType::kPut).get<Long::MLength>(), kLongBytes);
  EXPECT_EQ(two.a.expect(EventType::kAck).get<Ack::UserPtr>(), 42U);
}

TEST(Slices, GetsAndFreedomAreBoundedAsWell) {
  Two two({.seed = 3, .event_after_answer = 0.5, .delay_ns_max = 2000});
  std::fill_n(two.b.arena.data() + kLongBytes, kLongBytes, std::byte{9});
  two.b.append(two.b.arena.data() + kLongBytes, kLongBytes, 5, 0x77);
  two.a.get(two.b, two.a.arena.data() + kLongBytes, kLongBytes, 0x77, 42);
  const std::byte* const into = two.a.arena.data() + kLongBytes;
  std::size_t before = 0;
  for (unsigned steps = 0; before < kLongBytes && steps < 100; ++steps) {
    two.step();
    const auto now = static_cast<std::size_t>(std::count(into, into + kLongBytes, std::byte{9}));
    EXPECT_LE(now - before, kStepMax);
    before = now;
  }
  EXPECT_EQ(before, kLongBytes);
  EXPECT_EQ(two.b.expect(EventType::kGet).get<Long::MLength>(), kLongBytes);
  EXPECT_EQ(two.a.expect(EventType::kReply).get<Ack::MLength>(), kLongBytes);
}

// Many messages just below the slice size: the queue waits for the next step, and the other queue
// gets its turn.
TEST(Slices, ManyOfOneQueueLeaveRoomForTheOther) {
  Two two;
  const unsigned other =
      two.a.nic
          .make_command_queue(two.a.group, {.slots = 256, .transmit = true, .lcid = two.a.lcid})
          .value();
  constexpr std::uint32_t kBytes = Fabric::kSliceBytes;
  constexpr unsigned kEach = 40;
  const auto persistent = [](std::byte* slot) { layout::Target::UseOnce::set(slot, 0); };
  two.b.append(two.b.arena.data(), kBytes, 5, 0x77, persistent);
  for (unsigned i = 0; i < kEach; ++i)
    two.a.put(two.b, two.a.arena.data(), kBytes, 0x77, i);
  two.a.tx.attach(*two.a.nic.command_queue(other));
  two.a.tx.skip_to(kFirstUnit);
  for (unsigned i = 0; i < kEach; ++i)
    two.a.put(two.b, two.a.arena.data(), kBytes, 0x77, 1000 + i);
  unsigned first_of_other = 0;
  unsigned acks = 0;
  for (unsigned steps = 0; steps < 200 && acks < 2 * kEach; ++steps) {
    two.step();
    unsigned now = 0;
    while (const auto event = two.a.events.next()) {
      if (event->get<Ack::UserPtr>() >= 1000 && first_of_other == 0) first_of_other = acks + now;
      ++now;
    }
    EXPECT_LE(now * std::size_t{kBytes}, kStepMax);
    acks += now;
  }
  EXPECT_EQ(acks, 2 * kEach);
  EXPECT_LT(first_of_other, 2 * kStepMax / kBytes) << "its turn came second";
}

TEST(Slices, InvalidatedInTheMiddle) {
  Two two;
  two.b.append(two.b.arena.data(), kLongBytes, 5, 0x77);
  two.a.put(two.b, two.a.arena.data(), kLongBytes, 0x77, 42);
  two.step();
  const std::size_t there = two.arrived();
  ASSERT_GT(there, 0U);
  ASSERT_LT(there, kLongBytes);
  ASSERT_TRUE(two.b.nic.invalidate(two.b.portal, 5, 0));
  (void)two.b.expect(EventType::kPut, ReturnCode::kMstCancelled);
  (void)two.a.expect(EventType::kAck, ReturnCode::kMstCancelled);
  EXPECT_EQ(two.arrived(), there) << "nothing lands any more";
}

TEST(Slices, CablePulledInTheMiddle) {
  Two two;
  two.b.append(two.b.arena.data(), kLongBytes, 5, 0x77);
  two.a.put(two.b, two.a.arena.data(), kLongBytes, 0x77, 42);
  two.step();
  two.fabric.set_link(two.b.nic, false);
  (void)two.a.expect(EventType::kAck, ReturnCode::kUndeliverable);
  (void)two.b.expect(EventType::kPut, ReturnCode::kUncor);
  EXPECT_LT(two.arrived(), kLongBytes);
}

// Either end changes its address, even if another NIC takes over its old one.
TEST(Slices, AddressChangedInTheMiddle) {
  for (const bool is_initiator : {true, false}) {
    for (const bool is_rough : {true, false}) {
      SCOPED_TRACE(std::to_string(is_initiator) + std::to_string(is_rough));
      Two two(is_rough ? Freedom{.seed = 3, .event_after_answer = 0.5, .delay_ns_max = 2000}
                       : Freedom{});
      two.b.append(two.b.arena.data(), kLongBytes, 5, 0x77);
      two.a.put(two.b, two.a.arena.data(), kLongBytes, 0x77, 42);
      for (int i = 0; i < 100 && two.arrived() == 0; ++i)
        two.step();
      ASSERT_LT(two.arrived(), kLongBytes);
      two.fabric.change_address(is_initiator ? two.a.nic : two.b.nic, 7);
      Host other(two.fabric, Two::host(is_initiator ? 1 : 2, 11));
      const auto ack = two.a.expect(EventType::kAck, ReturnCode::kUndeliverable);
      EXPECT_EQ(ack.get<Ack::UserPtr>(), 42U);
      (void)two.b.expect(EventType::kPut, ReturnCode::kUncor);
      EXPECT_LT(two.arrived(), kLongBytes);
      two.a.expect_silence();
      // The next operation succeeds.
      two.b.append(two.b.arena.data(), kLongBytes, 6, 0x77);
      two.a.put(two.b, two.a.arena.data(), 100, 0x77, 43);
      (void)two.a.expect(EventType::kAck);
      (void)two.b.expect(EventType::kPut);
      other.expect_silence();
    }
  }
}

TEST(Slices, MemoryUnmappedInTheMiddle) {
  Two two;
  const unsigned spare =
      two.a.nic.map(two.a.group, two.a.arena.data() + kLongBytes, kLongBytes, true, true).value();
  const MappingEntry from = two.a.nic.mapping(spare);
  two.b.append(two.b.arena.data(), kLongBytes, 5, 0x77);
  two.a.dma(DmaOpcode::kPut, two.b, two.a.arena.data(), kLongBytes, 0x77, 42, [&](std::byte* slot) {
    layout::FullDma::Lac::set(slot, from.lac);
    layout::FullDma::LocalAddr::set(slot, from.iova);
  });
  two.step();
  ASSERT_TRUE(two.a.nic.unmap(spare));
  const auto event = two.a.wait();
  ASSERT_TRUE(event.has_value());
  const ReturnCode code = event ? event->code : ReturnCode::kOk;
  EXPECT_TRUE(code == ReturnCode::kNoTranslation || code == ReturnCode::kInvalidAc);
  (void)two.b.expect(EventType::kPut, ReturnCode::kUncor);
}

}  // namespace
}  // namespace plnet::cassini::soft::slices_test
