// SPDX-License-Identifier: BSD-3-Clause
// Random numbers from a seed, handed in wherever a choice is random, so that a run can be replayed.
// The same numbers with every compiler and standard library, unlike the distributions of <random>.
// Not for secrets.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>

#include "lib/base/check.hpp"

namespace plnet {

// Steele, Lea, Flood: maps any 64 bits to well-mixed ones. Seeds the generator below.
class SplitMix64 {
 public:
  explicit constexpr SplitMix64(std::uint64_t seed) : state_(seed) {}
  constexpr std::uint64_t next() {
    state_ += 0x9e3779b97f4a7c15;
    std::uint64_t mixed = state_;
    mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9;
    mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111eb;
    return mixed ^ (mixed >> 31);
  }

 private:
  std::uint64_t state_;
};

// xoshiro256** 1.0 (Blackman, Vigna).
class Random {
 public:
  explicit constexpr Random(std::uint64_t seed) : seed_(seed) {
    SplitMix64 mixer(seed);
    for (auto& word : state_)
      word = mixer.next();
  }

  constexpr std::uint64_t next() {
    const std::uint64_t result = std::rotl(state_[1] * 5, 7) * 9;
    const std::uint64_t shifted = state_[1] << 17;
    state_[2] ^= state_[0];
    state_[3] ^= state_[1];
    state_[1] ^= state_[2];
    state_[0] ^= state_[3];
    state_[2] ^= shifted;
    state_[3] = std::rotl(state_[3], 45);
    return result;
  }

  // Uniform in 0 … bound - 1, without the bias of a remainder (Lemire 2019).
  constexpr std::uint64_t below(std::uint64_t bound) {
    PLNET_CHECK(bound > 0, "the bound is above 0");
    Wide product = static_cast<Wide>(next()) * bound;
    auto low = static_cast<std::uint64_t>(product);
    if (low < bound) {
      const std::uint64_t threshold = (0 - bound) % bound;
      while (low < threshold) {
        product = static_cast<Wide>(next()) * bound;
        low = static_cast<std::uint64_t>(product);
      }
    }
    return static_cast<std::uint64_t>(product >> 64);
  }
  // Uniform in first … last, both included.
  constexpr std::uint64_t between(std::uint64_t first, std::uint64_t last) {
    PLNET_CHECK(first <= last, "the first value does not exceed the last");
    const std::uint64_t span = last - first;
    return span == UINT64_MAX ? next() : first + below(span + 1);
  }
  // Uniform in [0, 1), in steps of 2^-53.
  constexpr double unit() { return static_cast<double>(next() >> 11) * 0x1.0p-53; }
  // True with this probability: never at 0, always at 1.
  constexpr bool chance(double probability) { return unit() < probability; }
  // Intervals between random events, with this mean.
  double exponential(double mean) { return -mean * std::log1p(-unit()); }

  template <class T>
  constexpr void shuffle(std::span<T> items) {
    for (std::size_t i = items.size(); i > 1; --i) {
      using std::swap;
      swap(items[i - 1], items[below(i)]);
    }
  }

  // An independent stream for a part of the whole, e.g. "link 3". Depends only on the seed and the
  // label, not on the numbers drawn before, so that parts do not disturb each other.
  [[nodiscard]] constexpr Random fork(std::string_view label) const {
    std::uint64_t hash = 0xcbf29ce484222325 ^ SplitMix64(seed_).next();  // FNV-1a, salted
    for (const char letter : label) {
      hash ^= static_cast<unsigned char>(letter);
      hash *= 0x100000001b3;
    }
    return Random(SplitMix64(hash).next());
  }
  [[nodiscard]] constexpr std::uint64_t seed() const { return seed_; }

 private:
  __extension__ using Wide = unsigned __int128;

  std::uint64_t seed_;
  std::uint64_t state_[4]{};
};

}  // namespace plnet
