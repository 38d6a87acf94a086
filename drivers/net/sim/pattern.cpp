// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/net/sim/pattern.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "lib/base/random.hpp"

namespace plnet::drivers {

namespace {

// One number is drawn for each block: a draw costs more than writing or comparing a whole block.
constexpr std::size_t kWords = 8;
using Block = std::array<std::uint64_t, kWords>;
constexpr std::size_t kBlock = sizeof(Block);

// Makes the words of a block differ in each byte.
constexpr Block kOfWord = [] {
  SplitMix64 random(0x9e37'79b9'7f4a'7c15ULL);
  Block words;
  for (std::uint64_t& word : words)
    word = random.next();
  return words;
}();

std::array<std::byte, kBlock> block_of(std::uint64_t salted_seed, std::uint64_t index) {
  static_assert(std::endian::native == std::endian::little, "patterns are the same everywhere");
  const std::uint64_t drawn = SplitMix64(salted_seed ^ index * 0xd6e8'feb8'6659'fd93ULL).next();
  Block words = kOfWord;
  for (std::uint64_t& word : words)
    word ^= drawn;
  return std::bit_cast<std::array<std::byte, kBlock>>(words);
}

// Calls visit(place, bytes of the pattern) until it returns false. Nearly all are whole blocks with
// a constant size, so that a copy or comparison needs no call.
template <class Visit>
void for_each_block(const PatternRun& run, std::size_t length, Visit&& visit) {
  const std::uint64_t salted = SplitMix64(run.seed).next();
  std::size_t done = 0;
  while (done < length) {
    const std::uint64_t at = run.offset + done;
    const std::size_t skip = at % kBlock;
    const std::size_t count = std::min(kBlock - skip, length - done);
    const auto bytes = block_of(salted, at / kBlock);
    const bool go_on = count == kBlock ? visit(done, std::span<const std::byte, kBlock>(bytes))
                                       : visit(done, std::span(bytes).subspan(skip, count));
    if (!go_on) return;
    done += count;
  }
}

}  // namespace

void write_pattern(const PatternRun& run, std::span<std::byte> out) {
  for_each_block(run, out.size(), [&](std::size_t at, const auto& bytes) {
    std::memcpy(out.data() + at, bytes.data(), bytes.size());
    return true;
  });
}

std::optional<std::uint64_t> first_wrong(const PatternRun& run, std::span<const std::byte> bytes) {
  std::optional<std::uint64_t> wrong;
  for_each_block(run, bytes.size(), [&](std::size_t at, const auto& right) {
    if (std::memcmp(bytes.data() + at, right.data(), right.size()) == 0) return true;
    const auto differs = std::ranges::mismatch(right, bytes.subspan(at, right.size()));
    wrong = at + static_cast<std::size_t>(differs.in1 - right.begin());
    return false;
  });
  return wrong;
}

}  // namespace plnet::drivers
