// SPDX-License-Identifier: BSD-3-Clause
// Bit fields of a memory layout, by byte, bit and width: read and written without a struct cast. A
// layout is one list of rows X(id, name, byte, bit, width), from which follow accessors, the table
// for tests and the mask of reserved bits.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

namespace plnet::cassini::soft {

static_assert(std::endian::native == std::endian::little, "the device's memory is little-endian");

struct FieldInfo {
  std::string_view name;
  unsigned byte = 0, bit = 0, width = 0;
};

// In host memory: little-endian, never across a 64-bit word.
template <unsigned kByte, unsigned kBit, unsigned kWidth>
struct Field {
  static constexpr unsigned kWord = kByte / 8 * 8;
  static constexpr unsigned kShift = (kByte - kWord) * 8 + kBit;
  static_assert(kWidth > 0 && kShift + kWidth <= 64, "a field lies in one word");
  static constexpr std::uint64_t kMax = ~std::uint64_t{0} >> (64 - kWidth);

  [[nodiscard]] static std::uint64_t get(const std::byte* base) {
    std::uint64_t word = 0;
    std::memcpy(&word, base + kWord, sizeof word);
    return (word >> kShift) & kMax;
  }
  static void set(std::byte* base, std::uint64_t value) {
    std::uint64_t word = 0;
    std::memcpy(&word, base + kWord, sizeof word);
    word = (word & ~(kMax << kShift)) | ((value & kMax) << kShift);
    std::memcpy(base + kWord, &word, sizeof word);
  }
};

// In a packet: most significant byte first when it is whole bytes, else inside one byte.
template <unsigned kByte, unsigned kBit, unsigned kWidth>
struct PacketField {
  static constexpr bool kWhole = kBit == 0 && kWidth % 8 == 0;
  static_assert(kWhole || kBit + kWidth <= 8, "a field is whole bytes or lies in one");
  static constexpr unsigned kBytes = kWhole ? kWidth / 8 : 1;

  [[nodiscard]] static std::uint64_t get(const std::byte* base) {
    std::uint64_t value = 0;
    for (unsigned i = 0; i < kBytes; ++i)
      value = value << 8 | std::to_integer<std::uint64_t>(base[kByte + i]);
    return kWhole ? value : (value >> kBit) & ((1U << kWidth) - 1);
  }
  static void set(std::byte* base, std::uint64_t value) {
    if constexpr (kWhole) {
      for (unsigned i = kBytes; i-- > 0; value >>= 8)
        base[kByte + i] = static_cast<std::byte>(value);
    } else {
      constexpr unsigned kMask = ((1U << kWidth) - 1) << kBit;
      const auto old = std::to_integer<unsigned>(base[kByte]) & ~kMask;
      base[kByte] = static_cast<std::byte>(old | (static_cast<unsigned>(value << kBit) & kMask));
    }
  }
};

// For tests and tools: any field by its table row.
using FieldGet = std::uint64_t (*)(const std::byte*);
using FieldSet = void (*)(std::byte*, std::uint64_t);
struct FieldAccess {
  FieldInfo info;
  FieldGet get;
  FieldSet set;
};

// The bits that some field of the table occupies.
template <std::size_t kBytes, std::size_t kFields>
constexpr std::array<std::uint64_t, kBytes / 8> used_bits(
    const std::array<FieldInfo, kFields>& fields) {
  std::array<std::uint64_t, kBytes / 8> used{};
  for (const FieldInfo& field : fields) {
    const unsigned shift = field.byte % 8 * 8 + field.bit;
    used[field.byte / 8] |= (~std::uint64_t{0} >> (64 - field.width)) << shift;
  }
  return used;
}

}  // namespace plnet::cassini::soft

// NOLINTBEGIN(bugprone-macro-parentheses): names and initialisers take none
#define PLNET_SOFT_FIELD(id, name, byte, bit, width) using id = Field<byte, bit, width>;
#define PLNET_SOFT_PACKET_FIELD(id, name, byte, bit, width) \
  using id = PacketField<byte, bit, width>;
#define PLNET_SOFT_INFO(id, name, byte, bit, width) FieldInfo{name, byte, bit, width},
#define PLNET_SOFT_ACCESS(id, name, byte, bit, width) \
  FieldAccess{{name, byte, bit, width}, &id::get, &id::set},
// Declares struct Name of `bytes` bytes in host memory.
#define PLNET_SOFT_LAYOUT(Name, bytes, LIST)                                              \
  struct Name {                                                                           \
    static constexpr std::size_t kBytes = (bytes);                                        \
    LIST(PLNET_SOFT_FIELD)                                                                \
    static constexpr auto kInfo = std::to_array<FieldInfo>({LIST(PLNET_SOFT_INFO)});      \
    static constexpr auto kUsed = used_bits<(kBytes + 7) / 8 * 8>(kInfo);                 \
    static std::span<const FieldAccess> fields() {                                        \
      static constexpr auto kAll = std::to_array<FieldAccess>({LIST(PLNET_SOFT_ACCESS)}); \
      return kAll;                                                                        \
    }                                                                                     \
  }
// Declares struct Name of `bytes` bytes in a packet.
#define PLNET_SOFT_PACKET(Name, bytes, LIST)                                              \
  struct Name {                                                                           \
    static constexpr std::size_t kBytes = (bytes);                                        \
    LIST(PLNET_SOFT_PACKET_FIELD)                                                         \
    static std::span<const FieldAccess> fields() {                                        \
      static constexpr auto kAll = std::to_array<FieldAccess>({LIST(PLNET_SOFT_ACCESS)}); \
      return kAll;                                                                        \
    }                                                                                     \
  }
// NOLINTEND(bugprone-macro-parentheses)
