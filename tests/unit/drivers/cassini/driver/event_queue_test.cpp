// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <deque>

#include <gtest/gtest.h>

#include "lib/base/random.hpp"
#include "tests/unit/drivers/cassini/driver/queue_memory.hpp"

namespace plnet::cassini::event_queue_test {
namespace {

constexpr unsigned kSizes[] = {16, 32, 64};

// An event of a size with a number in its first word, complete or without its last byte.
void write_event(EventMemory& memory, std::size_t offset, unsigned bytes, std::uint64_t number,
                 EventType type = EventType::kPut, bool complete = true) {
  std::byte* const at = memory.at(offset);
  for (unsigned i = 0; i < bytes; ++i)
    ASSERT_EQ(at[i], std::byte{0}) << "the reader has left something behind";
  std::memcpy(at, &number, sizeof number);
  const unsigned code = bytes == 16 ? 1 : (bytes == 32 ? 2 : 3);
  at[14] = static_cast<std::byte>(code | static_cast<unsigned>(type) << 2U);
  if (complete) at[bytes - 1] = std::byte{1};
}
std::uint64_t number_of(const Event& event) {
  std::uint64_t number = 0;
  std::memcpy(&number, event.at, sizeof number);
  return number;
}
unsigned count(EventQueue& queue, unsigned limit = 100) {
  return queue.poll(limit, [](const Event&) {});
}

TEST(CassiniEventQueue, ReadsBySizeAndAcknowledgesWholeLines) {
  EventMemory memory(4096);
  EventQueue queue(memory.queue());
  EXPECT_EQ(count(queue), 0U);
  EXPECT_EQ(memory.software_state, 0U) << "nothing to acknowledge";
  write_event(memory, 64, 16, 1);
  write_event(memory, 80, 16, 2);
  std::vector<std::uint64_t> seen;
  const auto note = [&](const Event& event) { seen.push_back(number_of(event)); };
  EXPECT_EQ(queue.poll(10, note), 2U);
  EXPECT_EQ(memory.software_state, 0U) << "the line is half read";
  write_event(memory, 96, 32, 3);
  write_event(memory, 128, 64, 4);
  write_event(memory, 192, 32, 5);
  EXPECT_EQ(queue.poll(10, note), 3U);
  EXPECT_EQ(memory.acknowledged(), 3U);
  EXPECT_EQ(seen, (std::vector<std::uint64_t>{1, 2, 3, 4, 5}));
  EXPECT_TRUE(std::ranges::all_of(memory.words, [](std::uint64_t word) { return word == 0; }))
      << "consumed bytes are zero";
}

TEST(CassiniEventQueue, HalfWrittenEventWaitsForItsLastByte) {
  for (const unsigned bytes : kSizes) {
    EventMemory memory(4096);
    EventQueue queue(memory.queue());
    write_event(memory, 64, bytes, 9, EventType::kAck, false);
    EXPECT_EQ(count(queue), 0U) << bytes;
    memory.at(64)[bytes - 1] = std::byte{0xc0};
    EXPECT_EQ(count(queue), 0U) << "only the low six bits are the return code";
    memory.at(64)[bytes - 1] = std::byte{18};
    EXPECT_EQ(queue.poll(10,
                         [&](const Event& event) {
                           EXPECT_EQ(event.type, EventType::kAck);
                           EXPECT_EQ(event.code, ReturnCode::kEntryNotFound);
                           EXPECT_EQ(event.bytes, bytes);
                         }),
              1U);
  }
}

TEST(CassiniEventQueue, LimitAndNullEvents) {
  EventMemory memory(4096);
  EventQueue queue(memory.queue());
  write_event(memory, 64, 16, 1);
  write_event(memory, 80, 16, 0, EventType::kNull);
  write_event(memory, 96, 32, 0, EventType::kNull);
  write_event(memory, 128, 64, 2);
  write_event(memory, 192, 16, 3);
  EXPECT_EQ(count(queue, 1), 1U);
  EXPECT_EQ(count(queue, 3), 1U) << "NULLs count against the limit but are not shown";
  EXPECT_EQ(memory.acknowledged(), 3U);
  EXPECT_EQ(count(queue), 1U);
}

// Rings with every mix of event sizes over many revolutions, against a writer that pads lines as
// the device does.
TEST(CassiniEventQueue, WrapWithEachSize) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    Random random(seed);
    EventMemory memory(4096);
    EventQueue queue(memory.queue());
    std::size_t write = 64;
    std::deque<std::uint64_t> expected;
    std::uint64_t number = 0;
    unsigned unread_lines = 0;
    std::size_t laps = 0;
    for (unsigned step = 0; step < 3000; ++step) {
      const unsigned bytes = kSizes[random.below(3)];
      const auto used = [&] {
        const std::size_t read = queue.offset();
        return write >= read ? write - read : write + (4096 - 64) - read;
      };
      if (used() < 4096 - 64 - 192) {
        while (write % bytes != 0) {
          const unsigned null_bytes = write % 32 != 0 ? 16 : 32;
          write_event(memory, write, null_bytes, 0, EventType::kNull);
          write += null_bytes;
        }
        if (write == 4096) write = 64, ++laps;
        write_event(memory, write, bytes, ++number);
        expected.push_back(number);
        write += bytes;
        if (write == 4096) write = 64, ++laps;
      }
      if (random.below(4) != 0) continue;
      (void)queue.poll(static_cast<unsigned>(random.below(40)), [&](const Event& event) {
        ASSERT_FALSE(expected.empty());
        EXPECT_EQ(number_of(event), expected.front());
        expected.pop_front();
      });
      unread_lines = static_cast<unsigned>(memory.acknowledged());
    }
    EXPECT_GT(laps, 5U);
    EXPECT_LT(unread_lines, 64U) << "a line of the queue";
    EXPECT_FALSE(queue.broken());
  }
}

TEST(CassiniEventQueue, DropShowsInTheStatusSlotOnceTheSnapshotHolds) {
  EventMemory memory(4096);
  EventQueue queue(memory.queue());
  EXPECT_FALSE(queue.dropped());
  EventQueueStatus status{.timestamp_ns_cpy = 5, .unackd_dropped_event = 1, .timestamp_ns = 4};
  memory.write(0, status);
  EXPECT_FALSE(queue.dropped()) << "torn";
  status.timestamp_ns = 5;
  status.event_slots_free = 77;
  std::memset(memory.at(0), 0, 64);
  memory.write(0, status);
  EXPECT_TRUE(queue.dropped());
  EXPECT_EQ(queue.status()->event_slots_free, 77U);
}

TEST(CassiniEventQueue, EventThatDoesNotFitBreaksTheQueue) {
  EventMemory memory(128);
  EventQueue queue(memory.queue());
  write_event(memory, 64, 16, 1);
  EXPECT_EQ(count(queue), 1U);
  memory.at(80)[14] = std::byte{3};
  EXPECT_EQ(count(queue), 0U);
  EXPECT_TRUE(queue.broken());
}

TEST(CassiniEventQueue, ShortEventsAreNotDecodedAsLongOnes) {
  EventMemory memory(4096);
  EventQueue queue(memory.queue());
  write_event(memory, 64, 16, 1);
  EXPECT_EQ(queue.poll(1,
                       [](const Event& event) {
                         EXPECT_FALSE(event.as<TargetEvent>().has_value());
                         EXPECT_FALSE(event.as<TargetLongEvent>().has_value());
                         EXPECT_TRUE(event.as<InitiatorEvent>().has_value());
                       }),
            1U);
}

}  // namespace
}  // namespace plnet::cassini::event_queue_test
