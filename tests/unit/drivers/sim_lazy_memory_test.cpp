// SPDX-License-Identifier: BSD-3-Clause
// Lazy arenas alone: they behave like plain memory wherever their contents are read.
#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "drivers/net/sim/byte_queue.hpp"
#include "drivers/net/sim/lazy_memory.hpp"
#include "lib/base/random.hpp"

namespace plnet::drivers::sim_lazy_memory_test {
namespace {

constexpr std::uint64_t kMegabyte = 1U << 20U;

class Lazy : public ::testing::Test {
 protected:
  void SetUp() override {
    auto reserved = LazyMemory::reserve(1ULL << 36U);
    ASSERT_TRUE(reserved.has_value());
    lazy = std::move(*reserved);
    arena = lazy->make_arena(64 * kMegabyte).value();
  }
  [[nodiscard]] std::span<std::byte> memory(std::uint64_t at, std::uint64_t count) const {
    return {arena.base + at, count};
  }
  [[nodiscard]] std::vector<std::byte> read(std::uint64_t at, std::uint64_t count) const {
    std::vector<std::byte> bytes(count);
    lazy->copy(bytes.data(), memory(at, count));
    return bytes;
  }
  std::unique_ptr<LazyMemory> lazy;
  Arena arena;
};

TEST(Pattern, IsTheSameFromWhereverItIsWritten) {
  std::vector<std::byte> whole(1000);
  write_pattern({7, 0, 1000}, whole);
  for (std::size_t from = 0; from < 140; ++from) {
    std::vector<std::byte> part(500);
    write_pattern({7, from, 500}, part);
    EXPECT_TRUE(std::equal(part.begin(), part.end(), whole.begin() + static_cast<int>(from)));
    EXPECT_FALSE(first_wrong({7, from, 500}, part).has_value());
    for (const std::size_t shift : {1U, 7U, 8U, 9U, 64U})
      EXPECT_LT(first_wrong({7, from + shift, 500}, part), 5U) << "shifted by " << shift;
    EXPECT_TRUE(first_wrong({8, from, 500}, part).has_value()) << "another pattern";
    part[123 + from] ^= std::byte{1};
    EXPECT_EQ(first_wrong({7, from, 500}, part), 123 + from);
  }
}

TEST_F(Lazy, AMegabyteCostsSixtyFourBytes) {
  lazy->fill(memory(0, kMegabyte), {5, 0, kMegabyte});
  lazy->copy(arena.base + 4 * kMegabyte, memory(0, kMegabyte));
  EXPECT_EQ(lazy->bytes_touched(), 2 * LazyMemory::kHead);
  EXPECT_EQ(lazy->first_wrong(memory(4 * kMegabyte, kMegabyte), {5, 0, kMegabyte}), std::nullopt);
  EXPECT_EQ(lazy->first_wrong(memory(4 * kMegabyte + 77, 1000), {5, 77, 1000}), std::nullopt);
}

TEST_F(Lazy, ARunGrowsFromAShortPieceOverAnOldOne) {
  lazy->fill(memory(0, 1000), {9, 0, 1000});
  lazy->fill(memory(0, 40), {5, 0, 40});
  lazy->fill(memory(40, 200), {5, 40, 200});
  EXPECT_EQ(lazy->first_wrong(memory(0, 240), {5, 0, 240}), std::nullopt);
}

TEST_F(Lazy, WrongPayloadIsDetected) {
  const PatternRun right{5, 0, kMegabyte};
  lazy->fill(memory(0, kMegabyte), right);
  std::byte* const sink = arena.base + 4 * kMegabyte;
  const std::span<const std::byte> got{sink, kMegabyte};
  EXPECT_EQ(lazy->first_wrong(got, right), 0U) << "nothing was ever put there";

  lazy->copy(sink, memory(0, kMegabyte - 10));
  EXPECT_EQ(lazy->first_wrong(got, right), kMegabyte - 10) << "cut";
  lazy->copy(sink, memory(8, kMegabyte - 8));
  EXPECT_EQ(lazy->first_wrong(got, right), 0U) << "shifted";
  lazy->copy(sink, memory(0, kMegabyte));
  lazy->copy(sink + 5000, memory(9000, 4000));
  EXPECT_EQ(lazy->first_wrong(got, right), 5000U) << "two parts swapped";
  lazy->copy(sink, memory(0, kMegabyte));
  lazy->fill({sink + 70'000, 100}, {6, 70'000, 100});
  EXPECT_EQ(lazy->first_wrong(got, right), 70'000U) << "a part of another payload";
  lazy->copy(sink, memory(0, kMegabyte));
  const std::byte one{static_cast<unsigned char>(~std::to_integer<int>(read(99, 1)[0]))};
  lazy->put(sink + 99, std::span(&one, 1));
  EXPECT_EQ(lazy->first_wrong(got, right), 99U) << "one byte by a driver";
  lazy->copy(sink, memory(0, kMegabyte));
  sink[3] ^= std::byte{4};
  EXPECT_EQ(lazy->first_wrong(got, right), 3U) << "one byte by hand";
}

// A reused buffer: the new payload is shorter than the old one, and its beginning is copied by
// hand.
TEST_F(Lazy, PlainBytesByHandTakeThePlaceOfAnOldRun) {
  lazy->fill(memory(0, kMegabyte), {5, 0, kMegabyte});
  const std::string text(900, 'x');
  std::memcpy(arena.base, text.data(), 700);
  std::memcpy(arena.base + 700, text.data(), 200);
  const auto back = read(0, 900);
  EXPECT_EQ(std::memcmp(back.data(), text.data(), 900), 0);
  // The same behind a beginning that a driver wrote.
  lazy->fill(memory(0, kMegabyte), {5, 0, kMegabyte});
  lazy->fill(memory(0, 5000), {9, 0, 5000});
  std::memcpy(arena.base + 5000, text.data(), 900);
  const auto mixed = read(0, 5900);
  EXPECT_EQ(first_wrong({9, 0, 5000}, std::span(mixed).first(5000)), std::nullopt);
  EXPECT_EQ(std::memcmp(mixed.data() + 5000, text.data(), 900), 0);
}

TEST_F(Lazy, ArenasDoNotMixAndEnd) {
  const Arena other = lazy->make_arena(100).value();
  EXPECT_TRUE(lazy->holds(other.base) && lazy->holds(arena.base));
  int here = 0;
  EXPECT_FALSE(lazy->holds(&here));
  lazy->fill({other.base, 100}, {1, 0, 100});
  lazy->fill(memory(64 * kMegabyte - 100, 100), {2, 0, 100});
  EXPECT_EQ(lazy->first_wrong({other.base, 100}, {1, 0, 100}), std::nullopt);
  EXPECT_EQ(lazy->make_arena(1ULL << 37U).error(), Errc::kNoMemory);
  EXPECT_EQ(lazy->make_arena(0).error(), Errc::kInvalid);
}

// Compared with plain memory under every operation that drivers use.
TEST_F(Lazy, BehavesLikePlainMemory) {
  constexpr std::uint64_t kBytes = 20'000;
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    std::vector<std::byte> model(kBytes);
    lazy->put(arena.base, model);
    for (unsigned step = 0; step < 300; ++step) {
      const std::uint64_t length = 1 + random.below(random.below(3) == 0 ? 6000 : 200);
      const std::uint64_t at = random.below(kBytes - length);
      const std::uint64_t from = random.below(kBytes - length);
      const PatternRun run{random.below(3), random.below(100), length};
      switch (random.below(4)) {
        case 0:
          lazy->fill(memory(at, length), run);
          write_pattern(run, std::span(model).subspan(at, length));
          break;
        case 1: {
          std::vector<std::byte> bytes(length, static_cast<std::byte>(step));
          lazy->put(arena.base + at, bytes);
          std::ranges::copy(bytes, model.begin() + static_cast<std::ptrdiff_t>(at));
          break;
        }
        case 2:
          if (from + length > at && at + length > from) break;  // they overlap
          lazy->copy(arena.base + at, memory(from, length));
          std::memcpy(model.data() + at, model.data() + from, length);
          break;
        default:
          ASSERT_EQ(read(at, length), std::vector(model.begin() + static_cast<int>(at),
                                                  model.begin() + static_cast<int>(at + length)));
      }
    }
    ASSERT_EQ(read(0, kBytes), model);
  }
}

// Plain bytes and described payload, in and out at any boundary.
TEST_F(Lazy, AByteQueueCarriesBoth) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    BlockPool pool;
    ByteQueue queue;
    std::vector<std::byte> model;
    for (unsigned step = 0; step < 400; ++step) {
      const std::uint64_t length = random.below(700);
      std::vector<std::byte> bytes(length, static_cast<std::byte>(step));
      const std::uint64_t front = std::min<std::uint64_t>(length, model.size());
      switch (random.below(5)) {
        case 0:
          queue.push(pool, bytes);
          model.insert(model.end(), bytes.begin(), bytes.end());
          break;
        case 1: {
          const PatternRun run{seed, random.below(50), length};
          queue.push(pool, run);
          write_pattern(run, bytes);
          model.insert(model.end(), bytes.begin(), bytes.end());
          break;
        }
        case 2: {
          const bool to_lazy = random.below(2) == 0;
          std::vector<std::byte> out(front);
          queue.move_out(pool, lazy.get(), to_lazy ? memory(0, front) : std::span(out));
          if (to_lazy) out = read(0, front);
          ASSERT_TRUE(std::equal(out.begin(), out.end(), model.begin()));
          model.erase(model.begin(), model.begin() + static_cast<std::ptrdiff_t>(front));
          break;
        }
        case 3:
          queue.drop(pool, front);
          model.erase(model.begin(), model.begin() + static_cast<std::ptrdiff_t>(front));
          break;
        default:
          if (step % 10 != 0) break;
          queue.keep_first(pool, front);
          model.resize(front);
      }
      ASSERT_EQ(queue.size(), model.size());
      const std::size_t plain = queue.plain_bytes(0, model.size());
      ASSERT_LE(plain, model.size());
      ASSERT_LE(queue.described_bytes(), model.size());
      ASSERT_EQ(plain == 0 && queue.described_bytes() == 0, model.empty());
      ASSERT_TRUE(plain == 0 || queue.described_bytes() == 0) << "one of them is in front";
    }
    queue.clear(pool);
  }
}

}  // namespace
}  // namespace plnet::drivers::sim_lazy_memory_test
