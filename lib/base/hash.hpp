// SPDX-License-Identifier: BSD-3-Clause
// Hashing of small keys for tables inside one process; the values mean nothing outside it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace plnet {

// Folds the 128-bit product of two words: every input bit influences every bit of the result.
[[nodiscard]] inline std::uint64_t mix_words(std::uint64_t left, std::uint64_t right) {
  __extension__ using Wide = unsigned __int128;
  const Wide product = static_cast<Wide>(left) * right;
  return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}

// For keys without padding, such as a NID of 20 bytes: one multiplication per 16 bytes and one to
// finish, after wyhash. A secret seed keeps strangers from choosing colliding keys.
template <class Key>
struct KeyHash {
  static_assert(std::has_unique_object_representations_v<Key>, "padding would be hashed as well");

  std::uint64_t seed = 0x9e3779b97f4a7c15;

  [[nodiscard]] std::uint64_t operator()(const Key& key) const {
    const auto* bytes = reinterpret_cast<const unsigned char*>(&key);
    std::uint64_t state = seed;
    std::size_t at = 0;
    for (; at + 16 <= sizeof(Key); at += 16)
      state = mix_words(word(bytes + at, 8) ^ 0xa0761d6478bd642f, word(bytes + at + 8, 8) ^ state);
    const std::size_t left = sizeof(Key) - at;
    const std::uint64_t first = word(bytes + at, left < 8 ? left : 8);
    const std::uint64_t second = left > 8 ? word(bytes + at + 8, left - 8) : 0;
    state = mix_words(first ^ 0xe7037ed1a0b428db, second ^ state);
    return mix_words(state ^ sizeof(Key), 0x8ebc6af09c88c6e3);
  }

 private:
  static std::uint64_t word(const unsigned char* bytes, std::size_t count) {
    std::uint64_t value = 0;
    std::memcpy(&value, bytes, count);
    return value;
  }
};

}  // namespace plnet
