// SPDX-License-Identifier: BSD-3-Clause
// The 16-bit keys of bulk transfers under way on one endpoint.
#pragma once

#include <cstdint>
#include <memory>

#include "lib/base/check.hpp"
#include "lib/kfilnd/wire.hpp"

namespace plnet::kfilnd {

// First in, first out: a key that has come back rests as long as possible.
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

 private:
  static std::uint32_t next(std::uint32_t at) { return at + 1 == kKeys ? 0 : at + 1; }

  std::unique_ptr<std::uint16_t[]> keys_;
  std::uint32_t head_ = 0;
  std::uint32_t tail_ = 0;
  std::uint32_t free_ = kKeys;
};

}  // namespace plnet::kfilnd
