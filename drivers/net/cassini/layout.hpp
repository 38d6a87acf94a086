// SPDX-License-Identifier: BSD-3-Clause
// Definition of the device's structures: one table per structure, a row per field (name, byte, bit,
// width), from which follow a plain struct, its encoder, its decoder and a walk by name. Structures
// are little-endian 64-bit words; no field crosses a word.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>

#include "lib/base/check.hpp"

namespace plnet::cassini {

// The narrowest unsigned type with this many bits.
template <unsigned Width>
using UintOf = std::conditional_t<
    Width <= 8, std::uint8_t,
    std::conditional_t<Width <= 16, std::uint16_t,
                       std::conditional_t<Width <= 32, std::uint32_t, std::uint64_t>>>;

constexpr std::uint64_t ones(unsigned width) {
  return width == 64 ? ~0ULL : (1ULL << width) - 1;
}

// The word of a field and its place in it.
template <unsigned Byte, unsigned Bit, unsigned Width>
struct Field {
  static constexpr unsigned kWord = Byte / 8;
  static constexpr unsigned kShift = Byte % 8 * 8 + Bit;
  static_assert(Bit < 8 && Width >= 1 && kShift + Width <= 64, "a field lies within one word");

  static constexpr void put(std::span<std::uint64_t> words, std::uint64_t value) {
    PLNET_DEBUG_CHECK(value <= ones(Width), "a value wider than its field");
    words[kWord] |= (value & ones(Width)) << kShift;
  }
  static constexpr UintOf<Width> get(std::span<const std::uint64_t> words) {
    return static_cast<UintOf<Width>>(words[kWord] >> kShift & ones(Width));
  }
  // Claims the field's bits; false if one of them is already claimed.
  static constexpr bool claim(std::span<std::uint64_t> words, std::size_t bytes) {
    const std::uint64_t bits = ones(Width) << kShift;
    const bool free = (words[kWord] & bits) == 0 && Byte * 8 + Bit + Width <= bytes * 8;
    words[kWord] |= bits;
    return free;
  }
};

// Words in the device's order, of the whole structure or a part of it.
template <std::size_t Bytes>
using Words = std::array<std::uint64_t, (Bytes + 7) / 8>;

inline std::uint64_t little(std::uint64_t word) {
  return std::endian::native == std::endian::little ? word : __builtin_bswap64(word);
}

inline void store_words(std::span<std::byte> to, std::span<const std::uint64_t> words) {
  for (std::size_t i = 0; i < words.size() && i * 8 < to.size(); ++i) {
    const std::uint64_t word = little(words[i]);
    std::memcpy(to.data() + i * 8, &word, to.size() - i * 8 < 8 ? to.size() - i * 8 : 8);
  }
}

template <std::size_t Bytes>
Words<Bytes> load_words(const std::byte* from) {
  static_assert(Bytes % 8 == 0);
  Words<Bytes> words{};
  std::memcpy(words.data(), from, Bytes);
  if constexpr (std::endian::native != std::endian::little) {
    for (std::uint64_t& word : words)
      word = little(word);
  }
  return words;
}

}  // namespace plnet::cassini

#define PLNET_CASSINI_MEMBER(name, byte, bit, width) ::plnet::cassini::UintOf<width> name = 0;
#define PLNET_CASSINI_PUT(name, byte, bit, width) \
  ::plnet::cassini::Field<byte, bit, width>::put(words, name);
#define PLNET_CASSINI_GET(name, byte, bit, width) \
  value.name = ::plnet::cassini::Field<byte, bit, width>::get(words);
#define PLNET_CASSINI_CLAIM(name, byte, bit, width) \
  free = ::plnet::cassini::Field<byte, bit, width>::claim(words, kBytes) && free;
#define PLNET_CASSINI_VISIT(name, byte, bit, width) visit(#name, self.name);

// Declares struct Name of `bytes` bytes. LIST is an X-macro of rows X(name, byte, bit, width).
#define PLNET_CASSINI_LAYOUT(Name, bytes, LIST)                                        \
  struct Name {                                                                        \
    static constexpr std::size_t kBytes = bytes;                                       \
    using Words = ::plnet::cassini::Words<kBytes>;                                     \
    LIST(PLNET_CASSINI_MEMBER)                                                         \
    [[nodiscard]] constexpr Words encode() const {                                     \
      Words words{};                                                                   \
      LIST(PLNET_CASSINI_PUT)                                                          \
      return words;                                                                    \
    }                                                                                  \
    [[nodiscard]] static constexpr Name decode(std::span<const std::uint64_t> words) { \
      Name value;                                                                      \
      LIST(PLNET_CASSINI_GET)                                                          \
      return value;                                                                    \
    }                                                                                  \
    /* Calls visit(name, value&) for each field. */                                    \
    template <class Self, class Visit>                                                 \
    static constexpr void each(Self& self, Visit&& visit) {                            \
      LIST(PLNET_CASSINI_VISIT)                                                        \
    }                                                                                  \
    /* No two fields share a bit, and none lies outside. */                            \
    [[nodiscard]] static consteval bool is_sound() {                                   \
      Words words{};                                                                   \
      bool free = true;                                                                \
      LIST(PLNET_CASSINI_CLAIM)                                                        \
      return free;                                                                     \
    }                                                                                  \
    friend bool operator==(const Name&, const Name&) = default;                        \
  };                                                                                   \
  static_assert(Name::is_sound(), #Name)
