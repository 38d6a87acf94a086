// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/net/sim/pattern.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "lib/base/random.hpp"

namespace plnet::drivers {

namespace {

constexpr std::size_t kWord = sizeof(std::uint64_t);

// Eight bytes at a time, little-endian.
std::uint64_t word_of(std::uint64_t salted_seed, std::uint64_t index) {
  static_assert(std::endian::native == std::endian::little, "patterns are the same everywhere");
  return SplitMix64(salted_seed ^ index * 0xd6e8'feb8'6659'fd93ULL).next();
}

// Calls visit(place, bytes of the pattern) until it says false. Nearly all are whole words: those
// come with their size as a constant, so that whoever copies or compares them calls nothing.
template <class Visit>
void for_each_word(const PatternRun& run, std::size_t length, Visit&& visit) {
  const std::uint64_t salted = SplitMix64(run.seed).next();
  std::size_t done = 0;
  while (done < length) {
    const std::uint64_t at = run.offset + done;
    const std::size_t skip = at % kWord;
    const std::size_t count = std::min(kWord - skip, length - done);
    const auto bytes = std::bit_cast<std::array<std::byte, kWord>>(word_of(salted, at / kWord));
    const bool go_on = count == kWord ? visit(done, std::span<const std::byte, kWord>(bytes))
                                      : visit(done, std::span(bytes).subspan(skip, count));
    if (!go_on) return;
    done += count;
  }
}

}  // namespace

void write_pattern(const PatternRun& run, std::span<std::byte> out) {
  for_each_word(run, out.size(), [&](std::size_t at, const auto& bytes) {
    std::memcpy(out.data() + at, bytes.data(), bytes.size());
    return true;
  });
}

std::optional<std::uint64_t> first_wrong(const PatternRun& run, std::span<const std::byte> bytes) {
  std::optional<std::uint64_t> wrong;
  for_each_word(run, bytes.size(), [&](std::size_t at, const auto& right) {
    if (std::memcmp(bytes.data() + at, right.data(), right.size()) == 0) return true;
    const auto differs = std::ranges::mismatch(right, bytes.subspan(at, right.size()));
    wrong = at + static_cast<std::size_t>(differs.in1 - right.begin());
    return false;
  });
  return wrong;
}

}  // namespace plnet::drivers
