// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/net/cassini/soft/local_ring.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#include <gtest/gtest.h>

#include "lib/base/random.hpp"

namespace plnet::cassini::soft::local_ring_test {
namespace {

constexpr std::size_t kCapacity = 1024;
constexpr std::size_t kLongest = 400;

struct Rig {
  [[nodiscard]] std::byte* memory() { return reinterpret_cast<std::byte*>(words.data()); }
  LocalRingWriter::Put put(std::size_t header, std::size_t payload) {
    std::vector<std::byte> bytes(header + payload);
    for (std::size_t i = 0; i < bytes.size(); ++i)
      bytes[i] = static_cast<std::byte>(i + written);
    const auto all = std::span<const std::byte>(bytes);
    const auto done = writer.put(all.first(header), all.subspan(header));
    if (done == LocalRingWriter::Put::kDone) ++written;
    return done;
  }
  LocalRingReader::Got take(std::size_t& bytes) {
    std::span<const std::byte> packet;
    const auto got = reader.look(kLongest, packet);
    if (got != LocalRingReader::Got::kPacket) return got;
    bytes = packet.size();
    std::ranges::copy(packet, place.begin());
    reader.pop();
    return got;
  }
  void expect(std::size_t length) {
    std::size_t bytes = 0;
    ASSERT_EQ(take(bytes), LocalRingReader::Got::kPacket);
    ASSERT_EQ(bytes, length);
    for (std::size_t i = 0; i < bytes; ++i)
      ASSERT_EQ(place[i], static_cast<std::byte>(i + taken)) << i;
    ++taken;
  }
  void publish(std::uint64_t written_position) {
    std::memcpy(memory(), &written_position, sizeof written_position);
  }
  void publish_read(std::uint64_t position) {
    std::memcpy(memory() + 64, &position, sizeof position);
  }
  void set_length(std::size_t at, std::uint64_t length) {
    std::memcpy(memory() + kLocalRingHeaderBytes + at, &length, sizeof length);
  }

  std::vector<std::uint64_t> words =
      std::vector<std::uint64_t>((kLocalRingHeaderBytes + kCapacity) / 8);
  LocalRingWriter writer{memory(), kCapacity};
  LocalRingReader reader{memory(), kCapacity};
  std::array<std::byte, kLongest> place{};
  std::size_t written = 0;
  std::size_t taken = 0;
};

TEST(LocalRing, APacketOfHeaderAndPayload) {
  Rig rig;
  std::size_t bytes = 0;
  EXPECT_EQ(rig.take(bytes), LocalRingReader::Got::kEmpty);
  EXPECT_EQ(rig.put(5, 8), LocalRingWriter::Put::kDone);
  EXPECT_EQ(rig.put(0, 0), LocalRingWriter::Put::kDone);
  rig.expect(13);
  rig.expect(0);
  EXPECT_EQ(rig.take(bytes), LocalRingReader::Got::kEmpty);
}

TEST(LocalRing, FullUntilTheReaderHasRead) {
  Rig rig;
  while (rig.put(8, 112) == LocalRingWriter::Put::kDone) {
  }
  EXPECT_EQ(rig.written, kCapacity / 128);
  EXPECT_EQ(rig.put(0, 0), LocalRingWriter::Put::kFull);
  rig.expect(120);
  EXPECT_EQ(rig.put(8, 112), LocalRingWriter::Put::kDone);
  EXPECT_EQ(rig.put(0, 0), LocalRingWriter::Put::kFull);
}

TEST(LocalRing, APlaceIsUsedAgainOnlyAfterItsPacket) {
  Rig rig;
  while (rig.put(8, 112) == LocalRingWriter::Put::kDone) {
  }
  std::span<const std::byte> packet;
  ASSERT_EQ(rig.reader.look(kLongest, packet), LocalRingReader::Got::kPacket);
  EXPECT_EQ(rig.put(8, 112), LocalRingWriter::Put::kFull);
  EXPECT_EQ(packet.size(), 120U);
  EXPECT_EQ(packet.front(), std::byte{0});
  rig.reader.pop();
  EXPECT_EQ(rig.put(8, 112), LocalRingWriter::Put::kDone);
}

TEST(LocalRing, AllLengthsAcrossTheEnd) {
  Rig rig;
  Random random(7);
  std::vector<std::size_t> lengths;
  for (unsigned i = 0; i < 20000; ++i) {
    const auto length = static_cast<std::size_t>(random.below(kLongest + 1));
    if (rig.put(length / 3, length - length / 3) == LocalRingWriter::Put::kDone)
      lengths.push_back(length);
    if (random.chance(0.5) && rig.taken < rig.written) rig.expect(lengths[rig.taken]);
    if (HasFatalFailure()) return;
  }
  while (rig.taken < rig.written)
    rig.expect(lengths[rig.taken]);
}

TEST(LocalRing, PositionsOfAHostileWriterAreRefused) {
  for (const std::uint64_t position : {std::uint64_t{kCapacity + 8}, ~std::uint64_t{0},
                                       std::uint64_t{12}, std::uint64_t{1} << 63}) {
    Rig rig;
    std::size_t bytes = 0;
    rig.publish(position);
    EXPECT_EQ(rig.take(bytes), LocalRingReader::Got::kBroken) << position;
  }
}

TEST(LocalRing, LengthsOfAHostileWriterAreRefused) {
  for (const std::uint64_t length :
       {std::uint64_t{kLongest + 1}, ~std::uint64_t{0} - 1, ~std::uint64_t{0},
        std::uint64_t{1} << 32, std::uint64_t{64}}) {
    Rig rig;
    std::size_t bytes = 0;
    rig.set_length(0, length);
    rig.publish(64);  // a record of 64 bytes has room for a packet of 56
    EXPECT_EQ(rig.take(bytes), LocalRingReader::Got::kBroken) << length;
  }
}

TEST(LocalRing, ARecordAcrossTheEndIsRefused) {
  Rig rig;
  for (unsigned i = 0; i < 7; ++i) {
    ASSERT_EQ(rig.put(0, 120), LocalRingWriter::Put::kDone);
    rig.expect(120);
  }
  std::size_t bytes = 0;
  rig.set_length(896, 200);
  rig.publish(896 + 208);
  EXPECT_EQ(rig.take(bytes), LocalRingReader::Got::kBroken);
}

TEST(LocalRing, PositionsOfAHostileReaderAreRefused) {
  for (const std::uint64_t position : {std::uint64_t{1} << 20, ~std::uint64_t{0}}) {
    Rig rig;
    while (rig.put(0, 120) == LocalRingWriter::Put::kDone) {
    }
    rig.publish_read(position);
    EXPECT_EQ(rig.put(0, 120), LocalRingWriter::Put::kBroken) << position;
  }
}

// Each word of the memory holds garbage: the results differ, but no access leaves the ring.
TEST(LocalRing, GarbageInAllOfTheMemory) {
  Random random(11);
  for (unsigned round = 0; round < 2000; ++round) {
    Rig rig;
    for (std::uint64_t& word : rig.words)
      word = random.chance(0.5) ? random.below(2 * kCapacity) : random.next();
    if (random.chance(0.8)) rig.publish(8 * random.below(kCapacity / 8 + 1));
    std::size_t bytes = 0;
    for (unsigned i = 0; i < 200 && rig.take(bytes) == LocalRingReader::Got::kPacket; ++i)
      ASSERT_LE(bytes, kLongest);
    for (unsigned i = 0; i < 20; ++i)
      (void)rig.put(8, random.below(kLongest - 8));
  }
}

}  // namespace
}  // namespace plnet::cassini::soft::local_ring_test
