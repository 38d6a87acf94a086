// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/net/cassini/soft/link/crc32c.hpp"

#include <array>
#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace plnet::cassini::soft::link {

namespace {

constexpr std::uint32_t kPolynomial = 0x82f63b78;  // reflected
constexpr std::size_t kSlices = 8;
using Tables = std::array<std::array<std::uint32_t, 256>, kSlices>;

// kTables[n][b]: the effect of byte b on the value with n zero bytes after it.
constexpr Tables kTables = [] {
  Tables tables{};
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    std::uint32_t value = byte;
    for (int bit = 0; bit < 8; ++bit)
      value = (value >> 1) ^ ((value & 1) != 0 ? kPolynomial : 0);
    tables[0][byte] = value;
  }
  for (std::size_t n = 1; n < kSlices; ++n) {
    for (std::uint32_t byte = 0; byte < 256; ++byte) {
      const std::uint32_t before = tables[n - 1][byte];
      tables[n][byte] = (before >> 8) ^ tables[0][before & 0xff];
    }
  }
  return tables;
}();

std::uint64_t word_at(const std::byte* bytes) {
  std::uint64_t word = 0;
  std::memcpy(&word, bytes, sizeof word);
  return word;
}

#if defined(__x86_64__)
__attribute__((target("sse4.2"))) std::uint32_t crc32c_by_instruction(
    std::uint32_t running, std::span<const std::byte> bytes) {
  std::uint64_t value = running;
  const std::byte* at = bytes.data();
  std::size_t left = bytes.size();
  for (; left >= 8; at += 8, left -= 8)
    value = _mm_crc32_u64(value, word_at(at));
  auto narrow = static_cast<std::uint32_t>(value);
  for (; left > 0; ++at, --left)
    narrow = _mm_crc32_u8(narrow, std::to_integer<unsigned char>(*at));
  return narrow;
}
#endif

}  // namespace

std::uint32_t crc32c_by_table(std::uint32_t running, std::span<const std::byte> bytes) {
  const std::byte* at = bytes.data();
  std::size_t left = bytes.size();
  for (; left >= kSlices; at += kSlices, left -= kSlices) {
    const std::uint64_t word = word_at(at) ^ running;
    running = 0;
    for (std::size_t n = 0; n < kSlices; ++n)
      running ^= kTables[kSlices - 1 - n][(word >> (8 * n)) & 0xff];
  }
  for (; left > 0; ++at, --left)
    running = (running >> 8) ^ kTables[0][(running ^ std::to_integer<unsigned>(*at)) & 0xff];
  return running;
}

std::uint32_t crc32c(std::uint32_t running, std::span<const std::byte> bytes) {
#if defined(__x86_64__)
  static const bool has_instruction = __builtin_cpu_supports("sse4.2") != 0;
  if (has_instruction) return crc32c_by_instruction(running, bytes);
#endif
  return crc32c_by_table(running, bytes);
}

}  // namespace plnet::cassini::soft::link
