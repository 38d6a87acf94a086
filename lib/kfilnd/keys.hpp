// SPDX-License-Identifier: BSD-3-Clause
// The 16-bit keys of bulk transfers under way on one endpoint, and where session keys begin.
#pragma once

#include <cstdint>
#include <memory>

#include "lib/base/check.hpp"
#include "lib/base/random.hpp"
#include "lib/kfilnd/wire.hpp"

namespace plnet::kfilnd {

// KfiLndConfig::first_session_key, from the start time of the node, which differs between all lives
// of all nodes. Mixed, so that two lives in quick succession have distant keys, and since only the
// lower half is a part of tags: if two cables are swapped, only tags keep a peer from the buffer of
// another node.
[[nodiscard]] constexpr std::uint32_t first_session_key_of(std::uint64_t life) {
  return static_cast<std::uint32_t>(SplitMix64(life).next()) | 1U;
}

// First in, first out: a returned key rests as long as possible.
class KeyAllocator {
 public:
  KeyAllocator() : keys_(std::make_unique<std::uint16_t[]>(kKeys)) {
    for (std::uint32_t i = 0; i < kKeys; ++i)
      keys_[i] = static_cast<std::uint16_t>(kKeyMin + i);
  }

  // 0: all are in use.
  [[nodiscard]] std::uint16_t take() {
    if (free_ == 0) return 0;
    --free_;
    const std::uint16_t key = keys_[head_];
    PLNET_DEBUG_CHECK(key >= kKeyMin && key <= kKeyMax, "only keys of the range were given");
    head_ = next(head_);
    return key;
  }
  void give(std::uint16_t key) {
    PLNET_CHECK(key >= kKeyMin && key <= kKeyMax && free_ < kKeys, "not a key that was taken");
    ++free_;
    keys_[tail_] = key;
    tail_ = next(tail_);
  }
  [[nodiscard]] std::uint32_t free_count() const { return free_; }

  static constexpr std::uint32_t kKeys = kKeyMax - kKeyMin + 1;
  static_assert(kKeyMin > 0, "take() answers 0 if no key is left");

 private:
  static std::uint32_t next(std::uint32_t at) { return at + 1 == kKeys ? 0 : at + 1; }

  std::unique_ptr<std::uint16_t[]> keys_;
  std::uint32_t head_ = 0;
  std::uint32_t tail_ = 0;
  std::uint32_t free_ = kKeys;
};

}  // namespace plnet::kfilnd
