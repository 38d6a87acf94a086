// SPDX-License-Identifier: BSD-3-Clause
#include "apps/lnet-traffic/pattern.hpp"

#include <algorithm>
#include <cstring>

#include "lib/base/random.hpp"

namespace plnet::traffic {
namespace {

constexpr std::size_t kWord = sizeof(std::uint64_t);

}  // namespace

void fill_pattern(std::span<std::byte> bytes, std::uint64_t key) {
  SplitMix64 words(key);
  for (std::size_t at = 0; at < bytes.size(); at += kWord) {
    const std::uint64_t word = words.next();
    std::memcpy(bytes.data() + at, &word, std::min(kWord, bytes.size() - at));
  }
}

bool is_pattern(std::span<const std::byte> bytes, std::uint64_t key) {
  SplitMix64 words(key);
  for (std::size_t at = 0; at < bytes.size(); at += kWord) {
    const std::uint64_t word = words.next();
    if (std::memcmp(bytes.data() + at, &word, std::min(kWord, bytes.size() - at)) != 0)
      return false;
  }
  return true;
}

std::uint64_t pattern_key(std::uint64_t run, std::uint64_t sequence) {
  return SplitMix64(run ^ (sequence * 0x9e3779b97f4a7c15)).next();
}

}  // namespace plnet::traffic
