// SPDX-License-Identifier: BSD-3-Clause
// Records from a shard to readers: complete, in order, or counted as lost.
#include "lib/trace/record/ring.hpp"

#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>

#include <gtest/gtest.h>

#include "lib/base/random.hpp"

namespace plnet::trace::ring_test {
namespace {

constexpr std::size_t kRing = kRingBytesMin;

struct Memory {
  struct Free {
    void operator()(std::byte* at) const { operator delete[](at, std::align_val_t{kNoSharing}); }
  };
  std::size_t size;
  std::unique_ptr<std::byte[], Free> bytes;

  explicit Memory(std::size_t ring = kRing)
      : size(ring_memory_bytes(ring)), bytes(new(std::align_val_t{kNoSharing}) std::byte[size]) {
    std::memset(bytes.get(), 0, size);
  }
  [[nodiscard]] std::span<std::byte> span() const { return {bytes.get(), size}; }
};

RecordHeader numbered(std::uint64_t number) {
  return {.time_ns = number, .payload_length = 64};
}

std::vector<std::byte> payload_of(std::uint64_t number, std::size_t size) {
  return std::vector<std::byte>(size, static_cast<std::byte>(number));
}

bool is_whole(const Record& record) {
  for (const std::byte byte : record.payload) {
    if (byte != static_cast<std::byte>(record.header.time_ns)) return false;
  }
  return true;
}

TEST(TraceRing, CarriesRecordsInOrder) {
  const Memory memory;
  auto writer = RingWriter::create(memory.span(), {}).value();
  auto reader = RingReader::attach(memory.span()).value();
  EXPECT_FALSE(reader.next().value().has_value());
  for (std::uint64_t i = 0; i < 1000; ++i) {
    EXPECT_TRUE(writer.write(numbered(i), payload_of(i, i % 300)));
    const auto record = reader.next().value();
    ASSERT_TRUE(record.has_value());
    EXPECT_EQ(record->header.time_ns, i);
    EXPECT_EQ(record->payload.size(), i % 300);
    EXPECT_TRUE(is_whole(*record));
  }
  EXPECT_EQ(reader.lost(), 0U);
  EXPECT_FALSE(reader.next().value().has_value());
}

TEST(TraceRing, CutsPayloadAtSnapLength) {
  const Memory memory;
  auto writer = RingWriter::create(memory.span(), {}).value();
  auto reader = RingReader::attach(memory.span()).value();
  for (std::uint64_t i = 0; i < 50; ++i) {
    EXPECT_TRUE(writer.write(numbered(i), payload_of(i, 100'000)));
    const auto record = reader.next().value();
    ASSERT_TRUE(record.has_value());
    EXPECT_EQ(record->payload.size(), kRingSnapMax);
    EXPECT_EQ(record->header.captured, kRingSnapMax);
  }
}

TEST(TraceRing, OvertakenReaderCountsAllItLost) {
  const Memory memory;
  auto writer = RingWriter::create(memory.span(), {}).value();
  auto reader = RingReader::attach(memory.span()).value();
  constexpr std::uint64_t kRecords = 5000;
  for (std::uint64_t i = 0; i < kRecords; ++i)
    EXPECT_TRUE(writer.write(numbered(i), payload_of(i, 100)));
  std::uint64_t read = 0;
  std::uint64_t last = 0;
  for (;;) {
    const auto record = reader.next().value();
    if (!record) break;
    EXPECT_TRUE(is_whole(*record));
    EXPECT_TRUE(read == 0 || record->header.time_ns == last + 1);
    last = record->header.time_ns;
    ++read;
  }
  EXPECT_EQ(last, kRecords - 1);
  EXPECT_GT(read, 100U);
  EXPECT_EQ(read + reader.lost(), kRecords);
  EXPECT_EQ(reader.offered(), kRecords);
}

TEST(TraceRing, ShowsRecordsWhenTheyArePublished) {
  const Memory memory;
  auto writer = RingWriter::create(memory.span(), {}).value();
  auto reader = RingReader::attach(memory.span()).value();
  EXPECT_TRUE(writer.append(numbered(1), 7, payload_of(1, 10)));
  EXPECT_FALSE(reader.next().value().has_value());
  EXPECT_EQ(reader.offered(), 0U);
  writer.publish();
  EXPECT_EQ(reader.offered(), 1U);
  const auto record = reader.next().value();
  ASSERT_TRUE(record.has_value());
  EXPECT_EQ(record->header.interface, 7);
  EXPECT_TRUE(is_whole(*record));
  // A long turn is published in parts.
  for (std::uint64_t i = 0; i < 200; ++i)
    EXPECT_TRUE(writer.append(numbered(i), 0, {}));
  EXPECT_TRUE(reader.next().value().has_value());
  EXPECT_GT(reader.offered(), 100U);
}

TEST(TraceRing, KeepsOldestWithoutReaderCursor) {
  const Memory memory;
  auto writer = RingWriter::create(memory.span(), {.keep = Keep::kOldest}).value();
  std::uint64_t written = 0;
  for (std::uint64_t i = 0; i < 2000; ++i)
    written += writer.write(numbered(i), {}) ? 1 : 0;
  EXPECT_LT(written, 2000U);
  auto reader = RingReader::attach(memory.span()).value();
  for (std::uint64_t i = 0; i < written; ++i)
    EXPECT_EQ(reader.next().value().value().header.time_ns, i);
  EXPECT_FALSE(reader.next().value().has_value());
  EXPECT_EQ(reader.offered() - written, 2000 - written);
}

TEST(TraceRing, ReaderCursorMakesRoom) {
  const Memory memory;
  RingWord cursor{0};
  auto writer =
      RingWriter::create(memory.span(), {.keep = Keep::kOldest, .reader_cursor = &cursor}).value();
  auto reader = RingReader::attach(memory.span()).value();
  for (std::uint64_t i = 0; i < 5000; ++i) {
    ASSERT_TRUE(writer.write(numbered(i), payload_of(i, 200)));
    if (i % 7 != 6) continue;
    while (reader.next().value().has_value()) {
    }
    cursor.store(reader.position(), std::memory_order_release);
  }
  EXPECT_EQ(reader.lost(), 0U);
}

TEST(TraceRing, FalseCursorHarmsOnlyItsCapture) {
  const Memory memory;
  RingWord cursor{0};
  auto writer =
      RingWriter::create(memory.span(), {.keep = Keep::kOldest, .reader_cursor = &cursor}).value();
  auto reader = RingReader::attach(memory.span()).value();
  Random random(7);
  for (std::uint64_t i = 0; i < 20'000; ++i) {
    cursor.store(random.next() >> random.below(64), std::memory_order_relaxed);
    (void)writer.write(numbered(i), payload_of(i, random.below(500)));
    if (random.below(50) != 0) continue;
    for (;;) {
      const auto record = reader.next().value();
      if (!record) break;
      EXPECT_TRUE(is_whole(*record));
    }
  }
}

TEST(TraceRing, ReaderRefusesNonsense) {
  const Memory memory;
  EXPECT_FALSE(RingReader::attach(memory.span()).has_value());
  EXPECT_FALSE(RingReader::attach(memory.span().first(100)).has_value());
  EXPECT_FALSE(RingWriter::create(memory.span().first(100), {}).has_value());
  EXPECT_FALSE(RingWriter::create(memory.span().first(memory.size - 8), {}).has_value());
  auto writer = RingWriter::create(memory.span(), {}).value();
  EXPECT_FALSE(RingReader::attach(memory.span().first(memory.size - 8)).has_value());
  auto reader = RingReader::attach(memory.span()).value();
  EXPECT_TRUE(writer.write(numbered(1), {}));
  // After any corruption by a writer, the reader ends or gives up.
  Random random(3);
  for (int round = 0; round < 2000; ++round) {
    for (std::size_t i = 0; i < 64; ++i)
      memory.bytes[kRingControlBytes + i] = static_cast<std::byte>(random.below(4));
    auto other = RingReader::attach(memory.span()).value();
    for (int i = 0; i < 10; ++i) {
      const auto record = other.next();
      if (!record || !record->has_value()) break;
    }
  }
}

TEST(TraceRing, NamesInterfaces) {
  const Memory memory;
  auto writer = RingWriter::create(memory.span(), {}).value();
  const auto reader = RingReader::attach(memory.span()).value();
  const auto nid = lnet::Nid::of(lnet::NetType::kO2ib, 1, 7);
  EXPECT_EQ(writer.add_interface(nid).value(), 0);
  EXPECT_EQ(writer.add_interface(nid).value(), 0);
  EXPECT_EQ(reader.interface(0), nid);
  EXPECT_EQ(reader.interface(1), lnet::Nid());
  for (std::uint32_t i = 1; i < kRecordInterfacesMax; ++i)
    EXPECT_TRUE(writer.add_interface(lnet::Nid::of(lnet::NetType::kTcp, 0, i)).has_value());
  EXPECT_EQ(writer.add_interface(lnet::Nid::of(lnet::NetType::kTcp, 1, 1)).error(), Errc::kNoSpace);
}

}  // namespace
}  // namespace plnet::trace::ring_test
