// SPDX-License-Identifier: BSD-3-Clause
// Writes into an event queue: each size, padding, wrap, drop, thresholds, a second buffer.
#include <cstring>

#include "tests/unit/drivers/cassini/soft/host.hpp"

namespace plnet::cassini::soft::event_write_test {
namespace {

using rigs::Arena;
using rigs::Consumer;

// An event queue alone.
struct Eq {
  explicit Eq(std::size_t bytes = 4096, std::array<unsigned, 4> percent = {})
      : memory(bytes),
        queue({.memory = memory.data(), .bytes = bytes, .threshold_percent = percent}, stats) {
    reader.attach(memory.data(), bytes, queue.software_state());
    reader.acknowledge = false;
  }
  bool write(unsigned size, std::uint64_t mark) {
    EventBuffer event;
    std::memcpy(event.data(), &mark, sizeof mark);
    layout::EqSwitch::EventKind::set(event.data(), 9);
    event.bytes[size - 1] = std::byte{1};
    return queue.write(event, size, 77'000'000'123);
  }
  NicStats stats;
  Arena memory;
  EventQueue queue;
  Consumer reader;
};

TEST(SoftEvents, EachSizeWrapsWithoutAGap) {
  for (const unsigned first : {0U, 16U, 32U}) {
    for (const unsigned size : {16U, 32U, 64U}) {
      Eq eq;
      eq.reader.acknowledge = true;
      if (first != 0) {
        ASSERT_TRUE(eq.write(first, 1));
        EXPECT_EQ(eq.reader.next()->size, first);
      }
      for (std::uint64_t i = 0; i < 1000; ++i) {
        ASSERT_TRUE(eq.write(size, i));
        const auto event = eq.reader.next();
        ASSERT_TRUE(event);
        EXPECT_EQ(event->size, size);
        EXPECT_EQ(event->get<layout::InitiatorShort::UserPtr>(), i);
        EXPECT_EQ((eq.reader.offset() - (eq.reader.offset() == 64 ? 0 : size)) % size, 0U);
      }
      EXPECT_EQ(eq.stats.get(NicStats::Id::kEventsUncleared), 0U);
    }
  }
}

TEST(SoftEvents, GapsAreFilledWithNullEvents) {
  Eq eq;
  ASSERT_TRUE(eq.write(16, 1));
  ASSERT_TRUE(eq.write(64, 2));  // NULL events of 16 and 32 bytes
  ASSERT_TRUE(eq.write(32, 3));
  ASSERT_TRUE(eq.write(16, 4));
  ASSERT_TRUE(eq.write(32, 5));  // a NULL event of 16 bytes
  for (std::uint64_t i = 1; i <= 5; ++i)
    EXPECT_EQ(eq.reader.next()->get<layout::InitiatorShort::UserPtr>(), i);
  EXPECT_EQ(eq.reader.nulls, 3U);
}

TEST(SoftEvents, AFullQueueDropsAndReportsIt) {
  Eq eq;
  for (unsigned i = 0; i < 62; ++i)  // 64 slots, two reserved
    ASSERT_TRUE(eq.write(64, i)) << i;
  EXPECT_EQ(eq.queue.slots_free(), 0U);
  EXPECT_FALSE(eq.write(16, 99));
  using Status = layout::EqStatus;
  const std::byte* status = eq.memory.data();
  EXPECT_EQ(Status::UnackdDropped::get(status), 1U);
  EXPECT_EQ(Status::DropSeqNo::get(status), 1U);
  EXPECT_EQ(Status::SlotsFree::get(status), 0U);
  EXPECT_EQ(Status::WrPtr::get(status), 63U);
  EXPECT_EQ(Status::TimestampSec::get(status), 77U);
  EXPECT_EQ(Status::TimestampSecCopy::get(status), 77U);
  EXPECT_EQ(Status::TimestampNs::get(status), 123U);
  EXPECT_EQ(Status::TimestampNsCopy::get(status), 123U);
  for (unsigned i = 0; i < 62; ++i)
    EXPECT_TRUE(eq.reader.next());
  eq.reader.ack();
  EXPECT_FALSE(eq.write(16, 99)) << "missing parts stay missing";
  EXPECT_EQ(eq.stats.get(NicStats::Id::kEventsDropped), 2U);
}

TEST(SoftEvents, SmallEventsFillASlotBeforeTheyNeedOne) {
  Eq eq;
  for (unsigned i = 0; i < 62 * 4; ++i)
    ASSERT_TRUE(eq.write(16, i)) << i;
  EXPECT_FALSE(eq.write(16, 0));
}

TEST(SoftEvents, TheThresholdIsReported) {
  Eq eq(4096, {50, 0, 0, 0});
  using Status = layout::EqStatus;
  for (unsigned i = 0; i < 31; ++i)
    ASSERT_TRUE(eq.write(64, i));
  EXPECT_EQ(Status::TimestampSec::get(eq.memory.data()), 0U);
  ASSERT_TRUE(eq.write(64, 31));
  EXPECT_EQ(Status::TimestampSec::get(eq.memory.data()), 77U);
  EXPECT_EQ(Status::ThldSts::get(eq.memory.data()), 1U);
  EXPECT_EQ(Status::SlotsFree::get(eq.memory.data()), 30U);
}

TEST(SoftEvents, UnclearedMemoryIsNoticed) {
  Eq eq;
  for (unsigned i = 0; i < 62; ++i)
    ASSERT_TRUE(eq.write(64, i));
  // The reader advances its position without zeroing the slots.
  *eq.queue.software_state() = 33;
  ASSERT_TRUE(eq.write(64, 1));
  ASSERT_TRUE(eq.write(64, 2));
  EXPECT_EQ(eq.stats.get(NicStats::Id::kEventsUncleared), 1U);
}

TEST(SoftEvents, LastByteComesLast) {
  Eq eq;
  eq.queue.set_tearing(true);
  ASSERT_TRUE(eq.write(32, 1));
  EXPECT_NE(eq.memory.data()[64 + 14], std::byte{0});
  EXPECT_EQ(eq.memory.data()[64 + 31], std::byte{0});
  EXPECT_FALSE(eq.reader.next());
  eq.queue.settle();
  EXPECT_TRUE(eq.reader.next());
  ASSERT_TRUE(eq.write(32, 2));
  ASSERT_TRUE(eq.write(32, 3)) << "order stays";
  EXPECT_TRUE(eq.reader.next());
  EXPECT_FALSE(eq.reader.next());
}

TEST(SoftEvents, SecondBuffer) {
  Eq eq;
  ASSERT_TRUE(eq.write(32, 1));
  Arena larger(8192);
  ASSERT_TRUE(eq.queue.resize(larger.data(), larger.size(), 5));
  EXPECT_FALSE(eq.queue.resize(larger.data(), larger.size(), 5)) << "one at a time";
  ASSERT_TRUE(eq.write(64, 2));
  EXPECT_EQ(eq.reader.next()->get<layout::InitiatorShort::UserPtr>(), 1U);
  EXPECT_EQ(static_cast<int>(eq.reader.next()->type), 30);
  EXPECT_FALSE(eq.reader.next());
  Consumer second;
  second.attach(larger.data(), larger.size(), eq.queue.software_state());
  EXPECT_EQ(second.next()->get<layout::InitiatorShort::UserPtr>(), 2U);
  EXPECT_TRUE(eq.queue.resize_complete());
  EXPECT_FALSE(eq.queue.resize_complete());
}

}  // namespace
}  // namespace plnet::cassini::soft::event_write_test
