// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include "drivers/net/cassini/commands.hpp"
#include "lib/base/random.hpp"
#include "tests/unit/drivers/cassini/driver/golden.hpp"
#include "tests/unit/drivers/cassini/driver/queue_memory.hpp"

namespace plnet::cassini::command_queue_test {
namespace {

using golden::Json;
namespace vectors = golden::vectors;

constexpr std::uint64_t kMarker = 0x1122'3344'5566'7700;

// A command of a size, with its size code in the first byte and a number that identifies it.
std::uint64_t marked(SizeCode size, unsigned number) {
  return command_byte(CommandType::kIdc, size, opcode::kPut) | (kMarker + number) << 8U;
}
bool push_marked(CommandQueue& queue, SizeCode size, unsigned number) {
  const std::uint64_t word = marked(size, number);
  return queue.push(size, {&word, 1});
}
// Advances an empty queue to a position by commands that the device has read.
void go_to(CommandMemory& memory, CommandQueue& queue, unsigned unit) {
  while (queue.write_unit() != unit) {
    ASSERT_TRUE(push_marked(queue, SizeCode::k32, 0));
    memory.set_read(queue.write_unit() / 2);
  }
}

TEST(CassiniCommandQueue, EverySizeAtEachAlignmentAsTheGoldenOnes) {
  if (!golden::present()) GTEST_SKIP() << "tests/data/vectors/cassini.json is not there";
  for (const Json& vector : golden::group("align")) {
    SCOPED_TRACE(vectors::name(vector));
    CommandMemory memory(64);
    CommandQueue queue(memory.queue());
    go_to(memory, queue, vectors::word(vector, "start_wp32"));
    const auto size = static_cast<SizeCode>(vectors::number(vector, "size_code"));
    const unsigned start = queue.write_unit();
    for (unsigned i = 0; i < vectors::word(vector, "noop_units"); ++i)
      std::memset(memory.words.data() + (start + i) * 4ULL, 0xee, kUnitBytes);
    ASSERT_TRUE(push_marked(queue, size, 7));
    EXPECT_EQ(queue.write_unit(), vectors::number(vector, "next_wp32"));
    std::string padding;
    for (unsigned i = 0; i < vectors::word(vector, "noop_units"); ++i)
      padding += vectors::to_hex({memory.unit(start + i), 8});
    EXPECT_EQ(padding, vectors::hex(vector));
    std::uint64_t word = 0;
    std::memcpy(&word, memory.unit(start + vectors::word(vector, "noop_units")), 8);
    EXPECT_EQ(word, marked(size, 7));
  }
}

TEST(CassiniCommandQueue, CommandsNotBegunLieBehindTheDoorbellOrTheFailure) {
  CommandMemory memory(16);
  CommandQueue queue(memory.queue());
  std::vector<std::uint64_t> ends;
  // More than one revolution: a position alone does not identify a command.
  for (unsigned i = 0; i < 40; ++i) {
    ASSERT_TRUE(push_marked(queue, SizeCode::k64, i));
    ends.push_back(queue.pushed());
    EXPECT_EQ(queue.begun(), i == 0 ? 0 : ends[i - 1]) << "not rung for";
    queue.ring();
    EXPECT_EQ(queue.begun(), ends[i]) << "rung for";
    memory.set_read(queue.write_unit() / 2);
  }
  unsigned stands = queue.write_unit() / 2;
  for (unsigned i = 0; i < 5; ++i)
    ASSERT_TRUE(push_marked(queue, SizeCode::k64, i));
  queue.ring();
  for (unsigned i = 0; i < 2; ++i)
    stands = stands + 1 == 16 ? 4 : stands + 1;
  memory.set_read(stands, ReturnCode::kIllegalOp);
  EXPECT_EQ(queue.pushed() - queue.begun(), 6U) << "the failed one and the two behind it";
  memory.set_read(3, ReturnCode::kIllegalOp);
  EXPECT_EQ(queue.begun(), queue.pushed()) << "a position that no queue has";
}

TEST(CassiniCommandQueue, CounterQueuesPadWithCounterNoops) {
  if (!golden::present()) GTEST_SKIP() << "tests/data/vectors/cassini.json is not there";
  for (const Json& vector : golden::group("align_ct128")) {
    SCOPED_TRACE(vectors::name(vector));
    CommandMemory memory(64);
    CommandQueue queue(memory.queue(), CommandQueue::Padding::kCounterNoop);
    const unsigned start = 16 + vectors::word(vector, "position_mod_8");
    while (queue.write_unit() != start)
      ASSERT_TRUE(push_marked(queue, SizeCode::k64, 0));
    ASSERT_TRUE(push_marked(queue, SizeCode::k128, 1));
    const unsigned padding = vectors::word(vector, "padding_units");
    EXPECT_EQ(queue.write_unit(), start + padding + 4);
    EXPECT_EQ(padding == 0 ? "" : vectors::to_hex({memory.unit(start), 8}), vectors::hex(vector));
  }
}

TEST(CassiniCommandQueue, ProfilePairAsTheGoldenOnes) {
  if (!golden::present()) GTEST_SKIP() << "tests/data/vectors/cassini.json is not there";
  for (const Json& vector : golden::group("lcid_pair")) {
    SCOPED_TRACE(vectors::name(vector));
    CommandMemory memory(64);
    CommandQueue queue(memory.queue());
    const unsigned start = vectors::word(vector, "start_wp32");
    go_to(memory, queue, start);
    ASSERT_TRUE(queue.push_profile(vectors::word(vector, "lcid")));
    EXPECT_EQ(queue.write_unit(), vectors::number(vector, "next_wp32"));
    const std::string expected = vectors::hex(vector);
    for (unsigned i = 0; i * 16 < expected.size(); ++i) {
      const std::string unit = expected.substr(i * 16ULL, 16);
      if (unit.starts_with("ee")) continue;
      EXPECT_EQ(vectors::to_hex({memory.unit(start + i), 8}), unit) << "unit " << i;
    }
  }
}

TEST(CassiniCommandQueue, ArithmeticAsTheGoldenOne) {
  if (!golden::present()) GTEST_SKIP() << "tests/data/vectors/cassini.json is not there";
  const Json free_space = golden::one("free/ring-64")["fields"]["rows"];
  ASSERT_GT(free_space.size(), 20U);
  for (const Json& row : free_space)
    EXPECT_EQ(free_units(row[0], row[1], 128), row[2].get<int>()) << row[0] << " " << row[1];
  const Json wrap = golden::one("wrap/ring-64")["fields"]["rows"];
  ASSERT_EQ(wrap.size(), 32U);
  for (const Json& row : wrap) {
    CommandMemory memory(64);
    CommandQueue queue(memory.queue());
    go_to(memory, queue, row[0]);
    ASSERT_TRUE(push_marked(queue, static_cast<SizeCode>(row[1].get<unsigned>()), 1));
    EXPECT_EQ(queue.write_unit(), row[4].get<unsigned>()) << row[0] << " " << row[1];
  }
  const Json windows = golden::one("low_latency_offset")["fields"]["rows"];
  ASSERT_GT(windows.size(), 20U);
  for (const Json& row : windows)
    EXPECT_EQ(low_latency_offset(row[0]), row[1].get<unsigned>());
  const Json page = golden::one("launch_page");
  EXPECT_EQ(launch::kWritePointer, vectors::number(page, "write_pointer"));
  EXPECT_EQ(launch::kWindow64, vectors::number(page, "ll_64"));
  EXPECT_EQ(launch::kWindow128, vectors::number(page, "ll_128_aligned"));
  EXPECT_EQ(launch::kWindow128Unaligned, vectors::number(page, "ll_128_unaligned"));
  EXPECT_EQ(launch::kUsed, vectors::number(page, "used"));
}

TEST(CassiniCommandQueue, FullRingHasNoRoomUntilTheDeviceReads) {
  CommandMemory memory(64);
  CommandQueue queue(memory.queue());
  unsigned pushed = 0;
  while (push_marked(queue, SizeCode::k64, pushed))
    ++pushed;
  EXPECT_EQ(pushed, 59U) << "60 slots, one of which stays unused";
  queue.ring();
  EXPECT_EQ(memory.doorbell(), 63U);
  EXPECT_FALSE(queue.drained());
  memory.set_read(5);
  EXPECT_TRUE(push_marked(queue, SizeCode::k64, 0));
  EXPECT_FALSE(push_marked(queue, SizeCode::k32, 0));
  queue.ring();
  EXPECT_EQ(memory.doorbell(), 4U) << "wrapped";
  memory.set_read(4);
  EXPECT_TRUE(queue.drained());
}

TEST(CassiniCommandQueue, OddUnitIsFilledUpBeforeTheDoorbell) {
  CommandMemory memory(64);
  CommandQueue queue(memory.queue());
  queue.ring();
  EXPECT_EQ(queue.rings(), 0U) << "nothing to ring for";
  std::memset(memory.words.data() + 9 * 4, 0xee, kUnitBytes);
  ASSERT_TRUE(push_marked(queue, SizeCode::k32, 1));
  EXPECT_EQ(memory.doorbell(), 0U);
  queue.ring();
  EXPECT_EQ(memory.doorbell(), 5U);
  EXPECT_EQ(queue.write_unit(), 10U);
  EXPECT_EQ(memory.words[9 * 4], 0U);
}

TEST(CassiniCommandQueue, LowLatencyWindows) {
  const auto window = [](CommandMemory& memory, unsigned offset) {
    return memory.launch[offset / 8];
  };
  {
    CommandMemory memory(64);
    CommandQueue queue(memory.queue());
    ASSERT_TRUE(push_marked(queue, SizeCode::k64, 1));
    queue.ring_low_latency();
    EXPECT_EQ(window(memory, launch::kWindow64 + 0x100), marked(SizeCode::k64, 1));
    EXPECT_EQ(memory.doorbell(), 0U) << "the window says it all";
    // At unit 10: 128 bytes start at 12, behind one slot of NOOPs that the device skips.
    ASSERT_TRUE(push_marked(queue, SizeCode::k128, 2));
    queue.ring_low_latency();
    EXPECT_EQ(window(memory, launch::kWindow128Unaligned + low_latency_offset(12)),
              marked(SizeCode::k128, 2));
    ASSERT_TRUE(push_marked(queue, SizeCode::k128, 3));
    queue.ring_low_latency();
    EXPECT_EQ(window(memory, launch::kWindow128 + low_latency_offset(16)),
              marked(SizeCode::k128, 3));
    EXPECT_EQ(memory.doorbell(), 0U);
    ASSERT_TRUE(push_marked(queue, SizeCode::k256, 4));
    queue.ring_low_latency();
    EXPECT_EQ(memory.doorbell(), queue.write_unit() / 2) << "256 bytes fit no window";
  }
  CommandMemory memory(64);
  CommandQueue queue(memory.queue());
  for (unsigned i = 0; i < 4; ++i)
    ASSERT_TRUE(push_marked(queue, SizeCode::k64, i));
  queue.ring_low_latency();
  EXPECT_EQ(window(memory, launch::kWindow128 + low_latency_offset(8)), marked(SizeCode::k64, 0));
  EXPECT_EQ(memory.doorbell(), 8U) << "the doorbell is rung for the rest";
}

TEST(CassiniCommandQueue, TheStatusShowsAFailure) {
  CommandMemory memory(64);
  CommandQueue queue(memory.queue());
  EXPECT_FALSE(queue.failed());
  memory.set_read(7, ReturnCode::kCmdInvalidArg);
  EXPECT_TRUE(queue.failed());
  EXPECT_EQ(queue.status().rd_ptr, 7);
  memory.set_read(4);
  memory.words[0] = 0;
  EXPECT_FALSE(queue.failed()) << "not written yet";
  CommandQueue detached;
  EXPECT_FALSE(push_marked(detached, SizeCode::k64, 1));
}

TEST(CassiniCommandQueue, ReadPointerThatNoQueueHasGivesNoRoom) {
  CommandMemory memory(64);
  CommandQueue queue(memory.queue());
  while (push_marked(queue, SizeCode::k64, 0)) {
  }
  for (const unsigned read : {0U, 3U, 64U, 65535U}) {
    memory.set_read(read);
    EXPECT_FALSE(push_marked(queue, SizeCode::k64, 0)) << read;
  }
}

// A reader that follows the size codes finds every command in order, and otherwise only NOOPs.
TEST(CassiniCommandQueue, AReaderFindsTheWrittenCommands) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    Random random(seed);
    const unsigned slots = 16U << random.below(3);
    CommandMemory memory(slots);
    CommandQueue queue(memory.queue());
    unsigned read = kFirstUnit;
    unsigned written = 0;
    unsigned seen = 0;
    std::vector<SizeCode> sizes;
    for (unsigned step = 0; step < 2000; ++step) {
      const auto size = static_cast<SizeCode>(random.below(4));
      if (push_marked(queue, size, written)) {
        sizes.push_back(size);
        ++written;
      }
      if (random.below(3) == 0) queue.ring();
      if (random.below(2) == 0 || memory.doorbell() == 0) continue;
      while (read != memory.doorbell() * 2) {
        std::uint64_t word = 0;
        std::memcpy(&word, memory.unit(read), 8);
        unsigned units = 1;
        if (word != 0) {
          const auto code = size_of(static_cast<std::uint8_t>(word));
          units = bytes_of(code) / kUnitBytes;
          ASSERT_LT(seen, written);
          ASSERT_EQ(word, marked(sizes[seen], seen)) << "seed " << seed;
          ASSERT_EQ(read % units, 0U) << "natural alignment";
          ++seen;
        }
        read += units;
        if (read == slots * 2) read = kFirstUnit;
        ASSERT_LT(read, slots * 2);
      }
      memory.set_read(read / 2);
    }
    EXPECT_GT(seen, 300U);
  }
}

}  // namespace
}  // namespace plnet::cassini::command_queue_test
